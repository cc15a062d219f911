// Writing and reading of Program JSON. The reader trusts nothing: a wrong type, a missing field, an
// unknown name and an index out of range are errors that name the place in the document.
#include "runtime/ProgramJson.h"

#include "runtime/LibraryCallJson.h"

namespace nncc::rt {
namespace {

constexpr std::string_view kFormatName = "nncc program";

constexpr BufferKind kBufferKinds[] = {BufferKind::Input,     BufferKind::Output,
                                       BufferKind::Parameter, BufferKind::State,
                                       BufferKind::Constant,  BufferKind::Arena};

class Writer {
public:
  explicit Writer(const Program &program) : program(program), dimNames(program.dimNames()) {}

  Json write() const {
    Json root;
    root["format"] = kFormatName;
    root["version"] = kProgramJsonVersion;
    root["model"] = program.modelName;
    root["buildId"] = program.buildId;
    if (program.training)
      root["training"] = {{"batch", program.training->batch}, {"epochs", program.training->epochs}, {"seed", program.training->seed}};
    root["dims"] = Json::array();
    for (const NamedDim &dim : program.dims) {
      Json item = {{"name", dim.name}, {"min", dim.min}};
      if (dim.max != INT64_MAX)
        item["max"] = dim.max;
      root["dims"].push_back(item);
    }
    root["buffers"] = Json::array();
    for (const Buffer &buffer : program.buffers)
      root["buffers"].push_back(write(buffer));
    root["kernels"] = Json::array();
    for (const Kernel &kernel : program.kernels) {
      Json item = {{"name", kernel.name}, {"symbol", kernel.symbol}};
      if (!kernel.source.empty())
        item["source"] = kernel.source;
      writeUnlessZero(item, "scratchBytes", kernel.scratchBytes);
      if (kernel.cuda)
        item["cuda"] = write(*kernel.cuda);
      for (const LibraryCall &call : kernel.alternatives)
        item["alternatives"].push_back(writeLibraryCall(call, dimNames));
      for (const TileVariant &variant : kernel.tiles)
        item["tiles"].push_back(write(variant));
      root["kernels"].push_back(item);
    }
    root["entryPoints"] = Json::array();
    for (const EntryPoint &entry : program.entryPoints) {
      Json item = {{"name", entry.name}, {"inputs", entry.inputs}, {"outputs", entry.outputs}};
      item["steps"] = Json::array();
      for (const Step &step : entry.steps)
        item["steps"].push_back(write(step));
      root["entryPoints"].push_back(item);
    }
    return root;
  }

private:
  Json write(const CudaLaunch &launch) const {
    Json item = {{"threadsPerBlock", launch.threadsPerBlock},
                 {"grid", {write(launch.gridX), write(launch.gridY), write(launch.gridZ)}}};
    if (launch.hasStatus)
      item["hasStatus"] = true;
    if (launch.wideIndex)
      item["wideIndex"] = true;
    return item;
  }

  Json write(const TileVariant &variant) const {
    Json item = {{"tile", variant.tile}, {"kernel", variant.kernel}};
    if (variant.finish)
      item["finish"] = *variant.finish;
    writeUnlessZero(item, "workspaceBytes", variant.workspaceBytes);
    if (variant.replacesParts)
      item["replacesParts"] = true;
    return item;
  }

  Json write(const SizeExpr &expr) const { return writeSizeExpr(expr, dimNames); }

  void writeUnlessZero(Json &item, const char *key, const SizeExpr &expr) const {
    if (expr != SizeExpr(0))
      item[key] = write(expr);
  }

  Json write(const Buffer &buffer) const {
    Json item = {{"kind", nameOf(buffer.kind)}, {"dtype", nncc::nameOf(buffer.dtype)}};
    if (!buffer.name.empty())
      item["name"] = buffer.name;
    item["shape"] = Json::array();
    for (const SizeExpr &extent : buffer.shape)
      item["shape"].push_back(write(extent));
    item["sizeBytes"] = write(buffer.sizeBytes);
    if (buffer.range) {
      item["range"] = {buffer.range->least, buffer.range->greatest};
      if (buffer.range->besides)
        item["range"].push_back(*buffer.range->besides);
    }
    if (buffer.initialValue != 0)
      item["initialValue"] = buffer.initialValue;
    if (!buffer.parts.empty())
      item["parts"] = buffer.parts;
    if (buffer.like)
      item["like"] = *buffer.like;
    return item;
  }

  Json write(const Step &step) const {
    Json item = {{"kernel", step.kernel}};
    item["args"] = Json::array();
    for (const BufferRef &ref : step.args) {
      if (ref.offsetBytes == SizeExpr(0))
        item["args"].push_back(ref.buffer);
      else
        item["args"].push_back(Json::array({Json(ref.buffer), write(ref.offsetBytes)}));
    }
    item["results"] = step.resultCount;
    item["tasks"] = write(step.tasks);
    writeUnlessZero(item, "flops", step.flops);
    writeUnlessZero(item, "trafficBytes", step.trafficBytes);
    return item;
  }

  const Program &program;
  std::vector<std::string> dimNames;
};

/// Whether an object stands somewhere inside; such a value is written over several lines, any other
/// one on one line, so that each buffer, kernel and step has a line of its own.
bool containsObject(const Json &json) {
  for (const Json &item : json)
    if (item.is_object() || (item.is_array() && containsObject(item)))
      return true;
  return false;
}

void print(const Json &json, const std::string &indent, std::string &out) {
  // Names may hold any bytes that a model file holds; invalid UTF-8 is replaced rather than thrown
  // at.
  auto dump = [](const Json &value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  if (!json.is_structured() || !containsObject(json)) {
    out += dump(json);
    return;
  }
  out += json.is_object() ? "{" : "[";
  const char *separator = "\n";
  for (auto item = json.begin(); item != json.end(); ++item) {
    out += separator + indent + " ";
    if (json.is_object())
      out += dump(item.key()) + ": ";
    print(*item, indent + " ", out);
    separator = ",\n";
  }
  out += "\n" + indent + (json.is_object() ? "}" : "]");
}

class Reader : JsonReader {
public:
  Result<Program> read(std::string_view text) {
    Json root = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
    if (root.is_discarded())
      return internalError("program JSON: the text is not valid JSON");
    Node top{&root, ""};
    // The version comes first: a document of another version is not expected to make sense beyond
    // it.
    if (readString(top, "format") != kFormatName)
      fail(top, "expected the format \"" + std::string(kFormatName) + "\"");
    if (int64_t version = readInteger(top, "version"); version != kProgramJsonVersion)
      fail(top, "expected version " + std::to_string(kProgramJsonVersion) + ", found " +
                    std::to_string(version) + "; the model was compiled by another nncc");
    if (problem.empty())
      readBody(top);
    if (!problem.empty())
      return internalError("program JSON: " + problem);
    if (Result<void> verified = verifyProgram(program); !verified)
      return verified.error();
    return std::move(program);
  }

private:
  void readBody(const Node &top) {
    program.modelName = readString(top, "model");
    program.buildId = readString(top, "buildId");
    if (has(top, "training")) {
      Node node = child(top, "training");
      program.training = {readInteger(node, "batch"), readInteger(node, "epochs"), readInteger(node, "seed")};
    }
    forEach(top, "dims", [&](const Node &node) {
      NamedDim dim{readString(node, "name"), readInteger(node, "min"), INT64_MAX};
      if (has(node, "max"))
        dim.max = readInteger(node, "max");
      program.dims.push_back(std::move(dim));
    });
    dimNames = program.dimNames();
    forEach(top, "buffers", [&](const Node &node) { program.buffers.push_back(readBuffer(node)); });
    forEach(top, "kernels", [&](const Node &node) {
      Kernel kernel;
      kernel.name = readString(node, "name");
      kernel.symbol = readString(node, "symbol");
      if (has(node, "source"))
        kernel.source = readString(node, "source");
      kernel.scratchBytes = readExprOrZero(node, "scratchBytes");
      if (has(node, "cuda"))
        kernel.cuda = readLaunch(node);
      if (has(node, "alternatives"))
        forEach(node, "alternatives",
                [&](const Node &call) { kernel.alternatives.push_back(readLibraryCall(*this, call)); });
      if (has(node, "tiles"))
        forEach(node, "tiles",
                [&](const Node &tile) { kernel.tiles.push_back(readTile(tile)); });
      program.kernels.push_back(std::move(kernel));
    });
    forEach(top, "entryPoints", [&](const Node &node) {
      EntryPoint entry;
      entry.name = readString(node, "name");
      forEach(node, "inputs", [&](const Node &id) { entry.inputs.push_back(toIndex(id)); });
      forEach(node, "outputs", [&](const Node &id) { entry.outputs.push_back(toIndex(id)); });
      forEach(node, "steps", [&](const Node &step) { entry.steps.push_back(readStep(step)); });
      program.entryPoints.push_back(std::move(entry));
    });
  }

  Buffer readBuffer(const Node &node) {
    Buffer buffer;
    std::string kind = readString(node, "kind");
    bool known = false;
    for (BufferKind candidate : kBufferKinds)
      if (nameOf(candidate) == kind) {
        buffer.kind = candidate;
        known = true;
      }
    if (!known)
      fail(node, "unknown buffer kind \"" + kind + "\"");
    buffer.dtype = readDType(node);
    if (has(node, "name"))
      buffer.name = readString(node, "name");
    forEach(node, "shape", [&](const Node &extent) { buffer.shape.push_back(toExpr(extent)); });
    buffer.sizeBytes = toExpr(child(node, "sizeBytes"));
    if (has(node, "range"))
      buffer.range = readRange(node);
    if (has(node, "initialValue"))
      buffer.initialValue = readNumber(node, "initialValue");
    if (has(node, "parts"))
      forEach(node, "parts", [&](const Node &id) { buffer.parts.push_back(toIndex(id)); });
    if (has(node, "like"))
      buffer.like = toIndex(child(node, "like"));
    return buffer;
  }

  TileVariant readTile(const Node &node) {
    TileVariant variant;
    variant.tile = readString(node, "tile");
    variant.kernel = toIndex(child(node, "kernel"));
    if (has(node, "finish"))
      variant.finish = toIndex(child(node, "finish"));
    variant.workspaceBytes = readExprOrZero(node, "workspaceBytes");
    variant.replacesParts = has(node, "replacesParts");
    return variant;
  }

  ValueRange readRange(const Node &buffer) {
    std::vector<int64_t> values;
    forEach(buffer, "range", [&](const Node &value) { values.push_back(toInteger(value)); });
    if (values.size() != 2 && values.size() != 3) {
      fail(child(buffer, "range"), "expected two or three integers");
      return {};
    }
    ValueRange range{values[0], values[1]};
    if (values.size() == 3)
      range.besides = values[2];
    return range;
  }

  CudaLaunch readLaunch(const Node &kernel) {
    Node node = child(kernel, "cuda");
    CudaLaunch launch;
    launch.threadsPerBlock = readInteger(node, "threadsPerBlock");
    std::vector<SizeExpr> grid;
    forEach(node, "grid", [&](const Node &extent) { grid.push_back(toExpr(extent)); });
    if (grid.size() == 3) {
      launch.gridX = grid[0];
      launch.gridY = grid[1];
      launch.gridZ = grid[2];
    } else {
      fail(node, "expected a grid of three extents");
    }
    launch.hasStatus = has(node, "hasStatus");
    launch.wideIndex = has(node, "wideIndex");
    return launch;
  }

  Step readStep(const Node &node) {
    Step step;
    step.kernel = toIndex(child(node, "kernel"));
    forEach(node, "args", [&](const Node &arg) {
      if (!arg.json->is_array()) {
        step.args.push_back({toIndex(arg), 0});
      } else if (arg.json->size() == 2) {
        step.args.push_back({toIndex({&(*arg.json)[0], arg.path + "[0]"}),
                             toExpr({&(*arg.json)[1], arg.path + "[1]"})});
      } else {
        fail(arg, "expected [buffer, offset]");
      }
    });
    step.resultCount = toIndex(child(node, "results"));
    step.tasks = toExpr(child(node, "tasks"));
    step.flops = readExprOrZero(node, "flops");
    step.trafficBytes = readExprOrZero(node, "trafficBytes");
    return step;
  }

  Program program;
};

} // namespace

std::string_view nameOf(BufferKind kind) {
  switch (kind) {
  case BufferKind::Input:
    return "input";
  case BufferKind::Output:
    return "output";
  case BufferKind::Parameter:
    return "parameter";
  case BufferKind::State:
    return "state";
  case BufferKind::Constant:
    return "constant";
  case BufferKind::Arena:
    return "arena";
  }
  return "?";
}

std::string writeProgramJson(const Program &program) {
  std::string text;
  print(Writer(program).write(), "", text);
  return text + "\n";
}

Result<Program> readProgramJson(std::string_view text) { return Reader().read(text); }

} // namespace nncc::rt
