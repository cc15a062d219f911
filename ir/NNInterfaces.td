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

#endif // NNCC_IR_NNINTERFACES_TD
