// The choice of a device for a model, and what the user is told when the model has no code for it.
#include "runtime/LoadedProgram.h"

#include "runtime/CpuProgram.h"
#include "runtime/DeviceName.h"

namespace nncc::rt {

LoadedProgram::~LoadedProgram() = default;

Result<std::unique_ptr<TaskPool>> makePool(const ThreadOptions &options) {
  if (options.caller.parallelFor)
    return makeCallerPool(options.caller);
  return makeThreadPool(options.threads > 0 ? options.threads : usableCoreCount());
}

Result<void> LoadedProgram::checkVersion(const ModelDescriptor &descriptor) {
  if (descriptor.version == kModelDescriptorVersion)
    return {};
  return internalError("expected model descriptor version " +
                       std::to_string(kModelDescriptorVersion) + ", found " +
                       std::to_string(descriptor.version));
}

Result<void> LoadedProgram::checkRunnable(bool trains) const {
  if (trains && !loaded.findEntryPoint("train_step"))
    return userError("model '" + loaded.modelName +
                     "' was not compiled for training; give it a train section and compile it with "
                     "nncc --train");
  if (hasWeights())
    return {};
  return userError("model '" + loaded.modelName +
                   "' was loaded for information only and cannot run");
}

std::string describeTargets(const ModelDescriptor &descriptor) {
  std::string text;
  for (uint32_t i = 0; i < descriptor.variantCount; ++i)
    text += (i ? ", " : "cpu (") + std::string(descriptor.variants[i].cpuLevel);
  if (descriptor.variantCount)
    text += ")";
  if (!descriptor.cuda)
    return text;
  text += text.empty() ? "cuda (" : ", cuda (";
  for (uint64_t i = 0; i < descriptor.cuda->architectureCount; ++i)
    text += descriptor.cuda->architectures[i] + std::string(", ");
  return text + (descriptor.cuda->architectureCount ? "others by NVRTC)" : "by NVRTC)");
}

static Result<std::shared_ptr<const LoadedProgram>> loadForCpu(const ModelDescriptor &descriptor,
                                                               const LoadOptions &options) {
  Result<std::shared_ptr<const CpuProgram>> program = CpuProgram::load(descriptor, options);
  if (!program)
    return program.error();
  return std::shared_ptr<const LoadedProgram>(std::move(*program));
}

Result<std::shared_ptr<const LoadedProgram>> LoadedProgram::load(const ModelDescriptor &descriptor,
                                                                 const LoadOptions &options) {
  if (Result<void> checked = checkVersion(descriptor); !checked)
    return checked.error();
  auto notCompiledFor = [&](const std::string &target, const std::string &instead) {
    return userError("the model was not compiled for the device \"" + options.device +
                     "\", only for " + describeTargets(descriptor) +
                     "; compile it again with nncc --target=" + target +
                     ", or choose the device \"" + instead + "\"");
  };
  DeviceName device{descriptor.variantCount == 0 && descriptor.cuda, 0};
  if (!options.device.empty()) {
    std::optional<DeviceName> named = parseDeviceName(options.device);
    if (!named)
      return unknownDevice(options.device);
    device = *named;
  }
  if (!device.isCuda && options.tuningRequired)
    return userError("a tuning file is for CUDA devices, and the model is to run on the CPU; name "
                     "a CUDA device (\"cuda\")");
  if (!device.isCuda)
    return descriptor.cuda && descriptor.variantCount == 0 ? notCompiledFor("cpu,cuda", "cuda")
                                                           : loadForCpu(descriptor, options);
  if (!descriptor.cuda)
    return notCompiledFor("cpu,cuda", "cpu");
  return descriptor.cuda->backend->load(descriptor, device.ordinal, options);
}

} // namespace nncc::rt
