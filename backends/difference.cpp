#include "backends/difference.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "backends/digest_parts.h"
#include "backends/scan.h"

namespace ampgate::backends {
namespace {

constexpr std::int64_t kBlock = 512;
constexpr std::int64_t kUnit = 64 * kBlock;

using Buffer = std::array<double, kBlock>;

double largest_finite(c10::ScalarType type) {
  switch (type) {
    case c10::kHalf:
      return 65504.0;
    case c10::kBFloat16:
      return 0x1.FEp127;
    case c10::kFloat:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

// Contiguous elements on the CPU, widened a block at a time. Types without a loop of their own are widened
// before.
class Reader {
 public:
  explicit Reader(const at::Tensor& tensor) : tensor_(in_logical_order(tensor.detach()).to(c10::kCPU)) {
    const auto type = tensor_.scalar_type();
    if (type != c10::kFloat && type != c10::kHalf && type != c10::kBFloat16)
      tensor_ = tensor_.to(c10::kDouble);
  }
  const double* read(std::int64_t start, std::int64_t count, Buffer& buffer) const {
    const auto* const data =
        static_cast<const char*>(tensor_.const_data_ptr()) + start * tensor_.element_size();
    switch (tensor_.scalar_type()) {
      case c10::kFloat:
        scan::widen_float(reinterpret_cast<const float*>(data), buffer.data(), count);
        return buffer.data();
      case c10::kHalf:
        scan::widen_half(reinterpret_cast<const std::uint16_t*>(data), buffer.data(), count);
        return buffer.data();
      case c10::kBFloat16:
        scan::widen_bfloat16(reinterpret_cast<const std::uint16_t*>(data), buffer.data(), count);
        return buffer.data();
      default:
        return reinterpret_cast<const double*>(data);
    }
  }

 private:
  at::Tensor tensor_;
};

struct Part {
  Difference found;
  std::int64_t finite = 0;
  double squares = 0.0;

  void take(double distance, std::int64_t at) {
    ++finite;
    squares += distance * distance;
    if (distance > found.largest) {
      found.largest = distance;
      found.largest_at = at;
    }
  }
  void merge(const Part& later) {
    finite += later.finite;
    squares += later.squares;
    found.masks += later.found.masks;
    if (found.mask_at < 0) found.mask_at = later.found.mask_at;
    if (later.found.largest > found.largest) {
      found.largest = later.found.largest;
      found.largest_at = later.found.largest_at;
    }
  }
};

bool same_mask(double a, double b, double near_overflow) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) && std::isinf(b)) return a == b;
  const double finite = std::isinf(a) ? b : a;
  return std::signbit(a) == std::signbit(b) && std::abs(finite) >= near_overflow;
}

void one_by_one(const double* a, const double* b, std::int64_t start, std::int64_t count,
                double near_overflow, Part& part) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (std::isfinite(a[i]) && std::isfinite(b[i])) {
      part.take(std::abs(a[i] - b[i]), start + i);
    } else if (!same_mask(a[i], b[i], near_overflow)) {
      ++part.found.masks;
      if (part.found.mask_at < 0) part.found.mask_at = start + i;
    }
  }
}

void compare_block(const double* a, const double* b, std::int64_t start, std::int64_t count,
                   double near_overflow, Part& part) {
  const auto seen = scan::differences(a, b, count);
  if (seen.special || seen.errors.largest > part.found.largest) {
    one_by_one(a, b, start, count, near_overflow, part);
    return;
  }
  part.finite += count;
  part.squares += seen.errors.sum_of_squares;
}

}  // namespace

Difference difference(const at::Tensor& now, const at::Tensor& before, double slack) {
  if (now.sizes() != before.sizes() || now.scalar_type() != before.scalar_type())
    throw std::invalid_argument("difference: tensors of other sizes or types");
  const Reader a(now);
  const Reader b(before);
  const double near_overflow = largest_finite(now.scalar_type()) - slack;
  const std::int64_t elements = now.numel();
  // Units do not depend on the number of threads, and neither do the sums.
  std::vector<Part> parts(static_cast<std::size_t>((elements + kUnit - 1) / kUnit));
  at::parallel_for(0, std::ssize(parts), 1, [&](std::int64_t first, std::int64_t last) {
    Buffer a_buffer;
    Buffer b_buffer;
    for (std::int64_t unit = first; unit < last; ++unit) {
      const std::int64_t end = std::min(elements, (unit + 1) * kUnit);
      for (std::int64_t start = unit * kUnit; start < end; start += kBlock) {
        const std::int64_t count = std::min(kBlock, end - start);
        compare_block(a.read(start, count, a_buffer), b.read(start, count, b_buffer), start, count,
                      near_overflow, parts[static_cast<std::size_t>(unit)]);
      }
    }
  });
  Part total;
  for (const Part& part : parts) total.merge(part);
  total.found.elements = elements;
  if (total.finite > 0) total.found.rms = std::sqrt(total.squares / static_cast<double>(total.finite));
  return total.found;
}

}  // namespace ampgate::backends
