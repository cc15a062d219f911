// IDX: two zero bytes, an element type, the rank, the extents as big-endian 32-bit numbers, then
// big-endian elements. zlib reads compressed and plain files through the same calls.
#include "runtime/data/Idx.h"

#include "support/CheckedSize.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <zlib.h>

namespace nncc::data {
namespace {

/// Data is read in pieces of this size, so that a hostile header cannot make us allocate more than
/// the file holds.
constexpr size_t kPieceBytes = 1 << 24;

std::optional<DType> dtypeOf(uint8_t code) {
  switch (code) {
  case 0x08:
    return DType::U8;
  case 0x09:
    return DType::I8;
  case 0x0C:
    return DType::I32;
  case 0x0D:
    return DType::F32;
  case 0x0E:
    return DType::F64;
  default:
    return std::nullopt;
  }
}

struct CloseGz {
  void operator()(gzFile file) const { gzclose(file); }
};

} // namespace

Result<rt::HostTensor> readIdx(const std::string &path) {
  errno = 0;
  std::unique_ptr<gzFile_s, CloseGz> file(gzopen(path.c_str(), "rb"));
  if (!file)
    return userError("cannot open '" + path + "': " + std::strerror(errno ? errno : ENOMEM));

  // What is wrong with the compression is the cause of what is missing of the contents.
  auto fail = [&](const std::string &what) {
    int code = Z_OK;
    gzerror(file.get(), &code);
    std::string start = "'" + path + "' cannot be read as IDX: ";
    if (code == Z_BUF_ERROR)
      return userError(start + "its compressed contents are truncated; fetch it again");
    if (code == Z_DATA_ERROR)
      return userError(start + "its compressed contents are damaged; fetch it again");
    return userError(start + what);
  };
  uint8_t magic[4];
  if (gzread(file.get(), magic, 4) != 4 || magic[0] != 0 || magic[1] != 0)
    return fail("it does not begin as an IDX file does");
  std::optional<DType> dtype = dtypeOf(magic[2]);
  if (!dtype)
    return fail("unknown element type " + std::to_string(magic[2]));
  rt::HostTensor tensor{*dtype, {}, {}};
  CheckedSize needed = sizeBytesOf(*dtype);
  for (int d = 0; d < magic[3]; ++d) {
    uint8_t extent[4];
    if (gzread(file.get(), extent, 4) != 4)
      return fail("it ends inside its header");
    tensor.shape.push_back(int64_t{extent[0]} << 24 | extent[1] << 16 | extent[2] << 8 | extent[3]);
    needed *= tensor.shape.back();
  }
  if (!needed.valid())
    return fail("the product of its shape does not fit in 63 bits");

  size_t total = static_cast<size_t>(needed.getOr(0));
  while (tensor.data.size() < total) {
    size_t have = tensor.data.size(), piece = std::min(kPieceBytes, total - have);
    tensor.data.resize(have + piece);
    int got = gzread(file.get(), tensor.data.data() + have, static_cast<unsigned>(piece));
    if (got != static_cast<int>(piece))
      return fail("its shape needs " + std::to_string(total) + " bytes of data, found " +
                  std::to_string(have + static_cast<size_t>(std::max(got, 0))));
  }
  // zlib compares the checksum of a compressed file when its end is read.
  uint8_t extra;
  int got = gzread(file.get(), &extra, 1), code = Z_OK;
  gzerror(file.get(), &code);
  if (got != 0 || code == Z_BUF_ERROR)
    return fail("its shape needs " + std::to_string(total) +
                " bytes of data, but more follow; its header may be damaged");
  size_t elementBytes = static_cast<size_t>(sizeBytesOf(*dtype));
  if (elementBytes > 1)
    for (size_t i = 0; i < total; i += elementBytes)
      std::reverse(tensor.data.data() + i, tensor.data.data() + i + elementBytes);
  return tensor;
}

} // namespace nncc::data
