// Which choices of a tuning file hold; see KernelChoices.h.

#include "runtime/cuda/KernelChoices.h"

#include "runtime/cuda/KernelCache.h"
#include "runtime/cuda/LaunchPlan.h"

#include <algorithm>
#include <set>

namespace nncc::rt::cuda {

static constexpr const char *kAdvice =
    ". Tune for it (nncc-run or nncc-train, --device=cuda --tune), or do not require the file";

Result<TunedDevice> describeForTuning(const Device &device) {
  auto name = device.name();
  if (!name)
    return name.error();
  TunedDevice described;
  described.name = *name;
  described.architecture = "sm_" + std::to_string(device.capability());
  described.driver = versionText(device.driver().version);
  return described;
}

std::map<std::string, int64_t> namedDims(const Program &program, std::span<const int64_t> dims) {
  std::map<std::string, int64_t> named;
  for (size_t i = 0; i < dims.size(); ++i)
    named[program.dims[i].name] = dims[i];
  return named;
}

const TileVariant *KernelChoices::findTile(const Kernel &kernel, const TunedKernel &choice) {
  auto found = std::find_if(kernel.tiles.begin(), kernel.tiles.end(), [&](const TileVariant &tile) {
    return tile.tile == choice.algorithm;
  });
  return found == kernel.tiles.end() ? nullptr : &*found;
}

/// The kernels of runs that have an alternative, by entry point.
static std::vector<std::vector<uint32_t>> kernelsWithAlternatives(const Program &program) {
  std::vector<std::vector<uint32_t>> entries;
  for (const EntryPoint &entry : program.entryPoints) {
    std::vector<uint32_t> kernels;
    for (const Step &step : entry.steps)
      if (entry.name != "prepare" && program.kernels[step.kernel].isTunable())
        kernels.push_back(step.kernel);
    if (!kernels.empty())
      entries.push_back(std::move(kernels));
  }
  return entries;
}

/// Takes the file's choices. An error says why it does not fit, and leaves none.
Result<void> KernelChoices::fit(const Device &device, const Program &program,
                                const TuningFile &file) {
  auto described = describeForTuning(device);
  if (!described)
    return described.error();
  const TunedDevice *tuned = file.find(described->name, described->architecture);
  if (!tuned) {
    std::string known;
    for (const TunedDevice &other : file.devices)
      known += (known.empty() ? "" : ", ") + other.name + " (" + other.architecture + ")";
    return environmentError("the tuning file " + path + " is not for this device, " +
                            described->name + " (" + described->architecture + "); it is for " +
                            (known.empty() ? "none" : known) + kAdvice);
  }
  std::vector<std::vector<uint32_t>> wanted = kernelsWithAlternatives(program);
  std::set<uint32_t> known;
  std::vector<TunedKernel> taken;
  for (const std::vector<uint32_t> &entry : wanted)
    for (uint32_t kernel : entry) {
      if (known.contains(kernel))
        continue;
      for (const TunedKernel &choice : tuned->kernels) {
        if (choice.identity != identities[kernel])
          continue;
        known.insert(kernel);
        taken.push_back(choice);
        if (choice.isTile() && !findTile(program.kernels[kernel], choice))
          return userError("the tuning file " + path + " asks for the tile " + choice.algorithm +
                           " for " + describeKernel(program.kernels[kernel]) +
                           ", which the model does not bring along; compile it with nncc --tiles=4 "
                           "or more" +
                           kAdvice);
      }
    }
  // A file may know what infers and not what trains, or the other way; then it is a run that fails.
  auto isKnown = [&](uint32_t kernel) { return known.contains(kernel); };
  auto isKnownEntry = [&](const std::vector<uint32_t> &entry) {
    return std::all_of(entry.begin(), entry.end(), isKnown);
  };
  if (isRequired && !wanted.empty() && std::none_of(wanted.begin(), wanted.end(), isKnownEntry))
    return userError("the tuning file " + path + " does not know " +
                     describeKernel(program.kernels[*std::find_if_not(
                         wanted[0].begin(), wanted[0].end(), isKnown)]) +
                     "; the model was changed, or compiled by another nncc" + kAdvice);
  for (LibraryKind kind : kLibraryKinds) {
    auto user = std::find_if(taken.begin(), taken.end(),
                             [&](const TunedKernel &kernel) { return kernel.use == nameOf(kind); });
    if (user == taken.end())
      continue;
    auto loaded = KernelLibrary::get(kind);
    if (!loaded)
      return environmentError("the tuning file " + path + " asks for " + nameOf(kind) +
                              " for the kernel '" + user->name + "': " + loaded.error().message);
    auto version = tuned->libraries.find(nameOf(kind));
    if (version == tuned->libraries.end() || version->second != (*loaded)->version())
      return environmentError(
          "the tuning file " + path + " was made with " + nameOf(kind) + " " +
          (version == tuned->libraries.end() ? "of an unknown version" : version->second) +
          ", found " + (*loaded)->version() + " (" + (*loaded)->file() + ")" + kAdvice);
    libraries[static_cast<size_t>(kind)] = std::move(*loaded);
  }
  kernels = std::move(taken);
  return {};
}

Result<KernelChoices> KernelChoices::load(const std::shared_ptr<const Device> &device,
                                          const Program &program, const ModelCuda &model,
                                          const LoadOptions &options) {
  KernelChoices choices;
  choices.isRequired = options.tuningRequired;
  for (uint64_t i = 0; i < model.kernelCount; ++i)
    choices.identities.push_back(KernelCache::keyOf(model.kernels[i].source, "", ""));
  std::optional<TuningFile> file;
  if (!options.tuningPath.empty()) {
    choices.path = options.tuningPath;
    auto loaded = TuningFile::load(choices.path);
    if (!loaded)
      return loaded.error();
    if (!*loaded)
      return userError("there is no tuning file " + choices.path +
                       "; nncc-run --device=cuda --tune=" + choices.path + " makes it");
    file = std::move(*loaded);
  } else if (model.tuningBytes > 0) {
    choices.path = "embedded in the model";
    auto read = TuningFile::read({model.tuning, model.tuningBytes}, choices.path);
    if (!read)
      return read.error();
    file = std::move(*read);
  }
  if (!file) {
    if (options.tuningRequired)
      return userError("a tuning file is required, but none is named (--tuning) and the model "
                       "brings none along");
    return choices;
  }
  if (auto fitted = choices.fit(*device, program, *file); !fitted) {
    if (options.tuningRequired || fitted.error().kind == ErrorKind::Internal)
      return fitted.error();
    options.log("warning: " + fitted.error().message + "; nncc's own kernels are used");
  }
  return choices;
}

std::vector<bool> KernelChoices::kernelsOfRuns(const Program &program) const {
  std::vector<bool> isNeeded(program.kernels.size());
  for (const EntryPoint &entry : program.entryPoints)
    for (const Step &step : entry.steps) {
      isNeeded[step.kernel] = true;
      for (const TunedKernel &choice : kernels)
        if (choice.isTile() && choice.identity == identities[step.kernel]) {
          const TileVariant &tile = *findTile(program.kernels[step.kernel], choice);
          isNeeded[tile.kernel] = true;
          if (tile.finish)
            isNeeded[*tile.finish] = true;
        }
    }
  return isNeeded;
}

Result<const TunedKernel *> KernelChoices::find(const Program &program, uint32_t kernel,
                                                std::span<const int64_t> dims) const {
  if (kernels.empty() && !isRequired)
    return nullptr;
  std::map<std::string, int64_t> named = namedDims(program, dims);
  for (const TunedKernel &choice : kernels)
    if (choice.isFor(identities[kernel], named))
      return choice.use == "nncc" && !choice.isTile() ? nullptr : &choice;
  if (!isRequired)
    return nullptr;
  std::string at;
  for (const auto &[name, value] : named)
    at += (at.empty() ? " at " : ", ") + name + " = " + std::to_string(value);
  return userError("the tuning file " + path + " does not know " +
                   describeKernel(program.kernels[kernel]) + at + kAdvice);
}

} // namespace nncc::rt::cuda
