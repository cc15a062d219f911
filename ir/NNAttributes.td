// Attributes of the nn dialect.
#ifndef NNCC_IR_NNATTRIBUTES_TD
#define NNCC_IR_NNATTRIBUTES_TD

include "ir/NNBase.td"
include "mlir/IR/TensorEncoding.td"

class NN_Attr<string name, string mnem, list<Trait> traits = []> : AttrDef<NN_Dialect, name, traits> {
  let mnemonic = mnem;
}

def NN_PackLoopsAttr : NN_Attr<"PackLoops", "pack"> {
  let summary = "A packed layout as a loop nest over a logical tensor";
  let description = [{
    Triples (dim, extent, step), outermost first. The packed element at loop indices i is the logical element whose index in
    dimension d is the sum of i[l] * step[l] over the loops l with dim[l] == d; outside the logical extents it is zero. So
    splitting, permuting and zero padding are one notion, and runtime/Pack does all of them.

    ```mlir
    // O x I weights as panels of 16 output columns, each panel K-major.
    #nn.pack<[0, 4, 16], [1, 64, 1], [0, 16, 1]>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"int64_t", "dim, extent and step of each loop, flattened">:$loops);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    size_t loopCount() const { return getLoops().size() / 3; }
    int64_t dim(size_t loop) const { return getLoops()[3 * loop]; }
    int64_t extent(size_t loop) const { return getLoops()[3 * loop + 1]; }
    int64_t step(size_t loop) const { return getLoops()[3 * loop + 2]; }
    /// Extents of the packed tensor, outermost first.
    ::llvm::SmallVector<int64_t> packedShape() const;
  }];
}

def NN_EncodingAttr : NN_Attr<"Encoding", "enc",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "What a tensor type says beyond its extents: named dynamic dims and the layout in memory";
  let description = [{
    `dims` holds one expression over named dims per dynamic dimension of the type, in order. `order` lists the logical
    dimensions from the outermost to the innermost in memory; `pack` gives a packed layout instead, for static shapes. With
    neither, the tensor is row-major.

    ```mlir
    tensor<?x1x28x28xf32, #nn.enc<[N]>>
    tensor<?x?x64xf32, #nn.enc<[N, T floordiv 2]>>
    tensor<?x16x28x28xf32, #nn.enc<[N], order = [0, 2, 3, 1]>>   // channels last
    // O x I weights as panels of 16 output columns, each panel K-major.
    tensor<64x64xf32, #nn.enc<[], pack = <[0, 4, 16], [1, 64, 1], [0, 16, 1]>>>
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"::mlir::AffineExpr", "one expression per dynamic dimension">:$dims,
    OptionalArrayRefParameter<"int64_t", "dimensions from the outermost to the innermost in memory">:$order,
    OptionalParameter<"::nncc::nn::PackLoopsAttr", "packed layout">:$pack
  );
  let builders = [AttrBuilder<(ins "::llvm::ArrayRef<::mlir::AffineExpr>":$dims, "::llvm::ArrayRef<int64_t>":$order), [{
    return $_get($_ctxt, dims, order, ::nncc::nn::PackLoopsAttr());
  }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def NN_DimAttr : NN_Attr<"Dim", "dim"> {
  let summary = "A named dim of the model and the range of its values";
  let description = [{
    ```mlir
    module attributes {nn.dims = [#nn.dim<"N", 1, 64>]} {}
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$min, "int64_t":$max);
  let assemblyFormat = "`<` $name `,` $min `,` $max `>`";
  let genVerifyDecl = 1;
}

def NN_InitAttr : NN_Attr<"Init", "init"> {
  let summary = "How a parameter is initialised when no weights are given";
  let description = [{
    `kind` is one of `zeros`, `ones`, `constant` (a = value), `uniform` (a = low, b = high), `normal` (a = mean, b = standard
    deviation). Values follow from the model's seed and the parameter's name alone.

    ```mlir
    nn.parameter @fc1.weight : tensor<64x784xf32> {init = #nn.init<uniform, -0.0357, 0.0357>}
    ```
  }];
  let parameters = (ins StringRefParameter<"kind of initialiser">:$kind, APFloatParameter<"first number, 0 when unused">:$a,
                        APFloatParameter<"second number, 0 when unused">:$b);
  let builders = [AttrBuilder<(ins "::llvm::StringRef":$kind, CArg<"double", "0.0">:$a, CArg<"double", "0.0">:$b), [{
    return $_get($_ctxt, kind, ::llvm::APFloat(a), ::llvm::APFloat(b));
  }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // NNCC_IR_NNATTRIBUTES_TD
