// Numbers as people read them: three significant digits and the unit that fits.
#pragma once

#include <string>

namespace ampgate::driver {

// "1.35", "0.014", "123": three digits.
std::string three_digits(double value);

// "1.23 ms": "+-" is left to the caller.
std::string time_words(double nanoseconds);
std::string bytes_words(double bytes);

// "1.23 TFLOP/s", "45.6 GFLOP/s"
std::string tflops_words(double tflops);

// "1.35", "0.014": two digits at least.
std::string ratio_words(double ratio);

}  // namespace ampgate::driver
