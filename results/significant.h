// Numbers in reasons: three significant digits.
#pragma once

#include <cstdio>
#include <string>

namespace ampgate::results {

// "1.23", "0.0456", "4.56e+04"
inline std::string significant(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

}  // namespace ampgate::results
