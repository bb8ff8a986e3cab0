// Reads a tensor in logical order, a block at a time: any floating type, any strides, no copy of the whole.
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

// Elements are read in blocks of at most this many; the buffers of a reader hold them.
inline constexpr std::int64_t kBlock = 512;

class Elements {
 public:
  // float32, float16, bfloat16 or float64; a tensor on a device is copied to the CPU. Throws
  // std::invalid_argument for another type.
  explicit Elements(const at::Tensor& tensor);

  std::int64_t count() const { return count_; }
  std::int64_t width() const { return width_; }  // bytes an element
  // Elements [start, start + count) of the logical order side by side in their own type: in place where they
  // lie so, else gathered into `buffer`.
  const void* raw(std::int64_t start, std::int64_t count, void* buffer) const;
  // The same, widened exactly; count <= kBlock. In place for float64 that lies side by side.
  const double* read(std::int64_t start, std::int64_t count, double* buffer) const;
  // Asks for the elements to be there soon. Nothing happens beyond the end.
  void prefetch(std::int64_t start, std::int64_t count) const;

 private:
  void gather(std::int64_t start, std::int64_t count, char* out) const;

  at::Tensor tensor_;
  const char* data_;
  c10::ScalarType type_;
  bool contiguous_;
  std::int64_t count_;
  std::int64_t width_;
  std::int64_t row_length_;  // of the longest run with one stride
};

// Calls work(unit, begin, end) for units of kUnit elements, several at a time. Units depend on `elements`
// alone, so that sums by unit do not change with the number of threads.
inline constexpr std::int64_t kUnit = 32 * kBlock;
std::int64_t unit_count(std::int64_t elements);
void for_each_unit(std::int64_t elements,
                   const std::function<void(std::int64_t unit, std::int64_t begin, std::int64_t end)>& work);

// Root mean square of the finite ones among float64 values; 0 where there are none.
double finite_rms(const at::Tensor& values);

double value_at(const at::Tensor& tensor, const std::vector<std::int64_t>& position);

// Position of element number `index` of the logical order.
std::vector<std::int64_t> position_of(std::int64_t index, at::IntArrayRef sizes);
// The reverse.
std::int64_t index_of(at::IntArrayRef position, at::IntArrayRef sizes);

}  // namespace ampgate::validate
