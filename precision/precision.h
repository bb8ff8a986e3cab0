// The precisions a case can run in, as plain data. Which type, by autocast or by conversion, with TF32 or
// without.
#pragma once

#include <c10/core/ScalarType.h>

#include <span>
#include <string>
#include <string_view>

namespace ampgate::precision {

enum class Mode {
  kNative,    // tensors stay FP32
  kAutocast,  // tensors stay FP32, operators run under autocast
  kCast,      // every floating tensor is converted once, what `.half()` does
};

struct Precision {
  std::string_view name;  // as in trial ids: "autocast-fp16"
  Mode mode;
  c10::ScalarType type;  // the lowest type that the operators may run in
  bool tf32;             // TF32 allowed in FP32 products
  bool islands;          // some regions of the model stay in FP32: a set that phase 1 searches (region.h)
};

// All precisions in the order in which they are run and listed; `fp32`, the baseline, is the first.
std::span<const Precision> all();

// Throws std::invalid_argument that lists the known names.
const Precision& find(std::string_view name);

inline const Precision& baseline() { return all().front(); }

// The same mode and type without islands: what the islands are to heal.
const Precision& without_islands(const Precision& precision);

// "float32", "float16", "bfloat16", "int64"...: the names used in records.
std::string type_name(c10::ScalarType type);

}  // namespace ampgate::precision
