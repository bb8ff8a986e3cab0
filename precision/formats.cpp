#include "precision/formats.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace ampgate::precision {

double Format::unit_roundoff() const { return std::ldexp(1.0, -significand_bits); }

double Format::smallest_subnormal() const { return std::ldexp(1.0, min_exponent - significand_bits + 1); }

const Format& format_of(c10::ScalarType type) {
  static const Format kFloat64{53, -1022, std::numeric_limits<double>::max()};
  static const Format kFloat32{24, -126, std::numeric_limits<float>::max()};
  static const Format kFloat16{11, -14, 65504.0};
  static const Format kBFloat16{8, -126, 0x1.FEp127};
  switch (type) {
    case c10::ScalarType::Double:
      return kFloat64;
    case c10::ScalarType::Float:
      return kFloat32;
    case c10::ScalarType::Half:
      return kFloat16;
    case c10::ScalarType::BFloat16:
      return kBFloat16;
    default:
      throw std::invalid_argument(std::string("not a floating format: ") + c10::toString(type));
  }
}

double round_to(double value, const Format& format) {
  if (!std::isfinite(value) || value == 0.0 || format.significand_bits == 53) return value;
  // Scaled so that one unit in the last place is 1, the current rounding mode (to nearest even) does the work
  // exactly.
  const int exponent = std::max(std::ilogb(value), format.min_exponent);
  const int ulp_exponent = exponent - format.significand_bits + 1;
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -ulp_exponent)), ulp_exponent);
  if (std::abs(rounded) > format.max) return std::copysign(std::numeric_limits<double>::infinity(), value);
  return rounded;
}

RoundingInterval rounding_interval(double value, const Format& format) {
  if (format.significand_bits == 53) return {value, value, true};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto power = [](int exponent) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
  };
  const double magnitude = std::abs(value);
  const auto bits = std::bit_cast<std::uint64_t>(magnitude);
  const int exponent = static_cast<int>(bits >> 52) - 1023;
  RoundingInterval result{};
  if (exponent == 1024) {
    const double below_max = format.max - std::ldexp(format.max, -format.significand_bits);
    result = {format.max + (format.max - round_to(below_max, format)) / 2.0, kInfinity, true};
  } else if (exponent < format.min_exponent) {
    const double step = format.smallest_subnormal();
    result = {magnitude - step / 2.0, magnitude + step / 2.0, std::fmod(magnitude / step, 2.0) == 0.0};
  } else {
    const double half_step = power(exponent - format.significand_bits);
    // Below a power of two the values lie twice as close, but for the smallest normal number.
    const bool closer = (bits & ((1ULL << 52) - 1)) == 0 && exponent > format.min_exponent;
    const bool even = ((bits >> (53 - format.significand_bits)) & 1) == 0;
    result = {magnitude - (closer ? half_step / 2.0 : half_step), magnitude + half_step, even};
  }
  if (std::signbit(value)) return {-result.high, -result.low, result.closed};
  return result;
}

namespace {

// Bit-level form of round_to for formats narrower than float64, without the cost of ldexp in loops over
// tensors.
template <int kSignificandBits, int kMinExponent>
double round_bits(double value) {
  constexpr int kDropped = 53 - kSignificandBits;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const int exponent = static_cast<int>((bits >> 52) & 0x7FF) - 1023;
  if (exponent == 1024) return value;
  if (exponent < kMinExponent) {
    // Adding a power of two whose unit in the last place is the format's subnormal step rounds to that step,
    // once.
    constexpr double kMagic =
        1.5 * std::bit_cast<double>(
                  static_cast<std::uint64_t>(kMinExponent - kSignificandBits + 1 + 52 + 1023) << 52);
    return std::copysign((value + kMagic) - kMagic, value);
  }
  const std::uint64_t half = (1ULL << (kDropped - 1)) - 1 + ((bits >> kDropped) & 1);
  return std::bit_cast<double>((bits + half) & ~((1ULL << kDropped) - 1));
}

template <typename Narrow, int kSignificandBits, int kMinExponent>
void round_into(const double* in, Narrow* out, std::int64_t count, double max) {
  at::parallel_for(0, count, 1 << 15, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      double rounded = round_bits<kSignificandBits, kMinExponent>(in[i]);
      if (std::abs(rounded) > max) rounded = std::copysign(std::numeric_limits<double>::infinity(), rounded);
      // Exact from here on: the value is representable in the narrow format and in float32.
      out[i] = static_cast<Narrow>(static_cast<float>(rounded));
    }
  });
}

}  // namespace

at::Tensor round_tensor(const at::Tensor& float64, c10::ScalarType type) {
  TORCH_CHECK_VALUE(float64.scalar_type() == at::kDouble && float64.is_cpu(),
                    "round_tensor takes float64 on the CPU");
  const at::Tensor in = float64.contiguous();
  if (type == at::kDouble) return in.clone();
  at::Tensor out = at::empty(in.sizes(), in.options().dtype(type));
  const double* source = in.const_data_ptr<double>();
  const double max = format_of(type).max;
  switch (type) {
    case at::kFloat:
      round_into<float, 24, -126>(source, out.mutable_data_ptr<float>(), in.numel(), max);
      break;
    case at::kHalf:
      round_into<c10::Half, 11, -14>(source, out.mutable_data_ptr<c10::Half>(), in.numel(), max);
      break;
    case at::kBFloat16:
      round_into<c10::BFloat16, 8, -126>(source, out.mutable_data_ptr<c10::BFloat16>(), in.numel(), max);
      break;
    default:
      throw std::invalid_argument("not a floating format");
  }
  return out;
}

std::int64_t ulp_distance(double a, double b, const Format& format) {
  const auto index = [&](double value) -> std::int64_t {
    const double magnitude = std::abs(value);
    if (magnitude == 0.0) return 0;
    const int exponent = std::max(std::ilogb(magnitude), format.min_exponent);
    const auto significand =
        static_cast<std::int64_t>(std::ldexp(magnitude, format.significand_bits - 1 - exponent));
    const std::int64_t binade = static_cast<std::int64_t>(exponent - format.min_exponent)
                                << (format.significand_bits - 1);
    return std::signbit(value) ? -(binade + significand) : binade + significand;
  };
  return std::abs(index(a) - index(b));
}

}  // namespace ampgate::precision
