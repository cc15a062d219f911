// nn.attention without a matrix of scores in memory: a task takes a block of queries past all keys, block by block, with the
// running maximum and sum of the softmax (online softmax) and the unfinished result in scratch memory.
//
// Lanes lie along the queries. So keys and values are read as they lie, one scalar that meets a vector of queries, the statistics
// of the softmax need no exchange between lanes, and a last block of keys is just a shorter loop. Only the queries are turned
// when a task begins, and its result when it ends.

#include "codegen/cpu/ElementAccess.h"
#include "codegen/cpu/EmitKernel.h"
#include "codegen/cpu/VectorLoop.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include <limits>

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

/// Keys of a block: their scores for a task's queries stay in the L1 cache.
static constexpr int64_t kBlockKeys = 64;
/// Scalars that meet a vector of queries at once; with four vectors of queries the sums fill the registers.
static constexpr int64_t kTileRows = 6;

namespace {

using Values = SmallVector<Value>;

class AttentionEmitter {
public:
  AttentionEmitter(KernelBuilder &b, nn::KernelOp kernel)
      : b(b), kernel(kernel), op(cast<nn::AttentionOp>(nn::anchorOf(kernel))),
        q(cast<RankedTensorType>(op.getQ().getType())), k(cast<RankedTensorType>(op.getK().getType())),
        v(cast<RankedTensorType>(op.getV().getType())), rank(q.getRank()) {
    element = wideType(q.getElementType());
    lanes = b.target.lanes(element.getIntOrFloatBitWidth());
    type = VectorType::get({lanes}, element);
    vectors = b.target.vectorRegisters >= 32 ? 4 : 2;
    queries = nn::dimOf(q, rank - 2);
    if (std::optional<int64_t> count = nn::constantOf(queries))
      vectors = std::clamp<int64_t>((*count + lanes - 1) / lanes, 1, vectors);
    block = vectors * lanes;
    depth = q.getDimSize(rank - 1);
    width = v.getDimSize(rank - 1);
  }

  EmittedKernel emit(StringRef symbol) {
    b.beginKernel(symbol);
    operands.emplace(b, kernel);
    queriesAt = 0;
    scoresAt = queriesAt + depth * block;
    sumsAt = scoresAt + kBlockKeys * block;
    largestAt = sumsAt + width * block;
    totalAt = largestAt + block;
    int64_t bytes = (totalAt + block) * (element.getIntOrFloatBitWidth() / 8);

    SmallVector<nn::Dim> dims = llvm::to_vector(ArrayRef<nn::Dim>(nn::shapeOf(q)).drop_back(2));
    dims.push_back(queries.ceilDiv(block));
    SmallVector<Value> extents;
    for (nn::Dim dim : dims)
      extents.push_back(b.dim(dim));
    b.loop(b.beginTask, b.endTask, [&](Value task) {
      batch = b.delinearize(task, extents);
      firstQuery = b.mul(batch.pop_back_val(), b.i64(block));
      emitTask();
    });
    b.endKernel(operands->status());
    MLIRContext *context = b.getContext();
    return {nn::product(dims, context), nn::constantDim(context, bytes)};
  }

private:
  //===--------------------------------------------------------------------===//
  // Scratch memory: arrays of rows of `block` queries
  //===--------------------------------------------------------------------===//

  Value at(int64_t array, Value row, int64_t vector) {
    Value place = b.add(b.i64(array + vector * lanes), b.mul(row, b.i64(block)));
    return b.offset(b.scratch, element, place);
  }
  Value load(int64_t array, Value row, int64_t vector) { return b.loadVector(type, at(array, row, vector)); }
  void store(Value value, int64_t array, Value row, int64_t vector) { b.storeVector(value, at(array, row, vector)); }

  Value splat(double value) { return b.floatConstant(type, value); }
  Value lowest() { return splat(-std::numeric_limits<double>::infinity()); }

  Value larger(Value x, Value y) {
    Value greater = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x, y);
    return arith::SelectOp::create(b, greater, x, y);
  }

  /// sums[r][v] + sum over i < length of scalar(r, i) * array[i][v].
  Values contract(int64_t rows, Value length, int64_t array, ValueRange sums,
                  function_ref<Value(int64_t, Value)> scalar) {
    return b.loopCarried(b.i64(0), length, b.i64(1), sums, [&](Value i, ValueRange carried) {
      Values column;
      for (int64_t vector = 0; vector < vectors; ++vector)
        column.push_back(load(array, i, vector));
      Values next;
      for (int64_t row = 0; row < rows; ++row) {
        Value x = vector::BroadcastOp::create(b, type, scalar(row, i));
        for (Value values : column)
          next.push_back(vector::FMAOp::create(b, x, values, carried[next.size()]));
      }
      return next;
    });
  }

  /// `body(first, rows)` over [0, count) in tiles of kTileRows, then row by row.
  void forTiles(Value count, function_ref<void(Value, int64_t)> body) {
    Value full = b.sub(count, b.rem(count, b.i64(kTileRows)));
    b.loop(b.i64(0), full, b.i64(kTileRows), [&](Value first) { body(first, kTileRows); });
    b.loop(full, count, [&](Value first) { body(first, 1); });
  }

  //===--------------------------------------------------------------------===//
  // Operands
  //===--------------------------------------------------------------------===//

  /// An element of k or v. Each of their heads serves an equal run of q's.
  Value readKeyed(Value tensor, Value key, Value column) {
    auto tensorType = cast<RankedTensorType>(tensor.getType());
    Values index = batch;
    if (rank >= 3) {
      Value heads = b.dim(nn::dimOf(q, rank - 3)), own = b.dim(nn::dimOf(tensorType, rank - 3));
      if (nn::dimOf(q, rank - 3) != nn::dimOf(tensorType, rank - 3))
        index.back() = b.div(index.back(), b.div(heads, own));
    }
    index.append({key, column});
    return ElementReader(*operands).readWide(tensor, index);
  }

  /// What the mask says of one key for a vector of queries; an entry per dimension of the mask.
  Value readMask(Value key, int64_t vector) {
    Value mask = op.getMask();
    auto maskType = cast<RankedTensorType>(mask.getType());
    int64_t lead = rank - maskType.getRank();
    Values full = batch;
    full.append({b.add(firstQuery, b.i64(vector * lanes)), key});
    Values index;
    int laneDim = -1;
    for (int64_t dim = 0; dim < maskType.getRank(); ++dim) {
      bool isBroadcast = maskType.getDimSize(dim) == 1 && nn::constantOf(scoreDim(dim + lead)) != 1;
      index.push_back(isBroadcast ? b.i64(0) : full[dim + lead]);
      if (!isBroadcast && dim + lead == rank - 2)
        laneDim = dim;
    }
    Value valid;
    std::optional<int64_t> count = nn::constantOf(queries);
    if (laneDim >= 0 && !(count && *count % block == 0))
      valid = tailMask(b, b.max(b.sub(b.dim(queries), full[rank - 2]), b.i64(0)), lanes);
    return ElementReader(*operands, lanes, valid).readWide(mask, index, laneDim);
  }

  /// A dimension of the scores.
  nn::Dim scoreDim(int64_t dim) { return nn::dimOf(dim == rank - 1 ? k : q, dim == rank - 1 ? rank - 2 : dim); }

  /// Numbers of the queries in a vector.
  Value queryNumbers(int64_t vector) {
    SmallVector<int64_t> numbers = llvm::to_vector(llvm::seq<int64_t>(vector * lanes, (vector + 1) * lanes));
    auto numberType = VectorType::get({lanes}, b.getI64Type());
    Value steps = arith::ConstantOp::create(b, DenseElementsAttr::get(numberType, ArrayRef<int64_t>(numbers)));
    return arith::AddIOp::create(b, steps, vector::BroadcastOp::create(b, numberType, firstQuery));
  }

  //===--------------------------------------------------------------------===//
  // A task
  //===--------------------------------------------------------------------===//

  void emitTask() {
    Value valid = b.min(b.i64(block), b.sub(b.dim(queries), firstQuery));
    turnQueries(valid);
    Value zero = b.i64(0);
    for (int64_t vector = 0; vector < vectors; ++vector) {
      store(lowest(), largestAt, zero, vector);
      store(splat(0), totalAt, zero, vector);
    }
    b.loop(zero, b.i64(width), [&](Value column) {
      for (int64_t vector = 0; vector < vectors; ++vector)
        store(splat(0), sumsAt, column, vector);
    });
    Value keys = b.dim(nn::dimOf(k, rank - 2));
    // Later keys are hidden from every query of the task.
    if (op.getCausal())
      keys = b.min(keys, b.add(firstQuery, valid));
    b.loop(zero, keys, b.i64(kBlockKeys), [&](Value first) {
      Value count = b.min(b.i64(kBlockKeys), b.sub(keys, first));
      emitScores(first, count);
      emitPowers(count);
      emitSums(first, count);
    });
    storeResult(valid);
  }

  /// Queries behind the last one repeat it; their results are dropped.
  void turnQueries(Value valid) {
    Value last = b.sub(valid, b.i64(1));
    b.loop(b.i64(0), b.i64(block), [&](Value query) {
      b.loop(b.i64(0), b.i64(depth), [&](Value column) {
        Values index = batch;
        index.append({b.add(firstQuery, b.min(query, last)), column});
        Value value = ElementReader(*operands).readWide(op.getQ(), index);
        b.store(value, b.offset(at(queriesAt, column, 0), element, query));
      });
    });
  }

  /// Scaled and masked scores of a block of keys.
  void emitScores(Value first, Value count) {
    double scale = op.scaleOrDefault();
    forTiles(count, [&](Value tile, int64_t rows) {
      Values sums = contract(rows, b.i64(depth), queriesAt, Values(rows * vectors, splat(0)), [&](int64_t row, Value column) {
        return readKeyed(op.getK(), b.add(first, b.add(tile, b.i64(row))), column);
      });
      for (int64_t row = 0; row < rows; ++row) {
        Value number = b.add(tile, b.i64(row)), key = b.add(first, number);
        for (int64_t vector = 0; vector < vectors; ++vector) {
          Value score = arith::MulFOp::create(b, sums[row * vectors + vector], splat(scale));
          store(masked(score, key, vector), scoresAt, number, vector);
        }
      }
    });
  }

  Value masked(Value score, Value key, int64_t vector) {
    if (op.getMask()) {
      Value mask = readMask(key, vector);
      if (isa<FloatType>(getElementTypeOrSelf(mask.getType())))
        score = arith::AddFOp::create(b, score, mask);
      else
        score = arith::SelectOp::create(b, mask, score, lowest());
    }
    if (op.getCausal()) {
      auto numberType = VectorType::get({lanes}, b.getI64Type());
      Value isSeen = arith::CmpIOp::create(b, arith::CmpIPredicate::sle, vector::BroadcastOp::create(b, numberType, key),
                                           queryNumbers(vector));
      score = arith::SelectOp::create(b, isSeen, score, lowest());
    }
    return score;
  }

  /// Turns scores into powers of e, relative to the largest score so far, and rescales what was summed before.
  void emitPowers(Value count) {
    Value zero = b.i64(0);
    Values before, start;
    for (int64_t vector = 0; vector < vectors; ++vector)
      before.push_back(load(largestAt, zero, vector));
    Values largest = b.loopCarried(zero, count, b.i64(1), before, [&](Value key, ValueRange carried) {
      Values next;
      for (int64_t vector = 0; vector < vectors; ++vector)
        next.push_back(larger(carried[vector], load(scoresAt, key, vector)));
      return next;
    });
    Values shift, factor, totals;
    for (int64_t vector = 0; vector < vectors; ++vector) {
      store(largest[vector], largestAt, zero, vector);
      // As long as every key is masked there is nothing to subtract: the powers are 0 then.
      Value isLowest = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, largest[vector], lowest());
      shift.push_back(arith::SelectOp::create(b, isLowest, splat(0), largest[vector]));
      factor.push_back(math::ExpOp::create(b, arith::SubFOp::create(b, before[vector], shift[vector])));
      totals.push_back(arith::MulFOp::create(b, load(totalAt, zero, vector), factor[vector]));
    }
    totals = b.loopCarried(zero, count, b.i64(1), totals, [&](Value key, ValueRange carried) {
      Values next;
      for (int64_t vector = 0; vector < vectors; ++vector) {
        Value power = math::ExpOp::create(b, arith::SubFOp::create(b, load(scoresAt, key, vector), shift[vector]));
        store(power, scoresAt, key, vector);
        next.push_back(arith::AddFOp::create(b, carried[vector], power));
      }
      return next;
    });
    for (int64_t vector = 0; vector < vectors; ++vector)
      store(totals[vector], totalAt, zero, vector);
    b.loop(zero, b.i64(width), [&](Value column) {
      for (int64_t vector = 0; vector < vectors; ++vector)
        store(arith::MulFOp::create(b, load(sumsAt, column, vector), factor[vector]), sumsAt, column, vector);
    });
  }

  /// Adds the block's values, weighted with the powers.
  void emitSums(Value first, Value count) {
    forTiles(b.i64(width), [&](Value tile, int64_t rows) {
      Values sums;
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t vector = 0; vector < vectors; ++vector)
          sums.push_back(load(sumsAt, b.add(tile, b.i64(row)), vector));
      sums = contract(rows, count, scoresAt, sums, [&](int64_t row, Value key) {
        return readKeyed(op.getV(), b.add(first, key), b.add(tile, b.i64(row)));
      });
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t vector = 0; vector < vectors; ++vector)
          store(sums[row * vectors + vector], sumsAt, b.add(tile, b.i64(row)), vector);
    });
  }

  void storeResult(Value valid) {
    for (int64_t vector = 0; vector < vectors; ++vector) {
      Value total = load(totalAt, b.i64(0), vector);
      Value isEmpty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, total, splat(0));
      Value factor = arith::DivFOp::create(b, splat(1), total);
      store(arith::SelectOp::create(b, isEmpty, splat(0), factor), totalAt, b.i64(0), vector);
    }
    b.loop(b.i64(0), valid, [&](Value query) {
      Value factor = b.load(element, b.offset(at(totalAt, b.i64(0), 0), element, query));
      b.loop(b.i64(0), b.i64(width), [&](Value column) {
        Value sum = b.load(element, b.offset(at(sumsAt, column, 0), element, query));
        Values index = batch;
        index.append({b.add(firstQuery, query), column});
        ElementReader reader(*operands);
        reader.bind(op.getResult(), arith::MulFOp::create(b, sum, factor));
        operands->store(0, index, reader.read(operands->yielded(0), index));
      });
    });
  }

  KernelBuilder &b;
  nn::KernelOp kernel;
  nn::AttentionOp op;
  RankedTensorType q, k, v;
  int64_t rank, lanes, vectors, block, depth, width;
  int64_t queriesAt, scoresAt, sumsAt, largestAt, totalAt;
  nn::Dim queries;
  Type element;
  VectorType type;
  std::optional<KernelOperands> operands;
  Values batch;     ///< index in the dimensions before the queries
  Value firstQuery; ///< of the task at hand
};

} // namespace

FailureOr<EmittedKernel> codegen::emitAttention(KernelBuilder &b, nn::KernelOp kernel, StringRef symbol) {
  auto op = cast<nn::AttentionOp>(nn::anchorOf(kernel));
  if (ShapedType::isDynamic(cast<RankedTensorType>(op.getV().getType()).getShape().back()))
    return kernel.emitOpError("has attention values of a dynamic width, for which there is no CPU emitter");
  return AttentionEmitter(b, kernel).emit(symbol);
}
