// Cuts work into tasks; see Bands.h.

#include "codegen/cpu/Bands.h"

using namespace nncc;
using namespace nncc::codegen;

Bands::Bands(nn::Dim extent, int64_t target) : size(std::max<int64_t>(target, 1)) {
  std::optional<int64_t> total = nn::constantOf(extent);
  if (!total) {
    count = extent.ceilDiv(size);
    return;
  }
  int64_t bands = std::max<int64_t>(1, (*total + size - 1) / size);
  size = std::max<int64_t>(1, (*total + bands - 1) / bands);
  bands = (*total + size - 1) / size;
  count = nn::constantDim(extent.getContext(), bands);
  sizes.emplace();
  sizes->push_back(std::min(size, *total));
  if (bands > 1)
    sizes->push_back(*total - (bands - 1) * size);
}

int64_t codegen::panelsPerTask(int64_t panels, std::optional<int64_t> bandsPerImage) {
  // Eight tasks keep a few threads busy even when one of them is held up; a task repeats its set-up, so none is cut below two
  // panels.
  constexpr int64_t kTasksPerImage = 8, kLeastPanels = 2;
  int64_t wanted = bandsPerImage ? (kTasksPerImage + *bandsPerImage - 1) / std::max<int64_t>(*bandsPerImage, 1) : 1;
  int64_t parts = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, panels / kLeastPanels));
  return (panels + parts - 1) / parts;
}
