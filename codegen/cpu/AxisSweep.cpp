// The loops of reductions and normalisations; see AxisSweep.h.

#include "codegen/cpu/AxisSweep.h"

#include "codegen/cpu/VectorLoop.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

/// Elements that one task sweeps at least, where groups are short.
static constexpr int64_t kTaskElements = 4 << 10;

AxisSweep::AxisSweep(KernelBuilder &b, ArrayRef<LoopDim> loops, ArrayRef<bool> swept, unsigned rank,
                     int64_t lanes)
    : b(b), rank(rank), lanes(lanes) {
  for (auto [loop, isSwept] : llvm::zip(loops, swept))
    (isSwept ? sweptLoops : keptLoops).push_back(loop);
  sweepsLanes = keptLoops.empty() || (!swept.empty() && swept.back());
  // Something to sweep, and in vectors: a loop of one step.
  nn::Dim one = nn::constantDim(b.getContext(), 1);
  if (sweptLoops.empty())
    sweptLoops.push_back({one, 0, 0});
  if (std::optional<int64_t> elements = nn::constantOf(elementsPerGroup()); sweepsLanes && elements)
    groupsPerTask = std::max<int64_t>(1, kTaskElements / std::max<int64_t>(*elements, 1));
}

nn::Dim AxisSweep::elementsPerGroup() const {
  SmallVector<nn::Dim> extents;
  for (const LoopDim &loop : sweptLoops)
    extents.push_back(loop.extent);
  return nn::product(extents, b.getContext());
}

nn::Dim AxisSweep::tasks() const {
  SmallVector<nn::Dim> extents;
  for (const LoopDim &loop : keptLoops)
    extents.push_back(loop.extent);
  if (!sweepsLanes)
    extents.back() = extents.back().ceilDiv(lanes);
  return nn::product(extents, b.getContext()).ceilDiv(groupsPerTask);
}

void AxisSweep::forEachGroup(function_ref<void()> body) {
  SmallVector<Value> extents;
  for (const LoopDim &loop : keptLoops)
    extents.push_back(b.dim(loop.extent));
  Value last;
  if (!sweepsLanes) {
    last = extents.back();
    extents.back() = b.ceilDiv(last, b.i64(lanes));
  }
  auto emitGroup = [&](ValueRange positions, Value mask) {
    current = Place();
    current.index.assign(rank, b.i64(0));
    current.mask = mask;
    current.number = b.i64(0);
    for (auto [loop, position] : llvm::zip(keptLoops, positions))
      current.index[loop.dim] = b.add(current.index[loop.dim], b.mul(position, b.i64(loop.step)));
    // A tensor without dimensions has one element for all lanes.
    if (rank > 0)
      current.laneDim = sweepsLanes ? sweptLoops.back().dim : keptLoops.back().dim;
    body();
  };
  Value perTask = b.i64(groupsPerTask);
  Value end = b.mul(b.endTask, perTask);
  if (groupsPerTask > 1)
    end = b.min(end, b.product(extents));
  b.loop(b.mul(b.beginTask, perTask), end, [&](Value number) {
    SmallVector<Value> positions = b.delinearize(number, extents);
    if (sweepsLanes) {
      emitGroup(positions, {});
      return;
    }
    positions.back() = b.mul(positions.back(), b.i64(lanes));
    std::optional<int64_t> constant = getConstantIntValue(last);
    if (constant && *constant % lanes == 0) {
      emitGroup(positions, {});
      return;
    }
    // Whole vectors without masks, and the last one with.
    Value rest = b.sub(last, positions.back());
    if (constant && *constant < lanes) {
      emitGroup(positions, tailMask(b, rest, lanes));
      return;
    }
    b.branch(b.less(rest, b.i64(lanes)), [&] { emitGroup(positions, tailMask(b, rest, lanes)); },
             [&] { emitGroup(positions, {}); });
  });
}

Place AxisSweep::at(const Place &place, const LoopDim &loop, Value position, Value mask) const {
  Place next = place;
  if (rank > 0)
    next.index[loop.dim] = b.add(place.index[loop.dim], b.mul(position, b.i64(loop.step)));
  next.number = b.add(b.mul(place.number, b.dim(loop.extent)), position);
  if (mask)
    next.mask = mask;
  return next;
}

AxisSweep::Values AxisSweep::reduce(ValueRange neutral, function_ref<Values(const Place &)> lift,
                                    function_ref<Values(ValueRange, ValueRange)> combine, int64_t chains) {
  this->chains = chains;
  this->neutral = neutral;
  this->lift = lift;
  this->combine = combine;
  Values partial = walk(0, current, neutral, {});
  return sweepsLanes ? acrossLanes(partial, combine) : partial;
}

void AxisSweep::map(function_ref<void(const Place &)> body) {
  walk(0, current, {}, [&](const Place &place, ValueRange) {
    body(place);
    return Values();
  });
}

/// The loops from number `loop` on. Without a body they reduce.
AxisSweep::Values AxisSweep::walk(size_t loop, Place place, ValueRange carried, PlaceBody body) {
  const LoopDim &dim = sweptLoops[loop];
  if (loop + 1 == sweptLoops.size())
    return body ? walkInnermost(dim, place, carried, body) : innermostReduction(dim, place, carried);
  if (carried.empty()) {
    b.loop(b.i64(0), b.dim(dim.extent),
           [&](Value position) { walk(loop + 1, at(place, dim, position, {}), {}, body); });
    return {};
  }
  return b.loopCarried(b.i64(0), b.dim(dim.extent), b.i64(1), carried,
                       [&](Value position, ValueRange values) {
                         return walk(loop + 1, at(place, dim, position, {}), values, body);
                       });
}

AxisSweep::Values AxisSweep::walkInnermost(const LoopDim &loop, Place place, ValueRange carried,
                                           PlaceBody body) {
  Value extent = b.dim(loop.extent), step = b.i64(sweepsLanes ? lanes : 1);
  std::optional<int64_t> constant = getConstantIntValue(extent);
  Value full = b.sub(extent, b.rem(extent, step));
  hoistInvariants(b.loop(b.i64(0), full, step,
                         [&](Value position) { body(at(place, loop, position, {}), {}); }));
  if (sweepsLanes && !(constant && *constant % lanes == 0))
    b.loop(full, extent, step, [&](Value position) {
      body(at(place, loop, position, tailMask(b, b.sub(extent, position), lanes)), {});
    });
  return {};
}

AxisSweep::Values AxisSweep::innermostReduction(const LoopDim &loop, const Place &place,
                                                ValueRange carried) {
  Value extent = b.dim(loop.extent);
  int64_t step = sweepsLanes ? lanes : 1;
  std::optional<int64_t> constant = getConstantIntValue(extent);
  auto include = [&](ValueRange partial, Value position, Value mask) {
    Place next = at(place, loop, position, mask);
    Values combined = combine(partial, lift(next));
    // Lanes of other groups may hold anything; those behind the end of a row must not count.
    if (mask)
      for (auto [value, before] : llvm::zip(combined, partial))
        value = arith::SelectOp::create(b, mask, value, before);
    return combined;
  };

  Values sums(carried);
  Value begin = b.i64(0);
  int64_t interleave = constant ? std::min(chains, *constant / step) : chains;
  if (interleave > 1) {
    Value wide = b.i64(interleave * step);
    begin = b.sub(extent, b.rem(extent, wide));
    for (int64_t chain = 1; chain < interleave; ++chain)
      sums.append(neutral.begin(), neutral.end());
    size_t size = carried.size();
    sums = b.loopCarried(b.i64(0), begin, wide, sums, [&](Value position, ValueRange values) {
      Values next;
      for (int64_t chain = 0; chain < interleave; ++chain)
        next.append(include(values.slice(chain * size, size),
                            b.add(position, b.i64(chain * step)), {}));
      return next;
    });
    while (sums.size() > size) {
      Values last(ArrayRef<Value>(sums).take_back(size));
      sums.truncate(sums.size() - size);
      Values before(ArrayRef<Value>(sums).take_back(size));
      sums.truncate(sums.size() - size);
      sums.append(combine(before, last));
    }
  }
  Value full = b.sub(extent, b.rem(extent, b.i64(step)));
  sums = b.loopCarried(begin, full, b.i64(step), sums, [&](Value position, ValueRange values) {
    return include(values, position, {});
  });
  if (sweepsLanes && !(constant && *constant % lanes == 0))
    sums = b.loopCarried(full, extent, b.i64(step), sums, [&](Value position, ValueRange values) {
      return include(values, position, tailMask(b, b.sub(extent, position), lanes));
    });
  return sums;
}

/// Halves the vectors until one lane is left, and splats it.
AxisSweep::Values AxisSweep::acrossLanes(ValueRange partial,
                                         function_ref<Values(ValueRange, ValueRange)> combine) {
  Values values(partial);
  for (int64_t width = lanes; width > 1; width /= 2) {
    Values lower, upper;
    for (Value value : values) {
      auto half = [&](int64_t offset) {
        return vector::ExtractStridedSliceOp::create(b, value, ArrayRef<int64_t>{offset},
                                                     ArrayRef<int64_t>{width / 2},
                                                     ArrayRef<int64_t>{1});
      };
      lower.push_back(half(0));
      upper.push_back(half(width / 2));
    }
    values = combine(lower, upper);
  }
  for (Value &value : values) {
    Value scalar = vector::ExtractOp::create(b, value, int64_t{0});
    value = vector::BroadcastOp::create(b, VectorType::get({lanes}, scalar.getType()), scalar);
  }
  return values;
}
