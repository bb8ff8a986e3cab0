#include "cases/layouts.h"

#include <ATen/ATen.h>

#include <limits>
#include <stdexcept>

namespace ampgate::cases {
namespace {

at::Tensor strided(const at::Tensor& tensor) {
  std::vector<std::int64_t> sizes = tensor.sizes().vec();
  sizes.push_back(2);
  const double between = tensor.is_floating_point() ? std::numeric_limits<double>::quiet_NaN() : 0.0;
  at::Tensor wide = at::full(sizes, between, tensor.options());
  return wide.select(-1, 0).copy_(tensor);
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

bool can_lie(const at::Tensor& tensor, Layout layout) {
  switch (layout) {
    case Layout::kChannelsLast:
      return tensor.dim() == 4;
    case Layout::kTransposed:
      return tensor.dim() >= 2;
    case Layout::kStrided:
      return tensor.dim() >= 1;
  }
  throw std::invalid_argument("no such layout");
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

}  // namespace ampgate::cases
