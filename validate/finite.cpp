#include "validate/finite.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <vector>

#include "backends/poison_allocator.h"

namespace ampgate::validate {
namespace {

// Signed, since the baseline x86-64 has a vector maximum for signed 16-bit integers only; without the sign
// bit it makes no difference, and magnitudes of floating numbers compare as their bits do.
struct Half {
  using Bits = std::int16_t;
  static constexpr Bits kMagnitude = 0x7fff;
  static constexpr Bits kInfinity = 0x7c00;
  static double value(Bits bits) { return c10::Half(bits, c10::Half::from_bits()); }
};
struct BFloat16 {
  using Bits = std::int16_t;
  static constexpr Bits kMagnitude = 0x7fff;
  static constexpr Bits kInfinity = 0x7f80;
  static double value(Bits bits) {
    return c10::BFloat16(static_cast<unsigned short>(bits), c10::BFloat16::from_bits());
  }
};
struct Float {
  using Bits = std::int32_t;
  static constexpr Bits kMagnitude = 0x7fffffff;
  static constexpr Bits kInfinity = 0x7f800000;
  static double value(Bits bits) { return std::bit_cast<float>(bits); }
};
struct Double {
  using Bits = std::int64_t;
  static constexpr Bits kMagnitude = 0x7fffffffffffffff;
  static constexpr Bits kInfinity = 0x7ff0000000000000;
  static double value(Bits bits) { return std::bit_cast<double>(bits); }
};

template <typename Type>
class Scanner {
 public:
  using Bits = typename Type::Bits;

  // `count` elements in logical order, `stride` apart.
  void read(const Bits* bits, std::int64_t count, std::int64_t stride) {
    std::int64_t i = 0;
    if (stride == 1) {
      for (; i + kChunk <= count; i += kChunk) {
        const Bits largest = largest_of(bits + i);
        if (largest < Type::kInfinity) {
          largest_ = std::max(largest_, largest);
        } else {
          one_by_one(bits + i, kChunk, 1, scan_.elements + i);
        }
      }
    }
    one_by_one(bits + i * stride, count - i, stride, scan_.elements + i);
    scan_.elements += count;
  }

  FiniteScan result() {
    scan_.largest = Type::value(largest_);
    return scan_;
  }

 private:
  // A constant length: a loop that compilers turn into vector instructions at -O2.
  static constexpr std::int64_t kChunk = 256;
  static Bits largest_of(const Bits* bits) {
    Bits largest = 0;
    for (std::int64_t i = 0; i < kChunk; ++i) {
      const auto magnitude = static_cast<Bits>(bits[i] & Type::kMagnitude);
      largest = magnitude > largest ? magnitude : largest;
    }
    return largest;
  }

  void one_by_one(const Bits* bits, std::int64_t count, std::int64_t stride, std::int64_t number) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto magnitude = static_cast<Bits>(bits[i * stride] & Type::kMagnitude);
      if (magnitude < Type::kInfinity) {
        largest_ = std::max(largest_, magnitude);
        continue;
      }
      if (scan_.first < 0) scan_.first = number + i;
      if (bits[i * stride] == kPoisoned && scan_.unwritten++ == 0) scan_.first_unwritten = number + i;
      ++(magnitude == Type::kInfinity ? scan_.infinities : scan_.nans);
    }
  }

  static constexpr auto kPoisoned =
      static_cast<Bits>(std::uint64_t{backends::kPoison} * 0x0001'0001'0001'0001ULL);
  FiniteScan scan_;
  Bits largest_ = 0;
};

// Row after row of the last dimension, in logical order.
template <typename Type>
FiniteScan scan_rows(const at::Tensor& tensor, const typename Type::Bits* bits) {
  Scanner<Type> scanner;
  const std::int64_t outer = tensor.dim() - 1;
  std::vector<std::int64_t> position(static_cast<std::size_t>(outer), 0);
  std::int64_t offset = 0;
  while (true) {
    scanner.read(bits + offset, tensor.size(outer), tensor.stride(outer));
    std::int64_t dim = outer - 1;
    for (; dim >= 0; --dim) {
      auto& at = position[static_cast<std::size_t>(dim)];
      offset += tensor.stride(dim);
      if (++at < tensor.size(dim)) break;
      offset -= at * tensor.stride(dim);
      at = 0;
    }
    if (dim < 0) return scanner.result();
  }
}

template <typename Type>
FiniteScan scan_type(const at::Tensor& tensor) {
  const auto* bits = static_cast<const typename Type::Bits*>(tensor.const_data_ptr());
  if (tensor.is_non_overlapping_and_dense()) {
    Scanner<Type> scanner;
    scanner.read(bits, tensor.numel(), 1);
    const FiniteScan scan = scanner.result();
    // Only the place of the first one depends on the order.
    if (scan.finite() || tensor.is_contiguous()) return scan;
  }
  return scan_rows<Type>(tensor, bits);
}

}  // namespace

FiniteScan scan_finite(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  if (tensor.numel() == 0 || !tensor.is_floating_point()) return {.elements = tensor.numel()};
  if (tensor.is_sparse()) return scan_finite(tensor.detach().to_dense());
  const at::Tensor here = tensor.is_cpu() ? tensor : tensor.detach().cpu();
  switch (here.scalar_type()) {
    case at::kHalf:
      return scan_type<Half>(here);
    case at::kBFloat16:
      return scan_type<BFloat16>(here);
    case at::kFloat:
      return scan_type<Float>(here);
    case at::kDouble:
      return scan_type<Double>(here);
    default:
      throw std::invalid_argument(std::string("no finite scan for type ") +
                                  c10::toString(here.scalar_type()));
  }
}

}  // namespace ampgate::validate
