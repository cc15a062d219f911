// The gradient rules of the nn ops: one file per family of ops, attached as DifferentiableOpInterface.
#pragma once

#include "ir/NN.h"

namespace nncc::passes {

/// Attaches the rules when the nn dialect is loaded. Every context that differentiates needs them.
void registerGradients(mlir::DialectRegistry &registry);

void attachElementwiseGradients(mlir::MLIRContext &context);
void attachContractionGradients(mlir::MLIRContext &context);
void attachReductionGradients(mlir::MLIRContext &context);
void attachMovementGradients(mlir::MLIRContext &context);
void attachNormGradients(mlir::MLIRContext &context);
void attachResamplingGradients(mlir::MLIRContext &context);
void attachSequenceGradients(mlir::MLIRContext &context);
void attachWindowGradients(mlir::MLIRContext &context);

} // namespace nncc::passes
