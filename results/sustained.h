// What a device keeps up when one trial runs alone for long: bursts are faster than its power and heat allow.
#pragma once

#include <vector>

#include "results/json.h"
#include "results/samples.h"
#include "results/statistics.h"

namespace ampgate::results {

// The samples of the second half of the time: by then clocks have settled.
std::vector<Sample> steady(const std::vector<Row>& rows);

// `sustained` of a measurement: how long it ran, the median of its first tenth against the steady one, what
// the device told of clock, power and temperature, and the energy of a call. `answer` is the worker's: the
// energy and the calls that it took. What the device does not tell is absent.
Json sustained(const std::vector<Row>& rows, const Json& answer);

}  // namespace ampgate::results
