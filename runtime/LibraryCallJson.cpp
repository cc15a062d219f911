// See LibraryCallJson.h.

#include "runtime/LibraryCallJson.h"

namespace nncc::rt {
namespace {

constexpr LibraryActivation kActivations[] = {LibraryActivation::None, LibraryActivation::Relu,
                                              LibraryActivation::GeluTanh};

constexpr std::string_view nameOf(LibraryActivation activation) {
  switch (activation) {
  case LibraryActivation::None:
    return "none";
  case LibraryActivation::Relu:
    return "relu";
  case LibraryActivation::GeluTanh:
    return "gelu_tanh";
  }
  return "?";
}

constexpr ConvolutionPass kPasses[] = {ConvolutionPass::Output, ConvolutionPass::DataGradient,
                                       ConvolutionPass::WeightGradient};

constexpr std::string_view nameOf(ConvolutionPass pass) {
  switch (pass) {
  case ConvolutionPass::Output:
    return "conv2d";
  case ConvolutionPass::DataGradient:
    return "conv2d_data_gradient";
  case ConvolutionPass::WeightGradient:
    return "conv2d_weight_gradient";
  }
  return "?";
}

constexpr std::string_view kProduct = "matmul";

/// The optional operands of a call, by the names that they have in the document.
template <class Call, class Visit> void forEachOperand(Call &call, Visit visit) {
  visit("x", call.x);
  visit("w", call.w);
  visit("bias", call.bias);
  visit("residual", call.residual);
  visit("gate", call.gate);
}

/// What is written only where it holds.
template <class Call, class Visit> void forEachFlag(Call &call, Visit visit) {
  visit("tf32", call.mayRoundToTf32);
  visit("transposed", call.transposed);
  visit("transposedX", call.transposedX);
  visit("replacesParts", call.replacesParts);
}

} // namespace

Json writeLibraryCall(const LibraryCall &call, const std::vector<std::string> &dimNames) {
  bool isProduct = std::holds_alternative<MatrixProduct<SizeExpr>>(call.operation);
  Json item = {{"computes", isProduct ? kProduct : nameOf(call.pass)},
               {"dtype", nncc::nameOf(call.dtype)}};
  convertCall<SizeExpr>(call, [&](const char *name, const SizeExpr &number) {
    item[name] = writeSizeExpr(number, dimNames);
    return number;
  });
  forEachOperand(call, [&](const char *name, int32_t operand) {
    if (operand >= 0)
      item[name] = operand;
  });
  if (call.activation != LibraryActivation::None)
    item["activation"] = nameOf(call.activation);
  forEachFlag(call, [&](const char *name, bool isSet) {
    if (isSet)
      item[name] = true;
  });
  return item;
}

LibraryCall readLibraryCall(JsonReader &reader, const JsonReader::Node &node) {
  LibraryCall call;
  std::string computes = reader.readString(node, "computes");
  if (computes != kProduct) {
    call.operation = Convolution<SizeExpr>();
    for (ConvolutionPass pass : kPasses)
      if (nameOf(pass) == computes)
        call.pass = pass;
    if (nameOf(call.pass) != computes)
      reader.fail(node, "expected \"matmul\", \"conv2d\" or one of its gradients, found \"" +
                            computes + "\"");
  }
  call = convertCall<SizeExpr>(call, [&](const char *name, const SizeExpr &) {
    return reader.toExpr(reader.child(node, name));
  });
  call.dtype = reader.readDType(node);
  forEachOperand(call, [&](const char *name, int32_t &operand) {
    if (reader.has(node, name))
      operand = static_cast<int32_t>(reader.toIndex(reader.child(node, name)));
  });
  if (reader.has(node, "activation")) {
    std::string name = reader.readString(node, "activation");
    for (LibraryActivation activation : kActivations)
      if (nameOf(activation) == name)
        call.activation = activation;
    if (nameOf(call.activation) != name)
      reader.fail(node, "unknown activation \"" + name + "\"");
  }
  forEachFlag(call, [&](const char *name, bool &isSet) { isSet = reader.has(node, name); });
  return call;
}

} // namespace nncc::rt
