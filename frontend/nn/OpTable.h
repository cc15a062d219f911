// The operations of the .nn language: one table, in which each has its signature, its parameters
// (weights), its results, a line of documentation and the function that builds it from nn ops.
// Calls are checked against it, suggestions come from it, and the table of operations in
// docs/language.md is printed from it. The entries stand by family in frontend/nn/ops.
#pragma once

#include "mlir/IR/Value.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nncc::frontend {

class OpCall;

/// What an argument may be. The spelling in signatures is that of `spellingOf`.
enum class ArgKind : uint8_t {
  Tensor,
  Tensors, // a list of tensors
  Scalar,  // a tensor or a number
  Int,
  Ints,  // a list of integers, or one integer for all dimensions
  Dims,  // a list of dimensions: integers and named dims
  Float, // an integer or a float
  Bool,
  String,
  Padding, // integers, pairs of integers, "same" or "valid"
  DType,
};
std::string_view spellingOf(ArgKind kind);

struct OpArgument {
  std::string name;
  ArgKind kind;
  /// Takes none as well ("int?").
  bool optional = false;
  /// The default as .nn text; nothing when the argument is required.
  std::optional<std::string> fallback;
};

/// What a build function gives: the results, or nothing after an error.
struct OpResults {
  llvm::SmallVector<mlir::Value, 3> values;
  OpResults() = default;
  OpResults(mlir::Value value) {
    if (value)
      values.push_back(value);
  }
  OpResults(llvm::ArrayRef<mlir::Value> results) : values(results.begin(), results.end()) {}
  bool failed() const { return values.empty(); }
};

struct OpEntry {
  std::string_view name;
  std::string_view family;
  /// "x: tensor, out_channels: int, kernel: ints, stride: ints = 1"
  std::string_view signature;
  /// Names of the parameters that a call adds, "weight, bias"; empty for none. Each takes an
  /// argument NAME_init.
  std::string_view weights;
  /// Names of the results where there are several, "y, h, c"; "[parts]" for a list.
  std::string_view results;
  std::string_view summary;
  OpResults (*build)(OpCall &call);
};

class OpInfo {
public:
  explicit OpInfo(const OpEntry &entry);

  const OpEntry &entry() const { return *table; }
  std::string name() const { return std::string(table->name); }
  const std::vector<OpArgument> &arguments() const { return args; }
  const std::vector<std::string> &weights() const { return weightNames; }
  const std::vector<std::string> &results() const { return resultNames; }
  /// The results are the elements of one list.
  bool givesList() const { return table->results.starts_with('['); }
  const OpArgument *find(std::string_view name) const;

private:
  const OpEntry *table;
  std::vector<OpArgument> args;
  std::vector<std::string> weightNames;
  std::vector<std::string> resultNames;
};

/// All operations, by family and in the order of their families' files.
const std::vector<OpInfo> &allOps();
const OpInfo *findOp(std::string_view name);
/// The losses and metrics of train sections.
const std::vector<OpInfo> &trainOps();
const OpInfo *findTrainOp(std::string_view name);

/// The operations as Markdown tables, a section a family.
std::string opTableMarkdown();

// The families.
llvm::ArrayRef<OpEntry> layerOps();       // linear, convolutions, embedding
llvm::ArrayRef<OpEntry> poolOps();        // pooling
llvm::ArrayRef<OpEntry> elementwiseOps(); // activations, functions, arithmetic, comparison
llvm::ArrayRef<OpEntry> normOps();        // normalisation and softmax
llvm::ArrayRef<OpEntry> reductionOps();   // sum, mean, argmax, ...
llvm::ArrayRef<OpEntry> movementOps();    // reshape, transpose, concat, ...
llvm::ArrayRef<OpEntry> sequenceOps();    // rnn, lstm, gru, attention
/// Not among allOps(): what only a train section calls, with the family "loss" or "metric".
llvm::ArrayRef<OpEntry> lossOps();

} // namespace nncc::frontend
