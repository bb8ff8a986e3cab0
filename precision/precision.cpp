#include "precision/precision.h"

#include <array>
#include <stdexcept>

namespace ampgate::precision {
namespace {

constexpr std::array kPrecisions{
    Precision{"fp32", Mode::kNative, c10::ScalarType::Float, false, false},
    Precision{"tf32", Mode::kNative, c10::ScalarType::Float, true, false},
    Precision{"autocast-fp16", Mode::kAutocast, c10::ScalarType::Half, false, false},
    Precision{"autocast-bf16", Mode::kAutocast, c10::ScalarType::BFloat16, false, false},
    Precision{"cast-fp16", Mode::kCast, c10::ScalarType::Half, false, false},
    Precision{"cast-bf16", Mode::kCast, c10::ScalarType::BFloat16, false, false},
    Precision{"islands-fp16", Mode::kAutocast, c10::ScalarType::Half, false, true},
    Precision{"islands-bf16", Mode::kAutocast, c10::ScalarType::BFloat16, false, true},
};

}  // namespace

std::span<const Precision> all() { return kPrecisions; }

const Precision& find(std::string_view name) {
  for (const auto& precision : kPrecisions) {
    if (precision.name == name) return precision;
  }
  std::string known;
  for (const auto& precision : kPrecisions)
    known += std::string(known.empty() ? "" : ", ") + std::string(precision.name);
  throw std::invalid_argument("unknown precision '" + std::string(name) + "'; known: " + known);
}

const Precision& without_islands(const Precision& precision) {
  for (const auto& other : kPrecisions) {
    if (other.mode == precision.mode && other.type == precision.type && other.tf32 == precision.tf32 &&
        !other.islands) {
      return other;
    }
  }
  throw std::invalid_argument("precision '" + std::string(precision.name) + "' has no form without islands");
}

std::string type_name(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Half:
      return "float16";
    case c10::ScalarType::BFloat16:
      return "bfloat16";
    case c10::ScalarType::Float:
      return "float32";
    case c10::ScalarType::Double:
      return "float64";
    case c10::ScalarType::Long:
      return "int64";
    case c10::ScalarType::Int:
      return "int32";
    case c10::ScalarType::Short:
      return "int16";
    case c10::ScalarType::Char:
      return "int8";
    case c10::ScalarType::Byte:
      return "uint8";
    case c10::ScalarType::Bool:
      return "bool";
    default:
      return c10::toString(type);
  }
}

}  // namespace ampgate::precision
