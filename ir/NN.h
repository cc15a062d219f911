// The nn dialect for C++: include this to build, match or rewrite nn ops.
#pragma once

#include "ir/Movement.h"
#include "ir/Shape.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "ir/NNDialect.h.inc"

#include "ir/NNEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/NNAttributes.h.inc"

#include "ir/NNInterfaces.h.inc"

#define GET_OP_CLASSES
#include "ir/NNOps.h.inc"
