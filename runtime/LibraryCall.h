// What a CUDA kernel computes, where NVIDIA's libraries have a function that computes the same: a
// matrix product (cuBLASLt) or a convolution (cuDNN), with what may follow it in the same call.
// codegen/cuda fills it with dimensions of the compiler, the Program carries it with size
// expressions, a run evaluates it: one struct for all three, whose `Number` differs.
#pragma once

#include "support/DType.h"

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace nncc::rt {

/// y[p][i][j] = sum over k of x[p][i][k] * w[p][k][j], all in elements: element [p][i][k] of x lies
/// at xOffset + p * xProduct + i * xRow + k, with `transposedX` with i and k exchanged; y as the
/// former; w with `transposed` at wOffset + p * wProduct + j * wRow + k, else with k and j
/// exchanged. A residual is dense.
template <class Number> struct MatrixProduct {
  Number products{}, rows{}, columns{}, depth{};
  Number xOffset{}, xProduct{}, xRow{};
  Number wOffset{}, wProduct{}, wRow{};
  Number yOffset{}, yProduct{}, yRow{};

  /// Every number and its name; `visit` is called with the name and a member of each of `all`.
  template <class Visit, class... Same> static void forEach(Visit visit, Same &...all) {
    visit("products", all.products...), visit("rows", all.rows...),
        visit("columns", all.columns...), visit("depth", all.depth...);
    visit("xOffset", all.xOffset...), visit("xProduct", all.xProduct...),
        visit("xRow", all.xRow...);
    visit("wOffset", all.wOffset...), visit("wProduct", all.wProduct...),
        visit("wRow", all.wRow...);
    visit("yOffset", all.yOffset...), visit("yProduct", all.yProduct...),
        visit("yRow", all.yRow...);
  }
};

/// A convolution in two spatial dimensions on dense channels-last tensors, with the same padding
/// before and behind, or one of its gradients. The weight from input channel c of group g to output
/// channel o of the group, at position t of the kernel, lies at wOffset + g * wGroup + o * wOutput +
/// t * wTap + c * wChannel.
template <class Number> struct Convolution {
  Number batch{}, channels{}, outputs{}, groups{};
  Number wOffset{}, wGroup{}, wOutput{}, wTap{}, wChannel{};
  Number inHeight{}, inWidth{}, outHeight{}, outWidth{};
  Number kernelHeight{}, kernelWidth{}, strideHeight{}, strideWidth{}, dilationHeight{},
      dilationWidth{}, padHeight{}, padWidth{};

  template <class Visit, class... Same> static void forEach(Visit visit, Same &...all) {
    visit("batch", all.batch...), visit("channels", all.channels...),
        visit("outputs", all.outputs...), visit("groups", all.groups...);
    visit("wOffset", all.wOffset...), visit("wGroup", all.wGroup...),
        visit("wOutput", all.wOutput...), visit("wTap", all.wTap...),
        visit("wChannel", all.wChannel...);
    visit("inHeight", all.inHeight...), visit("inWidth", all.inWidth...);
    visit("outHeight", all.outHeight...), visit("outWidth", all.outWidth...);
    visit("kernelHeight", all.kernelHeight...), visit("kernelWidth", all.kernelWidth...);
    visit("strideHeight", all.strideHeight...), visit("strideWidth", all.strideWidth...);
    visit("dilationHeight", all.dilationHeight...), visit("dilationWidth", all.dilationWidth...);
    visit("padHeight", all.padHeight...), visit("padWidth", all.padWidth...);
  }
};

/// What of a convolution a call computes.
enum class ConvolutionPass : uint8_t {
  Output,
  /// The gradient of the input, from that of the output and the weight. The kernel that does it is a
  /// convolution with the mirrored weight, so position t of the kernel lies where the last but t
  /// would. With a stride it makes as many positions as the output has, each with those next to each
  /// other that the stride leaves out, [group][residue][channel], and its weight is made so, too
  /// (passes/LowerConvTranspose.cpp, runtime/cuda/ResidueOrder.h).
  DataGradient,
  WeightGradient, ///< from the input and the gradient of the output
};

/// What a call does after the sum, in this order: bias, residual, activation, gate.
enum class LibraryActivation : uint8_t { None, Relu, GeluTanh };

/// Whether the libraries multiply tensors of this type and leave the same type. Integers they only
/// add up into wider ones.
constexpr bool isCallType(DType type) {
  return type == DType::F32 || type == DType::F16 || type == DType::BF16 || type == DType::F64;
}

/// One function of a library that does the work of a kernel.
template <class Number> struct LibraryCallOf {
  std::variant<MatrixProduct<Number>, Convolution<Number>> operation;
  DType dtype = DType::F32;    ///< of all tensors; sums are f32, of f64 operands f64
  bool mayRoundToTf32 = false; ///< f32 operands
  bool transposed = false;     ///< a matrix product's w
  bool transposedX = false;    ///< a matrix product's x
  ConvolutionPass pass = ConvolutionPass::Output; ///< of a convolution
  /// Arguments of the step, by number: the operands. -1: there is none. The result is the step's
  /// one result. x is a data gradient's output gradient, w a weight gradient's.
  int32_t x = -1, w = -1, bias = -1, residual = -1;
  /// Where this one is not positive the result is 0: the gradient of a relu. It and the result are
  /// dense. No library has that, so a kernel of the runtime's does it behind the library's function.
  int32_t gate = -1;
  LibraryActivation activation = LibraryActivation::None;
  /// The kernel adds up parts that the step before left in a workspace; the call does the work of
  /// both.
  bool replacesParts = false;
};

/// The same call with every number converted; `convert` takes the name and the number, and may note
/// that it cannot.
template <class To, class From, class Convert>
LibraryCallOf<To> convertCall(const LibraryCallOf<From> &from, Convert convert) {
  LibraryCallOf<To> to;
  auto operate = [&](const auto &operation, auto target) {
    auto take = [&](const char *name, const From &number, To &place) {
      place = convert(name, number);
    };
    decltype(target)::forEach(take, operation, target);
    to.operation = std::move(target);
  };
  if (const auto *product = std::get_if<MatrixProduct<From>>(&from.operation))
    operate(*product, MatrixProduct<To>());
  else
    operate(std::get<Convolution<From>>(from.operation), Convolution<To>());
  to.dtype = from.dtype;
  to.mayRoundToTf32 = from.mayRoundToTf32;
  to.transposed = from.transposed;
  to.transposedX = from.transposedX;
  to.pass = from.pass;
  to.x = from.x;
  to.w = from.w;
  to.bias = from.bias;
  to.residual = from.residual;
  to.gate = from.gate;
  to.activation = from.activation;
  to.replacesParts = from.replacesParts;
  return to;
}

} // namespace nncc::rt
