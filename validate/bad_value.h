// Why an operator gave a NaN or an infinity: decided by its exact value, from FP64 on its own inputs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "validate/trace.h"

namespace ampgate::validate {

enum class BadReason {
  kOverflow,  // the exact value is beyond the largest finite value of the format
  kDivisionByZero,
  kLogOfZero,    // log of zero or of a negative number
  kInvalid,      // inf - inf, 0 * inf, root of a negative number
  kKernelFault,  // the exact value fits the format
  kUnknown,      // the operator could not be computed in FP64
};
// "overflow", "division by zero", "log of zero or less", "invalid", "none", "unknown"
std::string_view name_of(BadReason reason);

struct Extremes {  // over the finite elements
  double min;
  double max;
};

struct BadValue {
  BadReason reason;
  bool cast = false;                   // lost in a conversion: a cast, or autocast's own inside the operator
  std::size_t output = 0;              // number in the record
  std::vector<std::int64_t> position;  // of the first bad element there
  double actual;                       // NaN or an infinity
  std::optional<double> exact;         // in FP64, or the value before the cast
  std::string text;                    // the reason as a sentence
  // Of the record's tensors; none for integers and where nothing is finite.
  std::vector<std::optional<Extremes>> inputs;
  std::vector<std::optional<Extremes>> outputs;
};

// The bad value that this call made itself: its inputs were finite, or the output is NaN or infinite where
// its inputs do not explain it. None for values that are passed on, constants given by the caller (a mask of
// -inf), views and fresh memory.
std::optional<BadValue> made_bad_value(const CallView& view);

// A tensor of a case as it was set up (FP32) and as the trial stored it: the first element that became
// infinite in the conversion, or was not finite to begin with.
std::optional<BadValue> stored_bad_value(const at::Tensor& original, const at::Tensor& stored);

}  // namespace ampgate::validate
