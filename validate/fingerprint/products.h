// Matrix products with few terms along K, over layouts and sizes: libraries choose kernels by both.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "results/json.h"

namespace ampgate::validate::fingerprint {

// a · b at position `at` along K.
struct Term {
  std::int64_t at = 0;
  double a = 0;
  double b = 0;
};

struct Size {
  std::int64_t m = 1;
  std::int64_t n = 1;
  std::int64_t k = 1;
};

// The sizes that a probe of `depth` terms runs in.
std::vector<Size> sizes_for(std::int64_t depth);

struct Outcomes {
  std::map<std::string, int> seen;  // value -> layouts and sizes that gave it
  results::Json raw;                // {"values": [...], "NN": "00010", ...}: by size, an index into values
};

// Every row of A and every column of B holds the terms, the rest is zero; so all elements should be alike.
// Where they are not, the value is all that were seen, joined by '|'.
Outcomes products(c10::Device device, c10::ScalarType type, const std::vector<Term>& terms,
                  const std::vector<Size>& sizes);

}  // namespace ampgate::validate::fingerprint
