// Numbers and positions in the sentences that explain a verdict.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ampgate::validate {

std::string text(double value);                               // six significant digits
std::string text(const std::vector<std::int64_t>& position);  // "[3, 7]"

}  // namespace ampgate::validate
