// Floating values as float64, exactly, from their bits: the same source for host compilers, nvcc and hipcc.
#pragma once

#include "backends/kernels/hash.h"

namespace ampgate::backends::widen {

enum class Type { kFloat32, kFloat16, kBFloat16, kFloat64 };

AMPGATE_HOST_DEVICE inline std::int64_t width_of(Type type) {
  return type == Type::kFloat64 ? 8 : (type == Type::kFloat32 ? 4 : 2);
}

AMPGATE_HOST_DEVICE inline float float_of(std::uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
AMPGATE_HOST_DEVICE inline std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

AMPGATE_HOST_DEVICE inline double bfloat16(std::uint32_t bits) { return float_of(bits << 16); }

// No branch, so that a loop over it becomes vectors.
AMPGATE_HOST_DEVICE inline double half(std::uint32_t bits) {
  const std::uint32_t shifted = (bits & 0x7fff) << 13;
  const float normal = float_of(shifted + (112U << 23));
  const float subnormal = float_of(shifted + (113U << 23)) - 0x1p-14F;
  const float special = float_of(shifted | (255U << 23));
  const std::uint32_t exponent = bits & 0x7c00;
  const float magnitude = exponent == 0x7c00 ? special : (exponent == 0 ? subnormal : normal);
  return float_of(bits_of(magnitude) | ((bits & 0x8000) << 16));
}

}  // namespace ampgate::backends::widen
