// The faulty kernels behind the kinds of the table.
#pragma once

#include <map>
#include <string>

#include "validate/selftest/call.h"

namespace ampgate::validate::selftest {

// How many of a model's calls that a fault fits are hit.
enum class Hits { kOne, kAll };

struct Fault {
  Kernel kernel;
  Hits hits = Hits::kAll;
  bool may_throw =
      false;  // LibTorch refuses what the next operator gets: the trial `crashed`, which is right
};

using Faults = std::map<std::string, Fault, std::less<>>;

// By the name of the kind: one for each kind of the table.
const Faults& faults();

// Parts of that map, a file each.
void add_element_faults(Faults& faults);   // elements, bits, tiles and rows of the result
void add_rounding_faults(Faults& faults);  // rounding, types and special values
void add_call_faults(Faults& faults);      // what depends on the call
void add_product_faults(Faults& faults);   // products and sums
void add_norm_faults(Faults& faults);
void add_softmax_faults(Faults& faults);  // softmax and attention
void add_other_faults(Faults& faults);    // pointwise, pooling, indices, losses

}  // namespace ampgate::validate::selftest
