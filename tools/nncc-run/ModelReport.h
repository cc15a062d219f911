// What a model is (--info) and what it answered, for people.
#pragma once

#include "runtime/HostTensor.h"
#include "tools/support/Model.h"

#include <nlohmann/json_fwd.hpp>

namespace nncc::tools {

std::string renderInfo(const nncc_model_info &info);
nlohmann::json toJson(const nncc_model_info &info);

/// The first values of an output.
std::string renderTensor(const std::string &name, const rt::HostTensor &tensor);

} // namespace nncc::tools
