// Reads the body of a contraction kernel as calls of libraries: what matrix products and convolutions have in common. For
// Alternatives.cpp and ConvAlternatives.cpp alone.
#pragma once

#include "codegen/cuda/Alternatives.h"

#include "codegen/ConvGeometry.h"

namespace nncc::codegen::cuda {

/// The number of an argument of the kernel, or nothing for any other value.
inline std::optional<int32_t> operandOf(mlir::Value value) {
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
  return argument ? std::optional<int32_t>(argument.getArgNumber()) : std::nullopt;
}

class CallReader {
public:
  CallReader(nn::KernelOp kernel, const nn::AnchoredBody &body, const CudaOptions &options)
      : kernel(kernel), body(body), options(options), context(kernel.getContext()) {}

  std::vector<LibraryCall> readMatmul(nn::MatmulOp matmul);
  std::vector<LibraryCall> readConv(nn::ConvOp conv);
  std::vector<LibraryCall> readWeightGradient(nn::ConvWeightGradientOp gradient);

private:
  nn::Dim number(int64_t value) const { return nn::constantDim(context, value); }
  /// What all calls of the kernel share. False when something of the kernel has no place in a call.
  bool readFrame(mlir::Value x, mlir::Value w, mlir::Value bias, mlir::RankedTensorType space, unsigned channelDim);
  bool readTail(mlir::Value bias, mlir::RankedTensorType space, unsigned channelDim);
  bool isOfCallType(mlir::Value value) const;
  static std::optional<nn::Access> accessOf(mlir::Value value, mlir::RankedTensorType space,
                                            unsigned channelDim);
  static bool isWhole(mlir::Value value, mlir::RankedTensorType space, unsigned channelDim) {
    return accessOf(value, space, channelDim) == nn::Access::Full;
  }
  /// What stands behind a library's function writes its result as one run of elements.
  bool isResultOneRun(const rt::MatrixProduct<nn::Dim> &product) const {
    return product.yOffset == number(0) && product.yRow == product.columns &&
           (nn::constantOf(product.products) == 1 ||
            product.yProduct == product.rows * product.columns);
  }
  bool isDenseChannelsLast(const nn::StridedView &view, const nn::Shape &shape) const;
  std::optional<rt::MatrixProduct<nn::Dim>> asProduct(const ConvGeometry &geometry,
                                                      int64_t panelWidth);
  std::optional<rt::MatrixProduct<nn::Dim>> weightGradientAsProduct(const ConvGeometry &geometry,
                                                                    const nn::StridedView &g);
  /// All but the place of the weight; nothing for what a library's convolution is not.
  std::optional<rt::Convolution<nn::Dim>> windowsOf(const ConvGeometry &geometry) const;
  std::optional<rt::Convolution<nn::Dim>> asConvolution(const ConvGeometry &geometry,
                                                        const nn::PackLoopsAttr &pack);
  std::optional<rt::Convolution<nn::Dim>> asStridedDataGradient(const ConvGeometry &geometry,
                                                                const nn::PackLoopsAttr &pack);
  static std::optional<rt::Convolution<nn::Dim>>
  asDataGradient(const ConvGeometry &geometry, const rt::Convolution<nn::Dim> &convolution);

  nn::KernelOp kernel;
  const nn::AnchoredBody &body;
  const CudaOptions &options;
  mlir::MLIRContext *context;
  LibraryCall frame;
  nn::StridedView x, y;
};

} // namespace nncc::codegen::cuda
