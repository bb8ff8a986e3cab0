// The numerics of a precision, as long as the returned object lives.
#pragma once

#include "backends/settings.h"
#include "precision/precision.h"

namespace ampgate::validate {

inline backends::NumericsScope numerics_scope(const precision::Precision& precision) {
  return backends::NumericsScope(precision.name == precision::baseline().name, precision.tf32);
}

}  // namespace ampgate::validate
