#include "driver/words.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

namespace ampgate::driver {

std::string three_digits(double value) {
  const double size = std::abs(value);
  return fmt::format("{:.{}f}", value, size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

std::string time_words(double nanoseconds) {
  if (nanoseconds >= 1e9) return three_digits(nanoseconds / 1e9) + " s ";
  if (nanoseconds >= 1e6) return three_digits(nanoseconds / 1e6) + " ms";
  if (nanoseconds >= 1e3) return three_digits(nanoseconds / 1e3) + " us";
  return three_digits(nanoseconds) + " ns";
}

std::string bytes_words(double bytes) {
  constexpr std::array<std::string_view, 6> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : three_digits(bytes) + " " + std::string(kUnits[unit]);
}

std::string tflops_words(double tflops) {
  return tflops < 0.1 ? three_digits(1e3 * tflops) + " GFLOP/s" : three_digits(tflops) + " TFLOP/s";
}

std::string ratio_words(double ratio) {
  return ratio < 0.1 ? fmt::format("{:.2g}", ratio) : fmt::format("{:.2f}", ratio);
}

}  // namespace ampgate::driver
