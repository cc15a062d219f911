// The nn dialect and what its ops have in common. The ops stand by family in ir/ops.
#ifndef NNCC_IR_NNBASE_TD
#define NNCC_IR_NNBASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def NN_Dialect : Dialect {
  let name = "nn";
  let cppNamespace = "::nncc::nn";
  let summary = "Neural-network operations on tensors, from the source model down to fused kernels";
  let description = [{
    Values are builtin ranked tensors. Their logical shape follows PyTorch's order (N, C, spatial...). The tensor's encoding
    (`#nn.enc`) names dynamic dimensions and says in which order the dimensions lie in memory.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    /// Module attribute: an array of #nn.dim, one per named dim, in the order of the run-time dims array.
    static constexpr ::llvm::StringLiteral kDimsAttr = "nn.dims";
    /// Argument and result attribute of an entry point: the public name of an input or output.
    static constexpr ::llvm::StringLiteral kNameAttr = "nn.name";
    /// Argument attribute of an entry point: [least, greatest] value of an integer input, and a third value that is allowed too.
    static constexpr ::llvm::StringLiteral kRangeAttr = "nn.range";
    /// Argument and result attribute of an entry point: the nn.state or nn.parameter that is read and that gets its next value.
    static constexpr ::llvm::StringLiteral kStateAttr = "nn.state";
    /// Module attribute: a dictionary of what a train section says besides the loss (passes/TrainingSpec.h).
    static constexpr ::llvm::StringLiteral kTrainAttr = "nn.train";
  }];
}

// A tensor of the element types that nncc computes with.
def NN_Element : AnyTypeOf<[F32, F16, BF16, F64, I<8>, UI<8>, I<32>, I<64>, I<1>]>;
def NN_Tensor : RankedTensorOf<[F32, F16, BF16, F64, I<8>, UI<8>, I<32>, I<64>, I<1>]>;
def NN_FloatTensor : RankedTensorOf<[F32, F16, BF16, F64]>;
def NN_IndexTensor : RankedTensorOf<[I<32>, I<64>]>;
def NN_BoolTensor : RankedTensorOf<[I<1>]>;
def NN_IntegerTensor : RankedTensorOf<[I<8>, UI<8>, I<32>, I<64>, I<1>]>;

class NN_Op<string mnemonic, list<Trait> traits = []> : Op<NN_Dialect, mnemonic, traits>;

// An op whose result types follow from its operands and attributes. Inference leaves the memory order open: a result keeps
// the order that AssignLayouts gave it, so only the logical types are compared.
class NN_InferredOp<string mnemonic, list<Trait> traits = []>
    : NN_Op<mnemonic, traits # [Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  code inferredOpDeclarations = [{
    static bool isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange actual) {
      return ::nncc::nn::sameLogicalTypes(inferred, actual);
    }
  }];
  let extraClassDeclaration = inferredOpDeclarations;
}

#endif // NNCC_IR_NNBASE_TD
