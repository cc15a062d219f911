// Registration of the gradient rules; see Gradients.h.

#include "passes/gradients/Gradients.h"

using namespace mlir;
using namespace nncc;

void passes::registerGradients(DialectRegistry &registry) {
  registry.insert<nn::NNDialect>();
  registry.addExtension(+[](MLIRContext *context, nn::NNDialect *) {
    attachElementwiseGradients(*context);
    attachContractionGradients(*context);
    attachReductionGradients(*context);
    attachMovementGradients(*context);
    attachNormGradients(*context);
    attachResamplingGradients(*context);
    attachSequenceGradients(*context);
    attachWindowGradients(*context);
  });
}
