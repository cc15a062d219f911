// Evaluates formulas that ops build from arith, math and scf ops, by folding one op after another.
// Loads of elements are stood in for by unrealized_conversion_cast ops, which the evaluator looks
// up in given tensors.
#pragma once

#include "ir/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/DenseMap.h"

#include <gtest/gtest.h>

namespace nncc::nn {

/// A context with the dialects that formulas use, and the op under test: the first one of the
/// function in `text`.
class OpUnderTest {
public:
  explicit OpUnderTest(const std::string &text) {
    context.loadDialect<NNDialect, mlir::func::FuncDialect, mlir::arith::ArithDialect,
                        mlir::math::MathDialect, mlir::scf::SCFDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (module)
      op = &(*module->getOps<mlir::func::FuncOp>().begin()).front().front();
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::Operation *op = nullptr;
};

class FormulaEvaluator {
public:
  /// Elements of each operand, in row-major order, with its shape.
  struct Tensor {
    std::vector<int64_t> shape;
    std::vector<double> elements;
  };
  std::vector<Tensor> operands;

  /// An op that reads `operand` at `indices` when the formula is evaluated.
  static mlir::Value buildLoad(mlir::OpBuilder &builder, mlir::Location loc, unsigned operand,
                               mlir::ValueRange indices, mlir::Type element) {
    auto load = mlir::UnrealizedConversionCastOp::create(builder, loc, element, indices);
    load->setAttr("operand", builder.getI64IntegerAttr(operand));
    return load.getResult(0);
  }

  /// Evaluates the ops of `block`.
  void run(mlir::Block &block) {
    for (mlir::Operation &op : block)
      evaluate(op);
  }

  double number(mlir::Value value) {
    mlir::Attribute attribute = known.lookup(value);
    if (auto real = llvm::dyn_cast_if_present<mlir::FloatAttr>(attribute))
      return real.getValueAsDouble();
    if (auto integer = llvm::dyn_cast_if_present<mlir::IntegerAttr>(attribute))
      return integer.getType().isInteger(1) ? integer.getValue().getZExtValue()
                                            : integer.getValue().getSExtValue();
    ADD_FAILURE() << "a value of the formula is not known";
    return 0;
  }

private:
  void evaluate(mlir::Operation &op) {
    if (auto load = llvm::dyn_cast<mlir::UnrealizedConversionCastOp>(op))
      return read(load);
    if (auto branch = llvm::dyn_cast<mlir::scf::IfOp>(op)) {
      mlir::Block *taken =
          number(branch.getCondition()) != 0 ? branch.thenBlock() : branch.elseBlock();
      run(*taken);
      for (auto [result, value] : llvm::zip(op.getResults(), taken->getTerminator()->getOperands()))
        known[result] = known.lookup(value);
      return;
    }
    if (op.hasTrait<mlir::OpTrait::IsTerminator>())
      return;
    llvm::SmallVector<mlir::Attribute> arguments;
    for (mlir::Value operand : op.getOperands())
      arguments.push_back(known.lookup(operand));
    llvm::SmallVector<mlir::OpFoldResult> folded;
    ASSERT_TRUE(mlir::succeeded(op.fold(arguments, folded)) && folded.size() == op.getNumResults())
        << "does not fold: " << op.getName().getStringRef().str();
    for (auto [result, fold] : llvm::zip(op.getResults(), folded))
      known[result] = llvm::isa<mlir::Attribute>(fold)
                          ? llvm::cast<mlir::Attribute>(fold)
                          : known.lookup(llvm::cast<mlir::Value>(fold));
  }

  void read(mlir::UnrealizedConversionCastOp load) {
    const Tensor &tensor = operands.at(load->getAttrOfType<mlir::IntegerAttr>("operand").getInt());
    ASSERT_EQ(load.getNumOperands(), tensor.shape.size());
    int64_t offset = 0;
    for (auto [dim, index] : llvm::enumerate(load.getOperands())) {
      auto position = static_cast<int64_t>(number(index));
      ASSERT_GE(position, 0) << "of dimension " << dim;
      ASSERT_LT(position, tensor.shape[dim]) << "of dimension " << dim;
      offset = offset * tensor.shape[dim] + position;
    }
    mlir::Type type = load.getResult(0).getType();
    mlir::Builder builder(type.getContext());
    if (llvm::isa<mlir::FloatType>(type))
      known[load.getResult(0)] = builder.getFloatAttr(type, tensor.elements.at(offset));
    else
      known[load.getResult(0)] =
          builder.getIntegerAttr(type, static_cast<int64_t>(tensor.elements.at(offset)));
  }

  llvm::DenseMap<mlir::Value, mlir::Attribute> known;
};

} // namespace nncc::nn
