// The devices of this machine; see DeviceList.h.

#include "tools/nncc-run/DeviceList.h"
#include "runtime/CpuLevel.h"
#include "runtime/TaskPool.h"
#include "runtime/cuda/Device.h"
#include "runtime/cuda/KernelLibrary.h"
#include "runtime/cuda/Nvrtc.h"
#include "tools/support/TextTable.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace nncc;
using namespace nncc::tools;

std::string tools::renderDevices() {
  using enum TextTable::Align;
  constexpr double kMiB = 1 << 20;
  TextTable table({{"device", Left}, {"name", Left}, {"code", Left}, {"units"}, {"memory MiB"}});
  table.addRow({"cpu", "this machine's processor", rt::hostCpuLevel(),
                std::to_string(rt::usableCoreCount()), "-"});
  std::string notes;
  auto driver = rt::cuda::Driver::get();
  if (driver) {
    auto devices = rt::cuda::listDevices(**driver);
    if (devices)
      for (const rt::cuda::DeviceDescription &device : *devices)
        table.addRow({fmt::format("cuda:{}", device.ordinal), device.name,
                      fmt::format("sm_{}", device.capability),
                      std::to_string(device.multiprocessors),
                      fmt::format("{:.0f}", static_cast<double>(device.memoryBytes) / kMiB)});
    else
      notes += "no CUDA device: " + devices.error().message + "\n";
    notes += fmt::format("CUDA driver: {} ({})\n", rt::cuda::versionText((*driver)->version),
                         (*driver)->file);
  } else {
    notes += "no CUDA device: " + driver.error().message + "\n";
  }
  auto nvrtc = rt::cuda::Nvrtc::get();
  notes +=
      nvrtc ? "NVRTC: " + (*nvrtc)->describe() + "\n" : "no NVRTC: " + nvrtc.error().message + "\n";
  for (rt::cuda::LibraryKind kind : rt::cuda::kLibraryKinds) {
    const char *title = kind == rt::cuda::LibraryKind::Cudnn ? "cuDNN" : "cuBLASLt";
    auto library = rt::cuda::KernelLibrary::get(kind);
    notes += library ? fmt::format("{}: {} ({})\n", title, (*library)->version(), (*library)->file())
                     : fmt::format("no {}, which is needed by tuning files alone: {}\n", title,
                                   library.error().message);
  }
  return table.render() + "\n" + notes;
}

nlohmann::json tools::devicesToJson() {
  nlohmann::json list = nlohmann::json::array();
  auto driver = rt::cuda::Driver::get();
  if (!driver)
    return list;
  auto devices = rt::cuda::listDevices(**driver);
  if (!devices)
    return list;
  for (const rt::cuda::DeviceDescription &device : *devices)
    list.push_back({{"device", fmt::format("cuda:{}", device.ordinal)},
                    {"name", device.name},
                    {"architecture", fmt::format("sm_{}", device.capability)},
                    {"driver", rt::cuda::versionText((*driver)->version)},
                    {"multiprocessors", device.multiprocessors},
                    {"memory_bytes", device.memoryBytes},
                    {"peak_f32_gflops", device.peaks.fp32Flops / 1e9},
                    {"peak_f16_gflops", device.peaks.halfFlops / 1e9},
                    {"peak_gbytes_per_s", device.peaks.memoryBytes / 1e9}});
  return list;
}
