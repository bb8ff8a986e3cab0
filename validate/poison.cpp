#include "validate/poison.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <vector>

#include "backends/poison_allocator.h"

namespace ampgate::validate {

namespace {

// An allocator has many free blocks that fit a small request: enough copies to reach them all, at least the
// two that output and one intermediate take.
std::int64_t copies_of(std::int64_t bytes) {
  constexpr std::int64_t kBudget = 4 << 20;
  return std::clamp<std::int64_t>(kBudget / std::max<std::int64_t>(bytes, 1), 2, 256);
}

}  // namespace

void poison_free_blocks(const cases::Outputs& like, c10::Device device) {
  const auto options = at::TensorOptions(at::kShort).device(device);
  const auto poison = static_cast<std::int16_t>(backends::kPoison);
  std::vector<at::Tensor> blocks;
  for (const auto& output : like) {
    for (const std::int64_t width : {2, 4}) {  // wider elements are no trial's
      const std::int64_t bytes = output.numel() * width;
      for (std::int64_t copy = copies_of(bytes); copy > 0; --copy) {
        blocks.push_back(at::empty({bytes / 2}, options).fill_(poison));
      }
    }
  }
}

}  // namespace ampgate::validate
