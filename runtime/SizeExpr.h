// A size as an expression over the program's named dims, for example N * 16 * 28 * 28 * 4. Postfix
// terms in one vector: easy to write into JSON, to check and to evaluate without recursion.
// Evaluation is checked for overflow.
#pragma once

#include "support/CheckedSize.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nncc::rt {

class SizeExpr {
public:
  enum class Op : uint8_t { Constant, Dim, Add, Sub, Mul, FloorDiv, CeilDiv, Mod, Max, Min };
  struct Term {
    Op op = Op::Constant;
    int64_t value = 0; ///< the constant, or the index of the dim
    bool operator==(const Term &) const = default;
  };

  SizeExpr() : SizeExpr(0) {}
  SizeExpr(int64_t constant) : terms{{Op::Constant, constant}} {}

  static SizeExpr dim(int64_t index);
  /// `lhs op rhs`; constant operands are folded when the result does not overflow.
  static SizeExpr binary(Op op, const SizeExpr &lhs, const SizeExpr &rhs);

  friend SizeExpr operator+(const SizeExpr &a, const SizeExpr &b) { return binary(Op::Add, a, b); }
  friend SizeExpr operator-(const SizeExpr &a, const SizeExpr &b) { return binary(Op::Sub, a, b); }
  friend SizeExpr operator*(const SizeExpr &a, const SizeExpr &b) { return binary(Op::Mul, a, b); }

  /// Whether it names this dim.
  bool dependsOn(int64_t dimIndex) const {
    for (const Term &term : terms)
      if (term.op == Op::Dim && term.value == dimIndex)
        return true;
    return false;
  }
  bool isConstant() const { return terms.size() == 1 && terms[0].op == Op::Constant; }

  /// The value for these dims; invalid on overflow, division by zero or a dim index out of range.
  CheckedSize evaluate(std::span<const int64_t> dims) const;

  /// "N*16*28", fully parenthesised where precedence asks for it; parse() reads it back.
  std::string toString(std::span<const std::string> dimNames) const;
  static std::optional<SizeExpr> parse(std::string_view text,
                                       std::span<const std::string> dimNames);

  /// A well-formed postfix program: every operator finds its operands, one value is left.
  bool wellFormed(size_t dimCount) const;

  bool operator==(const SizeExpr &) const = default;

  std::vector<Term> terms;
};

} // namespace nncc::rt
