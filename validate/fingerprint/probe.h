// Probes of a device's arithmetic: tiny inputs whose outputs tell what an accumulator holds, how a conversion
// rounds, what a NaN does. Values in the comments of the probes come from published models of matrix units
// (Fasi, Higham, Mikaitis and Pranesh 2021; Khattak and Mikaitis 2025), those of CPUs from runs.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <functional>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "results/json.h"

namespace ampgate::validate::fingerprint {

// `raw` is what the device gave, the same at every call; `words` say what it means.
struct Finding {
  results::Json raw;
  std::string words;
};

struct Probe {
  std::string name;  // stable: what two fingerprints are compared by
  std::string asks;
  std::vector<c10::ScalarType> types;  // without one of them there is nothing to ask
  std::function<Finding(c10::Device)> run;
};

// Of products: accumulators, blocks, subnormals, types of partial results.
std::vector<Probe> product_probes();
// Of conversions between types.
std::vector<Probe> conversion_probes();
// Of functions of one and two elements: fused operations, NaN, signed zeros, infinities.
std::vector<Probe> function_probes();
// Of the order in which things are added, and of whether a row's result depends on its neighbours.
std::vector<Probe> order_probes();

}  // namespace ampgate::validate::fingerprint
