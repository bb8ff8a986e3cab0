#include "validate/inputs/layouts.h"

#include <ATen/ATen.h>

#include <limits>
#include <stdexcept>

namespace ampgate::validate {
namespace {

std::int64_t least_rank(Layout layout) {
  switch (layout) {
    case Layout::kChannelsLast:
      return 4;
    case Layout::kTransposed:
      return 2;
    case Layout::kStrided:
      return 1;
  }
  throw std::invalid_argument("no such layout");
}

at::Tensor strided(const at::Tensor& tensor) {
  std::vector<std::int64_t> sizes = tensor.sizes().vec();
  sizes.push_back(2);
  at::Tensor wide = at::full(sizes, std::numeric_limits<double>::quiet_NaN(), tensor.options());
  return wide.select(-1, 0).copy_(tensor);
}

at::Tensor laid_out(const at::Tensor& tensor, Layout layout) {
  switch (layout) {
    case Layout::kChannelsLast:
      return tensor.contiguous(at::MemoryFormat::ChannelsLast);
    case Layout::kTransposed:
      return tensor.transpose(-1, -2).contiguous().transpose(-1, -2);
    case Layout::kStrided:
      return strided(tensor);
  }
  throw std::invalid_argument("no such layout");
}

}  // namespace

std::string_view layout_name(Layout layout) {
  switch (layout) {
    case Layout::kChannelsLast:
      return "channels_last";
    case Layout::kTransposed:
      return "transposed";
    case Layout::kStrided:
      return "strided";
  }
  throw std::invalid_argument("no such layout");
}

const std::vector<Layout>& all_layouts() {
  static const std::vector<Layout> layouts{Layout::kChannelsLast, Layout::kTransposed, Layout::kStrided};
  return layouts;
}

std::optional<cases::State> laid_out(const cases::State& state, Layout layout) {
  cases::State result = state;
  bool any = false;
  for (auto& entry : result.tensors) {
    if (!entry.tensor.is_floating_point() || entry.tensor.dim() < least_rank(layout)) continue;
    entry.tensor = laid_out(entry.tensor, layout);
    any = true;
  }
  if (!any) return {};
  return result;
}

}  // namespace ampgate::validate
