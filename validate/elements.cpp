#include "validate/elements.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <stdexcept>
#include <string>

namespace ampgate::validate {
namespace {

constexpr std::int64_t kBlock = 64 * kStretch;

template <typename T>
void widen(const at::Tensor& tensor, std::int64_t offset, std::int64_t stride, std::int64_t count,
           double* out) {
  const T* source = tensor.const_data_ptr<T>() + offset;
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (sizeof(T) == 2) {
      out[i] = static_cast<float>(source[i * stride]);
    } else {
      out[i] = source[i * stride];
    }
  }
}

}  // namespace

std::string sizes_text(at::IntArrayRef sizes) {
  std::string text = "(";
  for (std::size_t i = 0; i < sizes.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(sizes[i]);
  return text + ")";
}

std::string why_incomparable(const at::Tensor& actual, const at::Tensor& expected) {
  if (!actual.defined()) return "there is no output";
  if (!actual.is_floating_point() || actual.is_complex()) {
    return std::string("the output has type ") + c10::toString(actual.scalar_type());
  }
  if (actual.sizes() != expected.sizes()) {
    return "the output has sizes " + sizes_text(actual.sizes()) + " instead of " +
           sizes_text(expected.sizes());
  }
  return {};
}

Elements::Elements(const at::Tensor& tensor)
    : tensor_(tensor.detach().cpu()), count_(tensor.numel()), row_length_(tensor.numel()) {
  const auto type = tensor.scalar_type();
  if (type != at::kFloat && type != at::kHalf && type != at::kBFloat16 && type != at::kDouble) {
    throw std::invalid_argument(std::string("cannot compare elements of type ") + c10::toString(type));
  }
  if (!tensor_.is_contiguous() && tensor_.dim() > 0) row_length_ = tensor_.size(-1);
}

void Elements::read(std::int64_t start, std::int64_t count, double* out) const {
  const bool contiguous = tensor_.is_contiguous();
  const std::int64_t stride = contiguous || tensor_.dim() == 0 ? 1 : tensor_.stride(-1);
  while (count > 0) {
    const std::int64_t within = start % row_length_;
    const std::int64_t taken = std::min(count, row_length_ - within);
    std::int64_t offset = within * stride;
    if (!contiguous) {
      std::int64_t row = start / row_length_;
      for (std::int64_t dim = tensor_.dim() - 2; dim >= 0; --dim) {
        offset += row % tensor_.size(dim) * tensor_.stride(dim);
        row /= tensor_.size(dim);
      }
    }
    switch (tensor_.scalar_type()) {
      case at::kFloat:
        widen<float>(tensor_, offset, stride, taken, out);
        break;
      case at::kHalf:
        widen<c10::Half>(tensor_, offset, stride, taken, out);
        break;
      case at::kBFloat16:
        widen<c10::BFloat16>(tensor_, offset, stride, taken, out);
        break;
      default:
        widen<double>(tensor_, offset, stride, taken, out);
        break;
    }
    start += taken;
    out += taken;
    count -= taken;
  }
}

std::int64_t block_count(std::int64_t elements) { return (elements + kBlock - 1) / kBlock; }

void for_each_stretch(std::int64_t elements,
                      const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& work) {
  at::parallel_for(0, block_count(elements), 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t block = first; block < last; ++block) {
      const std::int64_t end = std::min(elements, (block + 1) * kBlock);
      for (std::int64_t start = block * kBlock; start < end; start += kStretch) {
        work(block, start, std::min(kStretch, end - start));
      }
    }
  });
}

std::vector<std::int64_t> position_of(std::int64_t index, at::IntArrayRef sizes) {
  std::vector<std::int64_t> position(sizes.size());
  for (std::size_t dim = sizes.size(); dim-- > 0;) {
    position[dim] = index % sizes[dim];
    index /= sizes[dim];
  }
  return position;
}

std::int64_t index_of(at::IntArrayRef position, at::IntArrayRef sizes) {
  std::int64_t index = 0;
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) index = index * sizes[dim] + position[dim];
  return index;
}

}  // namespace ampgate::validate
