// Interfaces through which passes and code generators see ops by what they do rather than by name.
#ifndef NNCC_IR_NNINTERFACES_TD
#define NNCC_IR_NNINTERFACES_TD

include "mlir/IR/OpBase.td"

def NN_ElementwiseOpInterface : OpInterface<"ElementwiseOpInterface"> {
  let cppNamespace = "::nncc::nn";
  let description = [{
    Every result element depends on the operand elements of the same index alone, with NumPy broadcasting. The scalar formula
    is stated once, here; every backend, and the reference, builds on it.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the formula from arith and math ops. `operands` are scalars, or vectors of equal length, of the operand tensors'
        element types (i8 and ui8 are signless i8 values); the result has the result tensor's element type. A backend may
        widen f16 and bf16 operands to f32, and then gets an f32 result: the formula computes in the type it is given, so a
        fused chain rounds once, at its end.
      }],
      "::mlir::Value", "buildScalar",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$operands)>
  ];
}

def NN_MovementOpInterface : OpInterface<"MovementOpInterface"> {
  let cppNamespace = "::nncc::nn";
  let description = [{
    Every result element is an operand element at an index that follows from the result's, or, for nn.resize, a weighted mean of
    a few. The map is stated once, here, for all backends; MovementAccess (ir/Movement.h) says how it reaches the tensors.

    Maps are made for the vectoriser: where an element may come from outside (nn.pad) the index is clamped, the load is
    unconditional and arith.select chooses; only nn.concat branches (scf.if), because its operands need not have the element,
    and on a condition that does not vary along the lanes of a vector.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the result element at `access.indices`. When `access.load` gives vectors along the dimensions that laneSource
        names, the result is the vector of the elements from there on.
      }],
      "::mlir::Value", "buildElement", (ins "::nncc::nn::MovementAccess &":$access)>,
    InterfaceMethod<[{
        Where consecutive elements along dimension `resultDim` of the result, at any index, come from in `operand`.
      }],
      "::nncc::nn::LaneSource", "laneSource", (ins "unsigned":$operand, "unsigned":$resultDim)>
  ];
}

def NN_ReductionOpInterface : OpInterface<"ReductionOpInterface"> {
  let cppNamespace = "::nncc::nn";
  let description = [{
    A reduction as a monoid: an element is lifted to a partial result, partial results combine associatively, starting from the
    neutral one, and the last is finished into the result element. A partial result is one value or more, scalars or vectors of
    equal length, that compute in the type given (f32 where the tensor is f16 or bf16). Backends are free in the order of
    combination and in how many partial results they keep.
  }];
  let methods = [
    InterfaceMethod<"The reduced dimensions of the first operand, ascending.",
      "::llvm::SmallVector<int64_t>", "reducedAxes", (ins)>,
    InterfaceMethod<"The neutral partial result for elements of type `element` (scalar or vector).",
      "::llvm::SmallVector<::mlir::Value>", "buildInit",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::Type":$element)>,
    InterfaceMethod<[{
        The partial result of one element. `position` is its number within the reduced elements, in row-major order of the
        reduced dimensions, an i64 (or a vector of them); an op that does not ask for it leaves it unread.
      }],
      "::llvm::SmallVector<::mlir::Value>", "buildLift",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::Value":$element,
           "::mlir::Value":$position)>,
    InterfaceMethod<"True when buildLift reads the position.", "bool", "needsPosition", (ins)>,
    InterfaceMethod<"The partial result of two partial results.",
      "::llvm::SmallVector<::mlir::Value>", "buildCombine",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$a,
           "::mlir::ValueRange":$b)>,
    InterfaceMethod<[{
        The result element. `count` is the number of reduced elements in the type of the elements.
      }],
      "::mlir::Value", "buildFinalize",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$partial,
           "::mlir::Value":$count)>
  ];
}

def NN_DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::nncc::nn";
  let description = [{
    How gradients pass an op from its results to its operands, as nn ops, which are then fused, planned and compiled like any
    others. The rules stand in passes/gradients, attached to the ops from outside; docs/gradients.md lists the ops that have one.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the gradients of the operands from those of the results, at the builder's place, behind the op. A result's gradient
        is null where nothing reads the result; there is at least one that is not. Of the operands those count that `isWanted`
        marks: their entries in `gradients`, which is as long as the operands, get a value of the operand's type, or stay null
        where the gradient is zero everywhere. Failure after an error at the op: this form of it has no rule.
      }],
      "::llvm::LogicalResult", "buildGradients",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$resultGradients, "::llvm::ArrayRef<bool>":$isWanted,
           "::llvm::MutableArrayRef<::mlir::Value>":$gradients)>
  ];
}

#endif // NNCC_IR_NNINTERFACES_TD
