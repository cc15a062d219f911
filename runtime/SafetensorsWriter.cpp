// Writing of safetensors. The header is padded with spaces, which the format allows, so that the
// data starts on 64 bytes.
#include "runtime/File.h"
#include "runtime/Safetensors.h"
#include "support/CheckedSize.h"

#include <nlohmann/json.hpp>
#include <set>

namespace nncc::rt {
namespace {

constexpr size_t kAlignmentBytes = 64;

std::string formatNameOf(DType type) {
  std::string name(nameOf(type));
  for (char &c : name)
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

size_t paddingAfter(size_t sizeBytes) {
  return (kAlignmentBytes - sizeBytes % kAlignmentBytes) % kAlignmentBytes;
}

Result<std::string> makeHeader(std::span<const SafetensorsSource> tensors,
                               const std::map<std::string, std::string> &metadata,
                               SafetensorsAlignment alignment) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  std::set<std::string> names;
  size_t offset = 0;
  for (const SafetensorsSource &tensor : tensors) {
    CheckedSize expected = sizeBytesOf(tensor.dtype);
    for (int64_t extent : tensor.shape)
      expected *= extent;
    if (expected.getOr(-1) != static_cast<int64_t>(tensor.data.size()))
      return internalError(
          "tensor '" + tensor.name + "' to be written has " + std::to_string(tensor.data.size()) +
          " bytes, its dtype and shape need " + std::to_string(expected.getOr(-1)));
    if (tensor.name == "__metadata__" || !names.insert(tensor.name).second)
      return userError("tensor '" + tensor.name + "' cannot be written: " +
                       (tensor.name == "__metadata__" ? "the format reserves the name"
                                                      : "the name occurs twice"));
    header[tensor.name] = {{"dtype", formatNameOf(tensor.dtype)},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + tensor.data.size()}}};
    offset += tensor.data.size();
    size_t padding = alignment == SafetensorsAlignment::EachTensor ? paddingAfter(offset) : 0;
    if (padding == 0)
      continue;
    std::string name = std::string(kSafetensorsPaddingPrefix) + std::to_string(offset);
    header[name] = {
        {"dtype", "U8"}, {"shape", {padding}}, {"data_offsets", {offset, offset + padding}}};
    offset += padding;
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.append(paddingAfter(8 + text.size()), ' ');
  std::string result;
  for (size_t i = 0, size = text.size(); i < 8; ++i, size >>= 8)
    result.push_back(static_cast<char>(size & 0xFF));
  return result + text;
}

/// Calls write(data, sizeBytes) for the pieces of the file in order.
template <typename Write>
Result<void> writePieces(std::span<const SafetensorsSource> tensors,
                         const std::map<std::string, std::string> &metadata,
                         SafetensorsAlignment alignment, Write write) {
  Result<std::string> header = makeHeader(tensors, metadata, alignment);
  if (!header)
    return header.error();
  Result<void> written = write(header->data(), header->size());
  constexpr char zeros[kAlignmentBytes] = {};
  for (size_t i = 0; i < tensors.size() && written; ++i) {
    size_t size = tensors[i].data.size();
    written = write(reinterpret_cast<const char *>(tensors[i].data.data()), size);
    if (written && alignment == SafetensorsAlignment::EachTensor && paddingAfter(size) != 0)
      written = write(zeros, paddingAfter(size));
  }
  return written;
}

} // namespace

Result<std::string> serializeSafetensors(std::span<const SafetensorsSource> tensors,
                                         const std::map<std::string, std::string> &metadata,
                                         SafetensorsAlignment alignment) {
  std::string file;
  Result<void> written =
      writePieces(tensors, metadata, alignment, [&](const char *data, size_t size) {
        file.append(data, size);
        return Result<void>();
      });
  if (!written)
    return written.error();
  return file;
}

Result<int64_t> safetensorsSizeBytes(std::span<const SafetensorsSource> tensors,
                                     const std::map<std::string, std::string> &metadata,
                                     SafetensorsAlignment alignment) {
  int64_t sizeBytes = 0;
  Result<void> counted = writePieces(tensors, metadata, alignment, [&](const char *, size_t size) {
    sizeBytes += static_cast<int64_t>(size);
    return Result<void>();
  });
  if (!counted)
    return counted.error();
  return sizeBytes;
}

Result<void> writeSafetensors(AtomicFile &file, std::span<const SafetensorsSource> tensors,
                              const std::map<std::string, std::string> &metadata,
                              SafetensorsAlignment alignment) {
  return writePieces(tensors, metadata, alignment,
                     [&](const char *data, size_t size) { return file.write(data, size); });
}

Result<void> writeSafetensors(const std::string &path, std::span<const SafetensorsSource> tensors,
                              const std::map<std::string, std::string> &metadata,
                              SafetensorsAlignment alignment) {
  Result<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.error();
  if (Result<void> written = writeSafetensors(*file, tensors, metadata, alignment); !written)
    return written;
  return file->commit();
}

} // namespace nncc::rt
