#include "validate/inputs/layouts.h"

namespace ampgate::validate {

std::optional<cases::State> laid_out(const cases::State& state, Layout layout) {
  cases::State result = state;
  bool any = false;
  for (auto& entry : result.tensors) {
    if (!entry.tensor.is_floating_point() || !cases::can_lie(entry.tensor, layout)) continue;
    entry.tensor = cases::laid_out(entry.tensor, layout);
    any = true;
  }
  if (!any) return {};
  return result;
}

}  // namespace ampgate::validate
