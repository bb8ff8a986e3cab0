#include "validate/training/underflow.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstdint>

namespace ampgate::validate {
namespace {

constexpr double kFactors[] = {16, 256, 65536, 4294967296.0};
// What is still zero with this scale is under 2^-56 in FP16 if it underflows: nothing beside a loss near 1.
constexpr double kDecides = 4294967296.0;

// The elements of one parameter that are zero in the trial alone.
struct Zeros {
  at::Tensor open;       // not told yet
  at::Tensor underflow;  // not zero with a larger scale
  std::int64_t in_fp64 = 0;
};

std::int64_t count(const at::Tensor& mask) { return mask.sum().item<std::int64_t>(); }

std::vector<Zeros> zeros_of(const std::vector<at::Tensor>& trial, const std::vector<at::Tensor>& fp64) {
  std::vector<Zeros> zeros;
  for (std::size_t i = 0; i < fp64.size(); ++i) {
    zeros.emplace_back();
    if (!fp64[i].defined()) continue;
    const at::Tensor has = fp64[i] != 0;
    zeros.back().open = trial[i].defined() ? has.logical_and(trial[i] == 0) : has;
    zeros.back().underflow = at::zeros_like(has);
    zeros.back().in_fp64 = count(has);
  }
  return zeros;
}

bool any_open(const std::vector<Zeros>& zeros) {
  return std::any_of(zeros.begin(), zeros.end(),
                     [](const Zeros& own) { return own.open.defined() && own.open.any().item<bool>(); });
}

// Returns whether anything was finite.
bool look_again(std::vector<Zeros>& zeros, const std::vector<at::Tensor>& larger, bool decides) {
  bool finite = false;
  for (std::size_t i = 0; i < zeros.size(); ++i) {
    Zeros& own = zeros[i];
    if (!own.open.defined() || !larger[i].defined()) continue;
    const at::Tensor usable = larger[i].isfinite();
    finite = finite || usable.any().item<bool>();
    const at::Tensor revived = own.open.logical_and(usable).logical_and(larger[i] != 0);
    own.underflow = own.underflow.logical_or(revived);
    own.open = own.open.logical_and(decides ? usable.logical_not() : revived.logical_not());
  }
  return finite;
}

}  // namespace

ZeroShares zero_shares(const std::vector<at::Tensor>& trial, const std::vector<at::Tensor>& fp64,
                       double scale, const std::function<std::vector<at::Tensor>(double scale)>& with_scale,
                       double smallest_normal) {
  const at::NoGradGuard no_grad;
  std::vector<Zeros> zeros = zeros_of(trial, fp64);
  std::vector<std::int64_t> zeroed;
  for (const auto& own : zeros) zeroed.push_back(own.open.defined() ? count(own.open) : 0);
  for (const double factor : kFactors) {
    if (!any_open(zeros) || !look_again(zeros, with_scale(scale * factor), scale * factor >= kDecides)) break;
  }
  ZeroShares shares;
  std::int64_t all = 0, underflow = 0, cancelled = 0;
  for (std::size_t i = 0; i < zeros.size(); ++i) {
    std::int64_t lost = 0;
    if (zeros[i].open.defined())
      lost = count(
          zeros[i].underflow.logical_or(zeros[i].open.logical_and(fp64[i].abs() * scale < smallest_normal)));
    shares.lost.push_back(lost > 0 && lost == zeros[i].in_fp64);
    all += zeros[i].in_fp64;
    underflow += lost;
    cancelled += zeroed[i] - lost;
  }
  if (all > 0) {
    shares.underflow = static_cast<double>(underflow) / static_cast<double>(all);
    shares.cancelled = static_cast<double>(cancelled) / static_cast<double>(all);
  }
  return shares;
}

}  // namespace ampgate::validate
