// All ops of the nn dialect, family by family.
#ifndef NNCC_IR_NNOPS_TD
#define NNCC_IR_NNOPS_TD

include "ir/ops/StructureOps.td"
include "ir/ops/ElementwiseOps.td"
include "ir/ops/ActivationOps.td"
include "ir/ops/ContractionOps.td"
include "ir/ops/WindowOps.td"
include "ir/ops/MovementOps.td"
include "ir/ops/ReductionOps.td"
include "ir/ops/NormOps.td"
include "ir/ops/SequenceOps.td"
include "ir/ops/RandomOps.td"
include "ir/ops/GradientOps.td"

#endif // NNCC_IR_NNOPS_TD
