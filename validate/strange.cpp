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
  std::vector<Strange> strangest(static_cast<std::size_t>(unit_count(values.count())));
  for_each_unit(values.count(), [&](std::int64_t unit, std::int64_t begin, std::int64_t end) {
    std::array<double, kBlock> value_buffer;
    std::array<double, kBlock> other_buffer{};
    Strange& most = strangest[static_cast<std::size_t>(unit)];
    for (std::int64_t start = begin; start < end; start += kBlock) {
      const std::int64_t length = std::min(kBlock, end - start);
      const double* const value = values.read(start, length, value_buffer.data());
      const double* const other =
          expected ? expected->read(start, length, other_buffer.data()) : other_buffer.data();
      for (std::int64_t i = 0; i < length; ++i) {
        const double by = strangeness(value[i], other[i]);
        if (by > most.by) most = {by, start + i};
      }
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
