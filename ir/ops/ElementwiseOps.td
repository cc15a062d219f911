// Elementwise ops: arithmetic, mathematical functions, comparison, logic, selection and conversion. Activations stand in
// ActivationOps.td. Each op states its scalar formula once, in C++, as arith and math ops.
#ifndef NNCC_IR_OPS_ELEMENTWISEOPS_TD
#define NNCC_IR_OPS_ELEMENTWISEOPS_TD

include "ir/NNBase.td"
include "ir/NNInterfaces.td"

class NN_ElementwiseOp<string mnemonic, list<Trait> traits = []>
    : NN_InferredOp<mnemonic, traits # [DeclareOpInterfaceMethods<NN_ElementwiseOpInterface>]>;

// Result types of an elementwise op by one of the helpers of InferenceHelpers.h.
class NN_InferWith<string helper> {
  code definition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *, ::std::optional<::mlir::Location> loc, ::mlir::ValueRange operands,
        ::mlir::DictionaryAttr, ::mlir::OpaqueProperties, ::mlir::RegionRange,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::nncc::nn::}] # helper # [{(loc, operands, types);
    }
  }];
}

class NN_UnaryOp<string mnemonic, Type type = NN_FloatTensor, dag attributes = (ins), bit folds = 0>
    : NN_ElementwiseOp<mnemonic> {
  let arguments = !con((ins type:$x), attributes);
  let results = (outs type:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasFolder = folds;
  let extraClassDefinition = NN_InferWith<"inferSameType">.definition;
}

class NN_BinaryOp<string mnemonic, Type type = NN_Tensor, list<Trait> traits = [], bit folds = 0,
                  dag attributes = (ins)> : NN_ElementwiseOp<mnemonic, traits> {
  let arguments = !con((ins type:$lhs, type:$rhs), attributes);
  let results = (outs type:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let hasFolder = folds;
  let extraClassDefinition = NN_InferWith<"inferBroadcastType">.definition;
}

class NN_CompareOp<string mnemonic, list<Trait> traits = []> : NN_BinaryOp<mnemonic, NN_Tensor, traits> {
  let results = (outs NN_BoolTensor:$result);
  let extraClassDefinition = NN_InferWith<"inferComparisonType">.definition;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

def NN_AddOp : NN_BinaryOp<"add", NN_Tensor, [Commutative], 1> {
  let summary = "lhs + rhs, with broadcasting";
  let description = [{
    Integers wrap around, as in all integer arithmetic here.

    ```mlir
    %y = nn.add %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
    `broadcast_c1`: operands have one element type.
    `broadcast_c2`: aligned at the last dimension, extents are equal or one of them is 1.
  }];
}

def NN_SubOp : NN_BinaryOp<"sub", NN_Tensor, [], 1> {
  let summary = "lhs - rhs, with broadcasting";
  let description = [{
    ```mlir
    %y = nn.sub %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
    Constraints: `broadcast_c1`, `broadcast_c2`.
  }];
}

def NN_MulOp : NN_BinaryOp<"mul", NN_Tensor, [Commutative], 1> {
  let summary = "lhs * rhs, with broadcasting";
  let description = [{
    ```mlir
    %y = nn.mul %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
    Constraints: `broadcast_c1`, `broadcast_c2`.
  }];
}

def NN_DivOp : NN_BinaryOp<"div", NN_Tensor, [], 1> {
  let summary = "lhs / rhs, with broadcasting";
  let description = [{
    The quotient of integers is rounded towards zero; a zero divisor gives 0.

    ```mlir
    %y = nn.div %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
    Constraints: `broadcast_c1`, `broadcast_c2`.
  }];
}

def NN_ModOp : NN_BinaryOp<"mod", NN_Tensor, [], 0, (ins UnitAttr:$truncate)> {
  let summary = "Remainder of lhs / rhs, with broadcasting";
  let description = [{
    lhs - rhs * floor(lhs / rhs), which has the sign of rhs, as torch.remainder; with `truncate` the quotient is rounded
    towards zero and the remainder has the sign of lhs, as C's fmod. A zero divisor gives NaN, or 0 for integers.

    ```mlir
    %y = nn.mod %a, %b : (tensor<4x8xi32>, tensor<8xi32>) -> tensor<4x8xi32>
    ```
    Constraints: `broadcast_c1`, `broadcast_c2`.
  }];
}

def NN_PowOp : NN_BinaryOp<"pow", NN_FloatTensor> {
  let summary = "lhs to the power of rhs, with broadcasting";
  let description = [{
    ```mlir
    %y = nn.pow %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
    Constraints: `broadcast_c1`, `broadcast_c2`.
  }];
  let hasCanonicalizer = 1;
}

def NN_MinOp : NN_BinaryOp<"min", NN_Tensor, [Commutative], 1> {
  let summary = "The smaller operand, with broadcasting; NaN if either is NaN";
  let description = [{
    ```mlir
    %y = nn.min %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
    Constraints: `broadcast_c1`, `broadcast_c2`.
  }];
}

def NN_MaxOp : NN_BinaryOp<"max", NN_Tensor, [Commutative], 1> {
  let summary = "The larger operand, with broadcasting; NaN if either is NaN";
  let description = [{
    ```mlir
    %y = nn.max %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
    Constraints: `broadcast_c1`, `broadcast_c2`.
  }];
}

//===----------------------------------------------------------------------===//
// Functions of one argument
//===----------------------------------------------------------------------===//

class NN_FunctionOp<string mnemonic, string text, Type type = NN_FloatTensor, bit folds = 0>
    : NN_UnaryOp<mnemonic, type, (ins), folds> {
  let summary = text;
  let description = "```mlir\n%y = nn." # mnemonic # " %x : tensor<4x8xf32>\n```";
}

def NN_NegOp : NN_FunctionOp<"neg", "-x", NN_Tensor, 1>;
def NN_AbsOp : NN_FunctionOp<"abs", "The magnitude of x", NN_Tensor, 1>;
def NN_SignOp : NN_FunctionOp<"sign", "-1, 0 or 1 by the sign of x; 0 for NaN", NN_Tensor, 1>;
def NN_SquareOp : NN_FunctionOp<"square", "x * x", NN_Tensor>;
def NN_SqrtOp : NN_FunctionOp<"sqrt", "Square root; NaN below zero">;
def NN_RsqrtOp : NN_FunctionOp<"rsqrt", "1 / sqrt(x)">;
def NN_ReciprocalOp : NN_FunctionOp<"reciprocal", "1 / x">;
def NN_ExpOp : NN_FunctionOp<"exp", "e to the power of x">;
def NN_Expm1Op : NN_FunctionOp<"expm1", "exp(x) - 1, exact near zero">;
def NN_LogOp : NN_FunctionOp<"log", "Natural logarithm">;
def NN_Log1pOp : NN_FunctionOp<"log1p", "log(1 + x), exact near zero">;
def NN_FloorOp : NN_FunctionOp<"floor", "The largest integer not above x", NN_FloatTensor, 1>;
def NN_CeilOp : NN_FunctionOp<"ceil", "The smallest integer not below x", NN_FloatTensor, 1>;
def NN_RoundOp : NN_FunctionOp<"round", "The nearest integer, halves to the even one", NN_FloatTensor, 1>;
def NN_SinOp : NN_FunctionOp<"sin", "Sine of x in radians">;
def NN_CosOp : NN_FunctionOp<"cos", "Cosine of x in radians">;
def NN_TanOp : NN_FunctionOp<"tan", "Tangent of x in radians">;
def NN_ErfOp : NN_FunctionOp<"erf", "The Gauss error function">;

//===----------------------------------------------------------------------===//
// Comparison, logic and selection
//===----------------------------------------------------------------------===//

def NN_EqualOp : NN_CompareOp<"equal", [Commutative]> {
  let summary = "lhs == rhs, with broadcasting; false for NaN";
  let description = [{
    ```mlir
    %y = nn.equal %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xi1>
    ```
    Constraints: `broadcast_c1`, `broadcast_c2`.
  }];
}

def NN_NotEqualOp : NN_CompareOp<"not_equal", [Commutative]> {
  let summary = "lhs != rhs, with broadcasting; true for NaN";
  let description = [{
    ```mlir
    %y = nn.not_equal %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xi1>
    ```
    Constraints: `broadcast_c1`, `broadcast_c2`.
  }];
}

def NN_LessOp : NN_CompareOp<"less"> {
  let summary = "lhs < rhs, with broadcasting; false for NaN";
  let description = [{
    ```mlir
    %y = nn.less %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xi1>
    ```
    Constraints: `broadcast_c1`, `broadcast_c2`.
  }];
}

def NN_LessEqualOp : NN_CompareOp<"less_equal"> {
  let summary = "lhs <= rhs, with broadcasting; false for NaN";
  let description = [{
    ```mlir
    %y = nn.less_equal %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xi1>
    ```
    Constraints: `broadcast_c1`, `broadcast_c2`.
  }];
}

def NN_GreaterOp : NN_CompareOp<"greater"> {
  let summary = "lhs > rhs, with broadcasting; false for NaN";
  let description = [{
    ```mlir
    %y = nn.greater %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xi1>
    ```
    Constraints: `broadcast_c1`, `broadcast_c2`.
  }];
}

def NN_GreaterEqualOp : NN_CompareOp<"greater_equal"> {
  let summary = "lhs >= rhs, with broadcasting; false for NaN";
  let description = [{
    ```mlir
    %y = nn.greater_equal %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xi1>
    ```
    Constraints: `broadcast_c1`, `broadcast_c2`.
  }];
}

def NN_AndOp : NN_BinaryOp<"and", NN_IntegerTensor, [Commutative]> {
  let summary = "Logical and of bools, bitwise and of integers, with broadcasting";
  let description = [{
    ```mlir
    %y = nn.and %a, %b : (tensor<4x8xi1>, tensor<8xi1>) -> tensor<4x8xi1>
    ```
    Constraints: `broadcast_c1`, `broadcast_c2`.
  }];
}

def NN_OrOp : NN_BinaryOp<"or", NN_IntegerTensor, [Commutative]> {
  let summary = "Logical or of bools, bitwise or of integers, with broadcasting";
  let description = [{
    ```mlir
    %y = nn.or %a, %b : (tensor<4x8xi1>, tensor<8xi1>) -> tensor<4x8xi1>
    ```
    Constraints: `broadcast_c1`, `broadcast_c2`.
  }];
}

def NN_XorOp : NN_BinaryOp<"xor", NN_IntegerTensor, [Commutative]> {
  let summary = "Logical exclusive or of bools, bitwise exclusive or of integers, with broadcasting";
  let description = [{
    ```mlir
    %y = nn.xor %a, %b : (tensor<4x8xi1>, tensor<8xi1>) -> tensor<4x8xi1>
    ```
    Constraints: `broadcast_c1`, `broadcast_c2`.
  }];
}

def NN_NotOp : NN_UnaryOp<"not", NN_IntegerTensor, (ins), 1> {
  let summary = "Logical not of a bool, bitwise complement of an integer";
  let description = [{
    ```mlir
    %y = nn.not %x : tensor<4x8xi1>
    ```
  }];
}

def NN_WhereOp : NN_ElementwiseOp<"where"> {
  let summary = "`on_true` where the condition holds, `on_false` elsewhere, with broadcasting of all three";
  let description = [{
    ```mlir
    %y = nn.where %c, %a, %b : (tensor<4x8xi1>, tensor<8xf32>, tensor<1xf32>) -> tensor<4x8xf32>
    ```
    `where_c1`: `on_true` and `on_false` have one element type.
    `where_c2`: the three shapes broadcast.
  }];
  let arguments = (ins NN_BoolTensor:$condition, NN_Tensor:$on_true, NN_Tensor:$on_false);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$condition `,` $on_true `,` $on_false attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

def NN_CastOp : NN_ElementwiseOp<"cast"> {
  let summary = "Conversion to another element type";
  let description = [{
    Float to integer truncates towards zero and saturates at the ends of the integer type; NaN gives 0. Integer to integer
    keeps the low bits. Anything to bool is x != 0; a bool is 0 or 1. Floats are rounded to nearest, ties to even; f16 and
    bf16 are made from f32, to which wider types are rounded first, as in PyTorch.

    ```mlir
    %y = nn.cast %x {to = i32} : tensor<4x8xf32> -> tensor<4x8xi32>
    ```
    `cast_c1`: `to` is an element type of nncc.
  }];
  let arguments = (ins NN_Tensor:$x, TypeAttr:$to);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasFolder = 1;
}

#endif // NNCC_IR_OPS_ELEMENTWISEOPS_TD
