// Names and places of what an instance trains; see TrainableMemory.h.
#include "runtime/TrainableMemory.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace nncc::rt {
namespace {

/// verifyProgram: sizes of parameters and states are constants.
int64_t constantOf(const SizeExpr &expr) { return expr.terms[0].value; }

NamedTensor describe(const Buffer &buffer, uint32_t id) {
  NamedTensor tensor;
  tensor.name = buffer.name;
  tensor.dtype = buffer.dtype;
  for (const SizeExpr &extent : buffer.shape)
    tensor.shape.push_back(constantOf(extent));
  tensor.buffer = id;
  tensor.sizeBytes = constantOf(buffer.sizeBytes);
  return tensor;
}

} // namespace

TrainableMemory::TrainableMemory(const Program &program) {
  struct Place {
    uint32_t state;
    int64_t offsetBytes;
  };
  std::map<uint32_t, Place> places; ///< of parameters in states
  auto count = static_cast<uint32_t>(program.buffers.size());
  for (uint32_t id = 0; id < count; ++id) {
    int64_t offsetBytes = 0;
    for (uint32_t part : program.buffers[id].parts) {
      places[part] = {id, offsetBytes};
      offsetBytes += constantOf(program.buffers[part].sizeBytes);
    }
  }
  for (uint32_t id = 0; id < count; ++id) {
    const Buffer &buffer = program.buffers[id];
    if (buffer.kind == BufferKind::Parameter) {
      NamedTensor tensor = describe(buffer, id);
      tensor.isParameter = true;
      tensor.parameter = id;
      if (auto place = places.find(id); place != places.end()) {
        tensor.buffer = place->second.state;
        tensor.offsetBytes = place->second.offsetBytes;
      } else {
        ownedBuffers.push_back(id);
      }
      named.push_back(std::move(tensor));
    } else if (buffer.kind == BufferKind::State || buffer.kind == BufferKind::Constant) {
      ownedBuffers.push_back(id);
    }
  }
  for (uint32_t id = 0; id < count; ++id) {
    const Buffer &buffer = program.buffers[id];
    if (buffer.kind != BufferKind::State || !buffer.parts.empty())
      continue;
    if (!buffer.like) {
      named.push_back(describe(buffer, id));
      continue;
    }
    // One for each part: "train.exp_avg.fc1.weight".
    for (uint32_t part : program.buffers[*buffer.like].parts) {
      NamedTensor tensor = describe(program.buffers[part], id);
      tensor.name = buffer.name + "." + program.buffers[part].name;
      tensor.dtype = buffer.dtype;
      tensor.offsetBytes = places[part].offsetBytes / sizeBytesOf(program.buffers[part].dtype) * sizeBytesOf(buffer.dtype);
      tensor.sizeBytes = tensor.sizeBytes / sizeBytesOf(program.buffers[part].dtype) * sizeBytesOf(buffer.dtype);
      named.push_back(std::move(tensor));
    }
  }
}

const NamedTensor *TrainableMemory::find(std::string_view name) const {
  auto found = std::find_if(named.begin(), named.end(), [&](const NamedTensor &tensor) { return tensor.name == name; });
  return found == named.end() ? nullptr : &*found;
}

std::vector<std::byte> initialContents(const Buffer &state) {
  std::vector<std::byte> bytes(static_cast<size_t>(constantOf(state.sizeBytes)));
  if (state.initialValue == 0 || bytes.empty())
    return bytes;
  auto put = [&](auto value) {
    for (size_t at = 0; at < bytes.size(); at += sizeof value)
      std::memcpy(bytes.data() + at, &value, sizeof value);
  };
  switch (state.dtype) {
  case DType::F64:
    put(state.initialValue);
    break;
  case DType::F32:
    put(static_cast<float>(state.initialValue));
    break;
  case DType::I64:
    put(static_cast<int64_t>(state.initialValue));
    break;
  case DType::I32:
    put(static_cast<int32_t>(state.initialValue));
    break;
  default: // the compiler makes no others that start at anything but zero
    break;
  }
  return bytes;
}

} // namespace nncc::rt
