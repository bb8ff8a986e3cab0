#include "validate/spread.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "precision/formats.h"
#include "validate/elements.h"

namespace ampgate::validate {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool comparable(const at::Tensor& a, const at::Tensor& b) {
  return a.defined() && b.defined() && a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type();
}

// Indices, masks: small beside what floating outputs can be.
Spread integer_spread(const at::Tensor& first, const at::Tensor& other) {
  const at::Tensor distance = (first.to(at::kDouble) - other.to(at::kDouble)).abs();
  if (distance.numel() == 0) return {};
  return {.elements = distance.numel(),
          .differing = distance.count_nonzero().item<std::int64_t>(),
          .max_abs_difference = distance.max().item<double>()};
}

void block_spread(const Elements& first, const Elements& other, const precision::Format& format,
                  std::int64_t start, std::int64_t count, Spread& spread) {
  std::array<double, kBlock> first_buffer;
  std::array<double, kBlock> other_buffer;
  const auto width = static_cast<std::size_t>(first.width());
  const auto* a = static_cast<const char*>(first.raw(start, count, first_buffer.data()));
  const auto* b = static_cast<const char*>(other.raw(start, count, other_buffer.data()));
  if (std::memcmp(a, b, width * static_cast<std::size_t>(count)) == 0) return;

  std::vector<std::int64_t> differing;
  for (std::int64_t i = 0; i < count; ++i, a += width, b += width) {
    if (std::memcmp(a, b, width) != 0) differing.push_back(i);
  }
  spread.differing += std::ssize(differing);
  const double* const x = first.read(start, count, first_buffer.data());
  const double* const y = other.read(start, count, other_buffer.data());
  for (const std::int64_t i : differing) {
    if (std::isnan(x[i]) && std::isnan(y[i])) continue;  // another payload
    const bool finite = std::isfinite(x[i]) && std::isfinite(y[i]);
    spread.max_abs_difference =
        std::max(spread.max_abs_difference, finite ? std::abs(x[i] - y[i]) : kInfinity);
    if (finite) spread.max_ulp = std::max(spread.max_ulp, precision::ulp_distance(x[i], y[i], format));
  }
}

Spread tensor_spread(const at::Tensor& first, const at::Tensor& other) {
  if (!first.is_floating_point()) return integer_spread(first, other);
  const Elements a(first);
  const Elements b(other);
  const auto& format = precision::format_of(first.scalar_type());
  std::vector<Spread> units(static_cast<std::size_t>(unit_count(a.count())));
  for_each_unit(a.count(), [&](std::int64_t unit, std::int64_t begin, std::int64_t end) {
    for (std::int64_t start = begin; start < end; start += kBlock) {
      block_spread(a, b, format, start, std::min(kBlock, end - start), units[static_cast<std::size_t>(unit)]);
    }
  });
  Spread total;
  for (const Spread& unit : units) total.merge(unit);
  total.elements = a.count();
  return total;
}

}  // namespace

void Spread::merge(const Spread& other) {
  elements = std::max(elements, other.elements);
  differing += other.differing;
  max_abs_difference = std::max(max_abs_difference, other.max_abs_difference);
  max_ulp = std::max(max_ulp, other.max_ulp);
}

Spread spread_of(const cases::Outputs& first, const cases::Outputs& other) {
  Spread total;
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    elements += first[i].numel();
    if (i >= other.size() || !comparable(first[i], other[i])) {
      total.merge({.differing = first[i].numel(), .max_abs_difference = kInfinity});
      continue;
    }
    total.merge(tensor_spread(first[i], other[i]));
  }
  total.elements = elements;
  return total;
}

results::Json to_json(const Spread& spread) {
  return {{"elements_differing", spread.differing},
          {"elements", spread.elements},
          {"max_abs_difference", results::number(spread.max_abs_difference)},
          {"max_ulp", spread.max_ulp}};
}

}  // namespace ampgate::validate
