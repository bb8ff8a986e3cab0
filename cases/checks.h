// The positions at which evidence says what an output may be: RN(y - E) and RN(y + E), in logical order.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace ampgate::cases {

// The output's elements there, widened. Throws std::out_of_range for a position that the output has not.
std::vector<double> values_at(const at::Tensor& output, const std::vector<std::int64_t>& positions);

// NaN is allowed where both limits are NaN, and nowhere else.
bool allowed(double value, double low, double high);

}  // namespace ampgate::cases
