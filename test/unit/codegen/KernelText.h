// IR text of a module with one kernel, from its operand types, its result types and its body.
#pragma once

#include <string>
#include <vector>

namespace nncc::codegen::test {

/// The body sees the operands as %a0, %a1, ... and ends with its own nn.yield. The named dim N is declared.
inline std::string kernelText(const std::vector<std::string> &operands,
                              const std::vector<std::string> &results, const std::string &body) {
  auto join = [](const std::vector<std::string> &parts) {
    std::string text;
    for (const std::string &part : parts)
      text += (text.empty() ? "" : ", ") + part;
    return text;
  };
  std::vector<std::string> parameters, bindings;
  for (size_t i = 0; i < operands.size(); ++i) {
    std::string number = std::to_string(i);
    parameters.push_back("%x" + number + ": " + operands[i]);
    bindings.push_back("%a" + number + " = %x" + number + " : " + operands[i]);
  }
  std::string types = join(results);
  return "module attributes {nn.dims = [#nn.dim<\"N\", 1, 4096>]} {\nfunc.func @f(" + join(parameters) +
         ") -> (" + types + ") {\n%k" + (results.size() > 1 ? ":" + std::to_string(results.size()) : "") +
         " = nn.kernel \"test\" (" + join(bindings) + ") -> " +
         (results.size() > 1 ? "(" + types + ")" : types) + " {\n" + body + "\n}\nreturn " +
         [&] {
           std::vector<std::string> values;
           for (size_t i = 0; i < results.size(); ++i)
             values.push_back(results.size() > 1 ? "%k#" + std::to_string(i) : "%k");
           return join(values);
         }() +
         " : " + types + "\n}\n}\n";
}

} // namespace nncc::codegen::test
