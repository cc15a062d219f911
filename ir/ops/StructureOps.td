// Ops that give a model its structure: parameters, constants, kernels, and the borders between layouts.
#ifndef NNCC_IR_OPS_STRUCTUREOPS_TD
#define NNCC_IR_OPS_STRUCTUREOPS_TD

include "ir/NNAttributes.td"
include "ir/NNInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/IR/OpAsmInterface.td"

def NN_ParameterOp : NN_Op<"parameter", [Symbol]> {
  let summary = "A weight of the model, in its public name, shape and layout";
  let description = [{
    The symbol is the name in the state_dict and in the safetensors file. `value`, when present, holds the weights;
    otherwise `init` says how they start.

    ```mlir
    nn.parameter @block1.conv.weight : tensor<16x1x3x3xf32> {init = #nn.init<uniform, -0.3, 0.3>}
    ```
    `parameter_c1`: the shape is static and row-major.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<NN_Tensor>:$type, OptionalAttr<NN_InitAttr>:$init,
                       OptionalAttr<ElementsAttr>:$value);
  let assemblyFormat = "$sym_name `:` $type (`=` $value^)? attr-dict";
  let hasVerifier = 1;
}

def NN_GetParameterOp : NN_Op<"get_parameter",
    [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "The value of a parameter";
  let description = [{
    ```mlir
    %w = nn.get_parameter @fc1.weight : tensor<64x784xf32>
    ```
    `get_parameter_c1`: the symbol names an nn.parameter of the result's type.
  }];
  let arguments = (ins FlatSymbolRefAttr:$name);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
}

def NN_StateOp : NN_Op<"state", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Memory that training keeps from one step to the next";
  let description = [{
    An entry point reads it as an argument and leaves its next value as a result, both marked `nn.state = "name"`; the same holds for
    a parameter that training changes by itself, such as a running mean. Before the first step every element is `init`.

    With `parts` it holds these parameters one behind the other, so that one kernel updates all of them: while training it is their
    memory. With `like` it has one element for each element of such a state: a momentum, a mean of squares.

    ```mlir
    nn.state @parameters : tensor<12xf32> {parts = [@fc1.weight, @fc1.bias]}
    nn.state @momentum : tensor<12xf32> {like = @parameters}
    nn.state @step : tensor<i64>
    ```
    `state_c1`: the shape is static and row-major.
    `state_c2`: parts are nn.parameters of the state's element type, which it holds tightly, one behind the other.
    `state_c3`: like names an nn.state with parts and as many elements.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<NN_Tensor>:$type, DefaultValuedAttr<F64Attr, "0.0">:$init,
                       OptionalAttr<FlatSymbolRefArrayAttr>:$parts, OptionalAttr<FlatSymbolRefAttr>:$like);
  let assemblyFormat = "$sym_name `:` $type attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() { return ::llvm::cast<::mlir::RankedTensorType>(getType()); }
  }];
}

def NN_ConstantOp : NN_Op<"constant", [Pure, ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "A constant tensor";
  let description = [{
    ```mlir
    %c = nn.constant dense<0.5> : tensor<1xf32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$value attr-dict";
  let hasFolder = 1;
}

def NN_KernelOp : NN_Op<"kernel", [Pure, IsolatedFromAbove, SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "Ops that run as one kernel: the unit of fusion and of code generation";
  let description = [{
    The body has one anchor (conv, matmul, window, reduction, normalisation, recurrence, movement, or a pure elementwise
    chain) with what was fused before and after it. Values inside have no buffer: they live in registers or in the
    kernel's scratch memory.

    ```mlir
    %y = nn.kernel "relu" (%a = %x : tensor<4x8xf32>) -> tensor<4x8xf32> {
      %0 = nn.relu %a : tensor<4x8xf32>
      nn.yield %0 : tensor<4x8xf32>
    }
    ```
    `in_place`, when present, is the number of the operand whose memory the one result overwrites; PlanBuffers sets it.

    `kernel_c1`: block arguments have the operands' types, and the terminator yields the result types.
    `kernel_c2`: in_place is the number of an operand, and there is one result.
  }];
  let arguments = (ins StrAttr:$kernel_name, Variadic<NN_Tensor>:$inputs, OptionalAttr<I64Attr>:$in_place);
  let results = (outs Variadic<NN_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    ::mlir::Operation *getTerminator() { return getBlock().getTerminator(); }
  }];
}

def NN_InsertOp : NN_Op<"insert", [Pure]> {
  let summary = "A tensor as a slice of a larger one that other kernels fill too";
  let description = [{
    Indices offset, offset + 1, ... along dimension `axis` of the result hold x; what lies outside is that of `dest`, or is
    undefined without one. It ends a kernel and moves nothing: it says at which place of the result's memory the kernel writes,
    and that memory is dest's. PlaceConcats makes a concatenation of such kernels.

    ```mlir
    %y = nn.kernel "relu" (%a = %x : tensor<4x8xf32>, %d = %dest : tensor<4x24xf32>) -> tensor<4x24xf32> attributes {in_place = 1} {
      %0 = nn.relu %a : tensor<4x8xf32>
      %1 = nn.insert %0 into %d {axis = 1, offset = 16} : (tensor<4x8xf32>, tensor<4x24xf32>) -> tensor<4x24xf32>
      nn.yield %1 : tensor<4x24xf32>
    }
    ```
    `insert_c1`: x and result have one element type, and the same dimensions but for axis.
    `insert_c2`: axis is a static dimension, and x lies within it.
    `insert_c3`: dest has the result's type, and is the operand that the kernel overwrites in place.
    `insert_c4`: the result is yielded by the kernel around it, and not read otherwise.
  }];
  let arguments = (ins NN_Tensor:$x, Optional<NN_Tensor>:$dest, I64Attr:$axis, I64Attr:$offset);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$x (`into` $dest^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def NN_YieldOp : NN_Op<"yield", [Pure, Terminator, HasParent<"KernelOp">, ReturnLike]> {
  let summary = "Ends the body of a kernel";
  let arguments = (ins Variadic<NN_Tensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def NN_ReorderOp : NN_Op<"reorder", [Pure, DeclareOpInterfaceMethods<NN_MovementOpInterface>]> {
  let summary = "The same logical tensor in another layout";
  let description = [{
    ```mlir
    %y = nn.reorder %x : tensor<1x3x8x8xf32> to tensor<1x3x8x8xf32, #nn.enc<[], order = [0, 2, 3, 1]>>
    %p = nn.reorder %w : tensor<64x64xf32>
                      to tensor<64x64xf32, #nn.enc<[], pack = <[0, 4, 16], [1, 64, 1], [0, 16, 1]>>>
    ```
    Into a packed layout it fills what lies outside the logical extents with zeros.
    `reorder_c1`: operand and result have the same logical type.
  }];
  let arguments = (ins NN_Tensor:$input);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // NNCC_IR_OPS_STRUCTUREOPS_TD
