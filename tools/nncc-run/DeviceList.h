// What --list-devices shows: the CPU, the CUDA devices and the libraries that they need.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace nncc::tools {

/// Where something is missing, the text says what and why.
std::string renderDevices();

/// The CUDA devices with their peaks; none without a driver.
nlohmann::json devicesToJson();

} // namespace nncc::tools
