#include "validate/one_sided.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "precision/formats.h"
#include "validate/text.h"

namespace ampgate::validate {
namespace {

constexpr std::int64_t kFewestTosses = 128;
constexpr double kOneSided = 0.75;

}  // namespace

std::string one_sided_rounding(const at::Tensor& output, const at::Tensor& oracle) {
  if (!precision::is_16_bit(output.scalar_type())) return {};
  const at::Tensor out = output.cpu().to(at::kDouble).abs().flatten();
  const at::Tensor exact = oracle.abs().flatten();
  const at::Tensor inexact = out.isfinite().logical_and_(exact.isfinite()).logical_and_(out.ne(exact));
  const at::Tensor below = out.lt(exact).masked_select(inexact);
  const auto [values, place, count] =
      at::_unique2(exact.masked_select(inexact), /*sorted=*/false, /*return_inverse=*/true);
  const std::int64_t tosses = values.numel();
  if (tosses < kFewestTosses) return {};
  // Of equal exact values the last one counts.
  const at::Tensor tossed = at::zeros({tosses}, at::kBool).scatter_(0, place, below);
  const double share = static_cast<double>(tossed.sum().item<std::int64_t>()) / static_cast<double>(tosses);
  if (std::max(share, 1.0 - share) < kOneSided) return {};
  return text(100.0 * std::max(share, 1.0 - share)) + " % of " + std::to_string(tosses) +
         " inexact results are " + (share < 0.5 ? "farther from" : "nearer to") + " zero than the oracle";
}

}  // namespace ampgate::validate
