#include "cases/shared_memory.h"

#include <cstdint>
#include <utility>

namespace ampgate::cases {
namespace {

// First byte, and the one behind the last.
std::pair<std::uintptr_t, std::uintptr_t> range(const at::Tensor& tensor) {
  std::int64_t last = 0;
  for (std::int64_t dim = 0; dim < tensor.dim(); ++dim) last += (tensor.size(dim) - 1) * tensor.stride(dim);
  const auto begin = reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr());
  return {begin, begin + static_cast<std::uintptr_t>((last + 1) * tensor.element_size())};
}

bool has_memory(const at::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == at::kStrided && tensor.numel() > 0;
}

}  // namespace

bool share_memory(const at::Tensor& a, const at::Tensor& b) {
  if (!has_memory(a) || !has_memory(b) || a.device() != b.device()) return false;
  const auto [begin_a, end_a] = range(a);
  const auto [begin_b, end_b] = range(b);
  return begin_a < end_b && begin_b < end_a;
}

}  // namespace ampgate::cases
