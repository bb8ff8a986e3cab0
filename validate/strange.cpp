#include "validate/strange.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "validate/elements.h"

namespace ampgate::validate {
namespace {

struct Strange {
  double by = -1.0;  // infinite where only one of the two is finite
  std::int64_t index = 0;
};

double strangeness(double value, double expected) {
  if (!std::isfinite(value) && !std::isfinite(expected)) return 0.0;
  const double distance = std::abs(value - expected);
  return std::isnan(distance) ? std::numeric_limits<double>::infinity() : distance;
}

}  // namespace

std::vector<std::vector<std::int64_t>> strange_elements(const at::Tensor& output, const at::Tensor* baseline,
                                                        std::size_t count) {
  const Elements values(output);
  std::optional<Elements> expected;
  if (baseline != nullptr && baseline->sizes() == output.sizes()) expected.emplace(*baseline);
  std::vector<Strange> strangest(static_cast<std::size_t>(block_count(values.count())));
  for_each_stretch(values.count(), [&](std::int64_t block, std::int64_t start, std::int64_t length) {
    std::array<double, kStretch> value;
    std::array<double, kStretch> other{};
    values.read(start, length, value.data());
    if (expected) expected->read(start, length, other.data());
    Strange& most = strangest[static_cast<std::size_t>(block)];
    for (std::int64_t i = 0; i < length; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double by = strangeness(value[at], other[at]);
      if (by > most.by) most = {by, start + i};
    }
  });
  const auto last = strangest.begin() + static_cast<std::ptrdiff_t>(std::min(count, strangest.size()));
  std::partial_sort(strangest.begin(), last, strangest.end(),
                    [](const Strange& a, const Strange& b) { return a.by > b.by; });
  std::vector<std::vector<std::int64_t>> positions;
  for (auto one = strangest.begin(); one != last; ++one)
    positions.push_back(position_of(one->index, output.sizes()));
  return positions;
}

}  // namespace ampgate::validate
