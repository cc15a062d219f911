// See FaultInjection.h. The variable is looked at in every call, so that a test may change it; a new value
// starts the counts again.
#include "tools/cuda-emulator/driver/FaultInjection.h"

#include "tools/cuda-emulator/driver/Report.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace nncc::cuemu {
namespace {

struct Rule {
  std::string function;
  uint64_t call = 0; ///< 0: every call
  cuda::CUresult code = cuda::CUDA_SUCCESS;
};

std::vector<Rule> parseRules(const std::string &text) {
  std::vector<Rule> rules;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    std::string item = text.substr(begin, end - begin);
    begin = end + 1;
    size_t first = item.find(':'), second = first == std::string::npos ? first : item.find(':', first + 1);
    char *parsed = nullptr;
    Rule rule;
    if (second != std::string::npos) {
      rule.function = item.substr(0, first);
      std::string call = item.substr(first + 1, second - first - 1);
      rule.call = call == "*" ? 0 : std::strtoull(call.c_str(), nullptr, 10);
      rule.code = static_cast<cuda::CUresult>(std::strtol(item.c_str() + second + 1, &parsed, 10));
      if (*parsed == '\0' && parsed != item.c_str() + second + 1 && (call == "*" || rule.call > 0)) {
        rules.push_back(rule);
        continue;
      }
    }
    report("CUDA_EMULATOR_FAIL: expected FUNCTION:N:CODE, found '" + item + "'");
  }
  return rules;
}

} // namespace

std::optional<cuda::CUresult> injectedFailure(const char *function) {
  static std::mutex mutex;
  static std::string parsedText;
  static std::vector<Rule> rules;
  static std::map<std::string, uint64_t> counts;
  const char *text = std::getenv("CUDA_EMULATOR_FAIL");
  std::lock_guard lock(mutex);
  if (parsedText != (text ? text : "")) {
    parsedText = text ? text : "";
    rules = parseRules(parsedText);
    counts.clear();
  }
  if (rules.empty())
    return std::nullopt;
  uint64_t call = ++counts[function];
  for (const Rule &rule : rules)
    if (rule.function == function && (rule.call == 0 || rule.call == call))
      return rule.code;
  return std::nullopt;
}

} // namespace nncc::cuemu
