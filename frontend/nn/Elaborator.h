// The elaborator: syntax trees to nn ops. It runs the program that a model's text is - blocks are
// called, repeats unrolled, constants computed - and every call of an operation on tensors leaves
// ops in @infer. Shared by the files that implement it: Elaborate.cpp (the model),
// ElaborateStatement.cpp, ElaborateExpr.cpp, ElaborateOperator.cpp, ElaborateCall.cpp,
// ElaborateParameter.cpp and ElaborateTrain.cpp.
#pragma once

#include "frontend/nn/ImportNn.h"
#include "frontend/nn/NnValue.h"
#include "frontend/nn/OpCall.h"
#include "frontend/nn/Program.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

#include <map>
#include <set>

namespace nncc::frontend {

class Elaborator {
public:
  Elaborator(mlir::MLIRContext &context, const Program &program, Diagnostics &diagnostics,
             const ImportOptions &options);

  mlir::OwningOpRef<mlir::ModuleOp> run();
  /// The program's training for a module that was made elsewhere. False after an error.
  bool addTraining(mlir::ModuleOp to);

private:
  using Result = std::optional<NnValue>;
  using Results = llvm::SmallVector<NnValue, 3>;

  /// The names visible in a block's or the model's body.
  struct Frame {
    const FileScope *scope = nullptr;
    std::map<std::string, NnValue> variables;
    std::string path; // prefix of parameters, without a last dot
    std::map<std::string, int> *callCounts =
        nullptr; // for default paths; shared by frames of one path
    std::map<std::string, int> ownCounts;
    const Call *call = nullptr; // that opened it; null for the model
    SourceRange callRange;
    Frame *caller = nullptr;
    bool inTrain = false;
  };

  // Errors.
  std::nullopt_t fail(SourceRange at, std::string message);
  mlir::Location locationOf(SourceRange range);
  bool countStep(SourceRange at);
  bool tooDeep(SourceRange at);

  // The model (Elaborate.cpp).
  const ModelDecl *chooseModel();
  bool evaluateConsts(const FileScope &scope);
  bool declareInputs(const ModelDecl &model);
  std::optional<nn::Dim> inputDim(const Expr &expr);
  std::optional<nn::Dim> namedDim(const NameRef &name, SourceRange at);
  mlir::DictionaryAttr nameAttribute(llvm::StringRef name);
  bool returnOutputs(const Return &result);
  bool checkDimsBound();
  void setDims();

  // Statements (ElaborateStatement.cpp).
  bool body(const Body &body);
  bool statement(const Statement &statement);
  bool assign(const Assign &assign);
  bool repeat(const Repeat &repeat, SourceRange at);
  bool branch(const If &branches);

  // Expressions (ElaborateExpr.cpp).
  Result eval(const Expr &expr);
  std::optional<Results> evalResults(const Expr &expr);
  std::optional<Results> evalNode(const Expr &expr);
  Result evalName(const NameRef &name, SourceRange at);
  Result evalMember(const Member &member, SourceRange at);
  Result evalList(const ListLiteral &list);
  Result evalSubscript(const Subscript &subscript, SourceRange at);
  Result indexTensor(mlir::Value tensor, const Subscript &subscript, SourceRange at);
  /// What a subscript takes from one dimension: `size` -1 is the whole of it.
  struct Part {
    int64_t start = 0, size = -1, step = 1;
    bool dropped = false;
  };
  std::optional<Part> partOf(mlir::RankedTensorType type, int64_t d, const SubscriptItem &item,
                             SourceRange at);
  /// The least value of a dimension in any run, where that is known: 1 at least.
  int64_t leastExtent(nn::Dim extent) const;
  std::optional<int64_t> evalInteger(const Expr &expr, llvm::StringRef what);
  std::optional<bool> evalCondition(const Expr &expr);

  // Operators (ElaborateOperator.cpp).
  Result evalUnary(const Unary &unary, SourceRange at);
  Result evalBinary(const Binary &binary, SourceRange at);
  Result evalTensorBinary(const Binary &binary, const NnValue &lhs, const NnValue &rhs,
                          SourceRange at);
  Result evalDimBinary(const Binary &binary, nn::Dim lhs, nn::Dim rhs, SourceRange at);
  Result evalIntBinary(const Binary &binary, int64_t lhs, int64_t rhs, SourceRange at);
  Result evalFloatBinary(const Binary &binary, double lhs, double rhs, SourceRange at);

  // Calls (ElaborateCall.cpp).
  std::optional<Results> evalCall(const Call &call, SourceRange at);
  std::optional<Results> callBlock(const Declared<BlockDecl> &block, const Call &call,
                                   SourceRange at);
  std::optional<Results> callOp(const OpInfo &info, const Call &call, SourceRange at,
                                const Results *evaluated = nullptr);
  Result callNumeric(const Call &call, const Results &arguments, SourceRange at);
  Result callInit(const Call &call, SourceRange at);
  /// `evaluated` holds the values of purely positional arguments where they are known already.
  bool bindArguments(const OpInfo &info, const Call &call, SourceRange at, const Results *evaluated,
                     OpCall &opCall);
  bool checkKind(const OpInfo &info, const OpArgument &argument, NnValue &value, SourceRange at);
  std::nullopt_t unknownCallee(const Call &call);
  /// The arguments matched with parameters by position and name; null where none was given.
  struct Formal {
    std::string name;
    bool required;
  };
  std::optional<std::vector<const Argument *>>
  matchArguments(const Call &call, SourceRange at, const std::vector<Formal> &formals,
                 llvm::ArrayRef<std::string> extraNames);
  /// Builds a table operation from values, for operators and subscripts.
  Result applyOp(llvm::StringRef name,
                 llvm::ArrayRef<std::pair<llvm::StringRef, NnValue>> arguments, SourceRange at);

  // Parameters (ElaborateParameter.cpp).
  std::optional<std::string> pathOf(const Call &call, SourceRange at);
  std::optional<std::string> expandPath(const Path &path);
  mlir::Value addParameter(llvm::StringRef name, llvm::ArrayRef<int64_t> shape, mlir::Type element,
                           const InitValue &init, SourceRange at);
  bool declareParameter(const ParamStatement &param, SourceRange at);

  // The train section (ElaborateTrain.cpp).
  struct TrainNames {
    std::set<std::string> used, settings, metrics;
    std::vector<Identifier> locals;
    std::optional<SourceRange> precision, lossScale; ///< of the values of these settings
  };
  bool elaborateTrain();
  bool trainStatement(const Statement &statement, TrainNames &names,
                      llvm::SmallVectorImpl<mlir::NamedAttribute> &settings);
  bool checkTrainNames(const TrainNames &names);
  void startEvaluate();
  void finishEvaluate();
  bool addTarget(const Target &target);
  bool addTrainResult(llvm::StringRef name, const NnValue &value, SourceRange at);
  bool trainAssign(const Assign &assigned, TrainNames &names,
                   llvm::SmallVectorImpl<mlir::NamedAttribute> &settings);
  mlir::Attribute trainSetting(const Assign &assign, llvm::StringRef family);
  bool checkPrecision(const TrainNames &names, mlir::DictionaryAttr settings);
  static void collectNames(const Expr &expr, std::set<std::string> &used);

  mlir::MLIRContext &context;
  const Program &program;
  Diagnostics &diagnostics;
  const ImportOptions &options;
  mlir::ModuleOp module;
  mlir::func::FuncOp function;
  mlir::func::FuncOp evaluate;
  llvm::SmallVector<mlir::Value> trainResults;
  llvm::SmallVector<mlir::DictionaryAttr> trainResultNames;
  mlir::OpBuilder builder;
  std::map<const FileScope *, std::map<std::string, NnValue>> constants;
  Frame *frame = nullptr;
  size_t frameDepth = 0;
  size_t evalDepth = 0; // expressions and bodies that are being evaluated, through all frames
  size_t steps = 0;

  struct UsedDim {
    std::string name;
    int64_t min = 1, max = 0;
    SourceRange firstUse;
    bool standsAlone = false;
  };
  std::vector<UsedDim> usedDims;
  std::map<std::string, SourceRange> parameterRanges;
};

} // namespace nncc::frontend
