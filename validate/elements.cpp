#include "validate/elements.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

#include "backends/scan.h"

namespace ampgate::validate {

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
    : tensor_(tensor.detach().cpu()),
      data_(static_cast<const char*>(tensor_.const_data_ptr())),
      type_(tensor.scalar_type()),
      contiguous_(tensor_.is_contiguous()),
      count_(tensor.numel()),
      width_(static_cast<std::int64_t>(tensor_.element_size())),
      row_length_(contiguous_ ? count_ : tensor_.size(-1)) {
  if (type_ != at::kFloat && type_ != at::kHalf && type_ != at::kBFloat16 && type_ != at::kDouble) {
    throw std::invalid_argument(std::string("cannot compare elements of type ") + c10::toString(type_));
  }
}

const void* Elements::raw(std::int64_t start, std::int64_t count, void* buffer) const {
  if (contiguous_) return data_ + start * width_;
  gather(start, count, static_cast<char*>(buffer));
  return buffer;
}

const double* Elements::read(std::int64_t start, std::int64_t count, double* buffer) const {
  if (type_ == at::kDouble) return static_cast<const double*>(raw(start, count, buffer));
  std::array<float, kBlock> gathered;
  const void* const source = raw(start, count, gathered.data());
  if (type_ == at::kFloat) {
    backends::scan::widen_float(static_cast<const float*>(source), buffer, count);
  } else if (type_ == at::kHalf) {
    backends::scan::widen_half(static_cast<const std::uint16_t*>(source), buffer, count);
  } else {
    backends::scan::widen_bfloat16(static_cast<const std::uint16_t*>(source), buffer, count);
  }
  return buffer;
}

void Elements::prefetch(std::int64_t start, std::int64_t count) const {
  if (!contiguous_) return;
  constexpr std::int64_t kLine = 64;
  const std::int64_t end = std::min(start + count, count_) * width_;
  for (std::int64_t at = start * width_; at < end; at += kLine) __builtin_prefetch(data_ + at);
}

void Elements::gather(std::int64_t start, std::int64_t count, char* out) const {
  const std::int64_t stride = tensor_.stride(-1) * width_;
  while (count > 0) {
    const std::int64_t within = start % row_length_;
    const std::int64_t taken = std::min(count, row_length_ - within);
    std::int64_t offset = 0;
    std::int64_t row = start / row_length_;
    for (std::int64_t dim = tensor_.dim() - 2; dim >= 0; --dim) {
      offset += row % tensor_.size(dim) * tensor_.stride(dim);
      row /= tensor_.size(dim);
    }
    const char* source = data_ + offset * width_ + within * stride;
    for (std::int64_t i = 0; i < taken; ++i, source += stride, out += width_) {
      std::memcpy(out, source, static_cast<std::size_t>(width_));
    }
    start += taken;
    count -= taken;
  }
}

std::int64_t unit_count(std::int64_t elements) { return (elements + kUnit - 1) / kUnit; }

void for_each_unit(std::int64_t elements,
                   const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& work) {
  at::parallel_for(0, unit_count(elements), 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t unit = first; unit < last; ++unit) {
      work(unit, unit * kUnit, std::min(elements, (unit + 1) * kUnit));
    }
  });
}

double finite_rms(const at::Tensor& values) {
  const at::Tensor finite = values.masked_select(values.isfinite());
  return finite.numel() == 0 ? 0.0 : std::sqrt(finite.square().mean().item<double>());
}

double value_at(const at::Tensor& tensor, const std::vector<std::int64_t>& position) {
  at::Tensor element = tensor.detach();
  for (const std::int64_t index : position) element = element.select(0, index);
  return element.item<double>();
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
