// Runs a model's text on the CUDA device that the driver offers, in tests the stand-in of tools/cuda-emulator, and compares with
// expected outputs. Takes the part of nncc-run's command line that the end-to-end cases use:
//
//   run_on_device MODEL.nn [--weights W.safetensors] [--seed S] --input NAME=@x.npy ... --expect NAME=@y.npy ... [--rtol R] [--atol A]
//
// Exit status: 0 equal, 1 the model or its data are wrong, 3 they differ, 4 no driver or NVRTC.

#include "driver/ImportModel.h"
#include "driver/ParameterImage.h"
#include "driver/Stages.h"
#include "runtime/Binding.h"
#include "runtime/Npy.h"
#include "runtime/Safetensors.h"
#include "runtime/cuda/DeviceProgram.h"
#include "tools/nncc-run/Compare.h"
#include "tools/support/ExitStatus.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

using namespace nncc;

namespace {

struct Request {
  std::string model;
  driver::WeightsOptions weights;
  std::map<std::string, std::string> inputs, expected; ///< by name, paths of .npy files
  double relative = 1e-4, absolute = 1e-4;
};

Result<Request> parse(int argc, char **argv) {
  Request request;
  for (int i = 1; i < argc; ++i) {
    std::string flag = argv[i];
    if (!flag.starts_with("--")) {
      request.model = flag;
      continue;
    }
    if (i + 1 == argc)
      return userError(flag + " needs a value");
    std::string value = argv[++i];
    if (flag == "--weights") {
      request.weights.path = value;
    } else if (flag == "--seed") {
      request.weights.seed = std::stoull(value);
    } else if (flag == "--rtol") {
      request.relative = std::stod(value);
    } else if (flag == "--atol") {
      request.absolute = std::stod(value);
    } else if (flag == "--input" || flag == "--expect") {
      size_t equals = value.find("=@");
      if (equals == std::string::npos)
        return userError(flag + ": expected NAME=@file.npy, found '" + value + "'");
      (flag == "--input" ? request.inputs : request.expected)[value.substr(0, equals)] = value.substr(equals + 2);
    } else {
      return userError("unknown flag " + flag);
    }
  }
  return request;
}

Result<int> run(const Request &request) {
  auto context = driver::createContext();
  driver::ModelSource source;
  source.path = request.model;
  auto imported = driver::importModel(*context, source);
  if (!imported)
    return imported.error();
  if (auto ran = driver::runPasses(*imported->module, driver::cudaPacking(), {}); !ran)
    return ran.error();
  auto compiled = driver::buildCudaProgram(*imported->module);
  if (!compiled)
    return compiled.error();
  const rt::Program &program = compiled->program;

  std::vector<rt::cuda::KernelSource> sources;
  for (const codegen::cuda::CudaSource &kernel : compiled->sources)
    sources.push_back({kernel.symbol, kernel.text});
  std::optional<rt::cuda::KernelCache> cache = rt::cuda::KernelCache::ofUser();
  rt::cuda::DeviceOptions options;
  options.cache = cache ? &*cache : nullptr;
  auto device = rt::cuda::DeviceProgram::create(program, codegen::cuda::deviceHeader().str(), sources, options);
  if (!device)
    return device.error();

  auto image = driver::makeParameterImage(*imported->module, request.weights);
  if (!image)
    return image.error();
  auto weights = rt::Safetensors::parse({reinterpret_cast<const std::byte *>(image->data()), image->size()}, "parameters");
  if (!weights)
    return weights.error();
  std::vector<const std::byte *> parameters(program.buffers.size(), nullptr);
  for (size_t id = 0; id < program.buffers.size(); ++id) {
    if (program.buffers[id].kind != rt::BufferKind::Parameter)
      continue;
    const rt::SafetensorsEntry *entry = weights->find(program.buffers[id].name);
    if (!entry)
      return userError("no values for the parameter " + program.buffers[id].name);
    parameters[id] = entry->data.data();
  }
  if (auto set = device->setParameters(parameters); !set)
    return set.error();

  const rt::EntryPoint &infer = *program.findEntryPoint("infer");
  std::vector<rt::HostTensor> inputs;
  std::vector<rt::TensorView> views;
  std::vector<const std::byte *> inputData;
  for (uint32_t id : infer.inputs) {
    auto path = request.inputs.find(program.buffers[id].name);
    if (path == request.inputs.end())
      return userError("no --input for " + program.buffers[id].name);
    auto tensor = rt::readNpy(path->second);
    if (!tensor)
      return tensor.error();
    inputs.push_back(std::move(*tensor));
  }
  for (rt::HostTensor &tensor : inputs) {
    views.push_back({tensor.dtype, tensor.shape, tensor.data.data()});
    inputData.push_back(tensor.data.data());
  }
  auto dims = rt::bindDims(program, infer, views);
  if (!dims)
    return dims.error();

  std::vector<rt::HostTensor> outputs;
  std::vector<std::byte *> outputData;
  for (uint32_t id : infer.outputs) {
    const rt::Buffer &buffer = program.buffers[id];
    rt::HostTensor &tensor = outputs.emplace_back();
    tensor.dtype = buffer.dtype;
    for (const rt::SizeExpr &extent : buffer.shape)
      tensor.shape.push_back(extent.evaluate(*dims).getOr(0));
    tensor.data.resize(buffer.sizeBytes.evaluate(*dims).getOr(0));
  }
  for (rt::HostTensor &tensor : outputs)
    outputData.push_back(tensor.data.data());
  if (auto ran = device->run(*dims, inputData, outputData); !ran)
    return ran.error();

  bool areEqual = true;
  for (const auto &[name, path] : request.expected) {
    auto expected = rt::readNpy(path);
    if (!expected)
      return expected.error();
    size_t index = 0;
    while (index < infer.outputs.size() && program.buffers[infer.outputs[index]].name != name)
      ++index;
    if (index == infer.outputs.size())
      return userError("the model has no output " + name);
    auto compared = tools::compare(name, outputs[index], *expected, {request.relative, request.absolute});
    if (!compared)
      return compared.error();
    std::printf("%s\n", compared->report.c_str());
    areEqual &= compared->matches;
  }
  return areEqual ? 0 : 3;
}

} // namespace

int main(int argc, char **argv) {
  auto request = parse(argc, argv);
  auto status = request ? run(*request) : Result<int>(request.error());
  if (status)
    return *status;
  std::fprintf(stderr, "run_on_device: %s\n", status.error().message.c_str());
  return static_cast<int>(tools::exitStatusOf(status.error().kind));
}
