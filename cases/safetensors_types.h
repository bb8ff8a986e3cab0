// What reader and writer of safetensors files both know of the format.
#pragma once

#include <c10/core/ScalarType.h>

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

namespace ampgate::cases {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

constexpr std::uint64_t kLengthBytes = 8;  // the header's length, before the header

struct SafetensorsType {
  std::string_view name;
  at::ScalarType type;
};

// In the order in which the format's own library writes tensors: large elements first, so that all are
// aligned.
constexpr std::array<SafetensorsType, 10> kSafetensorsTypes{{{"I64", at::kLong},
                                                             {"F64", at::kDouble},
                                                             {"F32", at::kFloat},
                                                             {"I32", at::kInt},
                                                             {"BF16", at::kBFloat16},
                                                             {"F16", at::kHalf},
                                                             {"I16", at::kShort},
                                                             {"I8", at::kChar},
                                                             {"U8", at::kByte},
                                                             {"BOOL", at::kBool}}};

}  // namespace ampgate::cases
