// How far two outputs of the same call lie apart.
#pragma once

#include <cstdint>
#include <string>

#include "cases/case.h"
#include "results/json.h"

namespace ampgate::validate {

struct Spread {
  std::int64_t elements = 0;        // of all outputs
  std::int64_t differing = 0;       // bit for bit
  double max_abs_difference = 0.0;  // infinite where only one is NaN or infinite
  std::int64_t max_ulp = 0;         // where both are finite

  void merge(const Spread& other);
};

// Outputs of the same number, types and sizes; others count as differing throughout, by an infinite
// difference.
Spread spread_of(const cases::Outputs& first, const cases::Outputs& other);

// {"elements_differing", "elements", "max_abs_difference", "max_ulp"}
results::Json to_json(const Spread& spread);

}  // namespace ampgate::validate
