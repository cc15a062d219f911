// From measurements to the file; see TuneModel.h.

#include "runtime/cuda/TuneModel.h"

#include "runtime/File.h"
#include "runtime/cuda/Tuner.h"

namespace nncc::rt::cuda {

/// Puts the choices into the file in the place of older ones.
static void merge(TunedDevice made, TuningFile &file) {
  TunedDevice *known = nullptr;
  for (TunedDevice &device : file.devices)
    if (device.name == made.name && device.architecture == made.architecture)
      known = &device;
  if (!known)
    known = &file.devices.emplace_back(made);
  // A library that was not asked this time keeps its version and its choices; one that changed
  // loses them.
  for (const auto &[library, version] : made.libraries) {
    auto [had, isNew] = known->libraries.emplace(library, version);
    if (!isNew && had->second != version)
      std::erase_if(known->kernels,
                    [&](const TunedKernel &kernel) { return kernel.use == library; });
    had->second = version;
  }
  known->driver = made.driver;
  for (TunedKernel &kernel : made.kernels) {
    std::erase_if(known->kernels, [&](const TunedKernel &other) {
      return other.isFor(kernel.identity, kernel.dims);
    });
    known->kernels.push_back(std::move(kernel));
  }
}

/// The kernels of all tiles that the entry point's steps may have, which runs do not need.
static Result<KernelTable> loadTiles(const CudaProgram &program, const BoundEntry &bound) {
  std::vector<bool> isNeeded(program.program().kernels.size());
  for (const Step &step : bound.entry->steps)
    for (const TileVariant &tile : program.program().kernels[step.kernel].tiles) {
      isNeeded[tile.kernel] = true;
      if (tile.finish)
        isNeeded[*tile.finish] = true;
    }
  constexpr int kAllCores = 0;
  return KernelTable::load(program.device(), program.program(), program.code(), isNeeded, kAllCores,
                           LogSink());
}

Result<void> tuneModel(const CudaProgram &program, const BoundEntry &bound, const LaunchPlan &plan,
                       const LaunchTarget &target, StepLibraries &libraries,
                       const std::string &path) {
  // First, so that a file that cannot be read is not found out after minutes.
  auto loaded = TuningFile::load(path);
  if (!loaded)
    return loaded.error();
  TuningFile file = *loaded ? std::move(**loaded) : TuningFile();
  auto made = describeForTuning(*program.device());
  if (!made)
    return made.error();
  auto table = loadTiles(program, bound);
  if (!table)
    return table.error();
  StepTiles tiles(program.program(), *program.device(), *table);
  auto kernels =
      Tuner(program.program(), bound, program.choices(), libraries, tiles, program.device())
          .run(plan, target);
  if (!kernels)
    return kernels.error();
  made->kernels = std::move(*kernels);
  made->libraries = libraries.versions();
  merge(std::move(*made), file);
  return writeFileAtomically(path, file.write());
}

} // namespace nncc::rt::cuda
