#include "validate/training/shadow.h"

#include <ATen/core/grad_mode.h>

#include <cmath>
#include <limits>

namespace ampgate::validate {
namespace {

double ratio(double numerator, double denominator) {
  if (denominator > 0) return numerator / denominator;
  return numerator > 0 ? std::numeric_limits<double>::infinity() : 0.0;
}

double smallest_normal(c10::ScalarType type) { return type == at::kHalf ? 0x1p-14 : 0x1p-126; }

}  // namespace

std::vector<at::Tensor> unscaled_gradients(cases::Trainer& trainer, const cases::Checkpoint& state) {
  cases::Checkpoint unscaled = state;
  unscaled.state.erase("scaler");
  trainer.restore(unscaled, cases::OtherPrecision::kAllowed);
  trainer.compute_gradients();
  std::vector<at::Tensor> gradients;
  for (const auto& optimizer : trainer.optimizers()) {
    for (const auto& parameter : optimizer->parameters()) {
      const at::Tensor& gradient = parameter.grad();
      gradients.push_back(gradient.defined() ? gradient.to_dense().to(at::kCPU, at::kDouble) : at::Tensor());
    }
  }
  return gradients;
}

ShadowStep compare_gradients(const std::vector<at::Tensor>& trial, const std::vector<at::Tensor>& fp64,
                             std::int64_t step) {
  const at::NoGradGuard no_grad;
  ShadowStep result;
  result.step = step;
  double squared_error = 0, squared_norm = 0, squared_own = 0;
  for (std::size_t i = 0; i < fp64.size(); ++i) {
    if (!fp64[i].defined()) {
      result.errors.push_back(0);
      result.norms.push_back(0);
      continue;
    }
    const at::Tensor own = trial[i].defined() ? trial[i] : fp64[i] * 0;
    const double error = (own - fp64[i]).square().sum().item<double>();
    const double norm = fp64[i].square().sum().item<double>();
    result.errors.push_back(std::isfinite(error) ? ratio(std::sqrt(error), std::sqrt(norm))
                                                 : std::numeric_limits<double>::infinity());
    result.norms.push_back(std::sqrt(norm));
    squared_error += error;
    squared_norm += norm;
    squared_own += own.square().sum().item<double>();
  }
  result.norm = std::sqrt(squared_norm);
  result.own_norm = std::sqrt(squared_own);
  result.error = std::isfinite(squared_error) ? ratio(std::sqrt(squared_error), std::sqrt(squared_norm))
                                              : std::numeric_limits<double>::infinity();
  return result;
}

ShadowStep shadow_step(const TrainingSetup& setup, const Way& way, const cases::Checkpoint& state,
                       const std::vector<at::Tensor>& fp64, double scale) {
  const auto gradients = [&](bool scaler, double own_scale) {
    const auto trainer = setup.trainer({way.precision, scaler}, setup.session.seed, own_scale);
    return unscaled_gradients(*trainer, state);
  };
  const double own = way.scaler ? scale : 1;
  const auto trial = gradients(way.scaler, own);
  ShadowStep shadow = compare_gradients(trial, fp64, state.state.at("iteration").get<std::int64_t>());
  shadow.zeros = zero_shares(
      trial, fp64, own, [&](double larger) { return gradients(true, larger); },
      smallest_normal(way.precision.type));
  return shadow;
}

results::Json to_json(const ShadowStep& step, const std::vector<std::string>& parameters) {
  results::Json json{{"step", step.step},
                     {"gradient_norm", results::number(step.norm)},
                     {"gradient_error", results::number(step.error)},
                     {"zeroed_share", step.zeros.underflow},
                     {"cancelled_share", step.zeros.cancelled},
                     {"parameters", results::Json::object()}};
  for (std::size_t i = 0; i < parameters.size(); ++i)
    json["parameters"][parameters[i]] = results::number(step.errors.at(i));
  return json;
}

}  // namespace ampgate::validate
