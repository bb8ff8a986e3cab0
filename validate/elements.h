// Reads a tensor in logical order as float64, a stretch at a time: any floating type, any strides, no copy of
// the whole.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ampgate::validate {

// Empty when an output can be compared with what is expected, else the reason: undefined, not floating, other
// sizes.
std::string why_incomparable(const at::Tensor& actual, const at::Tensor& expected);

// "(3, 7)"
std::string sizes_text(at::IntArrayRef sizes);

class Elements {
 public:
  // float32, float16, bfloat16 or float64; a tensor on a device is copied to the CPU. Throws
  // std::invalid_argument for another type.
  explicit Elements(const at::Tensor& tensor);

  std::int64_t count() const { return count_; }
  // Elements [start, start + count) of the logical order, widened exactly.
  void read(std::int64_t start, std::int64_t count, double* out) const;

 private:
  at::Tensor tensor_;
  std::int64_t count_;
  std::int64_t row_length_;  // of the longest run with one stride
};

// Calls work(block, start, count) for stretches of at most kStretch elements, blocks in parallel, each
// block's stretches in order; blocks depend on `elements` alone, so that sums by block do not change with the
// number of threads.
inline constexpr std::int64_t kStretch = 1024;
std::int64_t block_count(std::int64_t elements);
void for_each_stretch(
    std::int64_t elements,
    const std::function<void(std::int64_t block, std::int64_t start, std::int64_t count)>& work);

// Position of element number `index` of the logical order.
std::vector<std::int64_t> position_of(std::int64_t index, at::IntArrayRef sizes);
// The reverse.
std::int64_t index_of(at::IntArrayRef position, at::IntArrayRef sizes);

}  // namespace ampgate::validate
