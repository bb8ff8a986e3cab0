#include "validate/training/shadow_judge.h"

#include <algorithm>
#include <cmath>

#include "validate/text.h"

namespace ampgate::validate {
namespace {

using results::Json;
using results::Verdict;

constexpr double kFp32GradientError = 1e-4;  // of a shadow step in FP32: it finds gradients that are wrong
// Of the whole gradient's norm: a parameter whose exact gradient is 0, as that of a bias before a batch norm,
// has rounding for one.
constexpr double kNoise = 1e-6;
constexpr double kWrongParameter = 0.5;  // of one parameter's own gradient: reported

// Near a minimum the gradient itself vanishes, and what is left of it is rounding: where its norm is under a
// tenth of the largest, the final quality alone decides.
constexpr double kVanished = 0.1;

std::string percent(double share) { return text(100 * share) + " %"; }

std::string where_words(const ShadowStep& shadow) {
  return "at step " + std::to_string(shadow.step) + " of the FP32 training ";
}

// What says something about the trial's gradients.
std::vector<const ShadowStep*> judged(const std::vector<ShadowStep>& shadows) {
  double largest = 0;
  for (const auto& shadow : shadows) largest = std::max(largest, shadow.norm);
  std::vector<const ShadowStep*> found;
  for (const auto& shadow : shadows) {
    if (shadow.norm >= kVanished * largest) found.push_back(&shadow);
  }
  return found;
}

// The whole gradient may hide a parameter that is small beside the others.
void judge_parameters(const std::vector<const ShadowStep*>& shadows, const WatchedRun& fp32,
                      Judgement& judgement) {
  if (shadows.empty()) return;
  for (std::size_t i = 0; i < fp32.parameters.size(); ++i) {
    const auto all = [&](auto holds) { return std::all_of(shadows.begin(), shadows.end(), holds); };
    const std::string name = "'" + fp32.parameters[i] + "'";
    if (fp32.trained[i] && all([&](const ShadowStep* shadow) { return shadow->zeros.lost[i]; })) {
      judgement.worsen(
          Verdict::kInaccurate,
          "parameter " + name +
              " gets no gradient: in every shadow step all of it underflows to zero; FP32 trains "
              "it, and here it stays as it was");
    } else if (all([&](const ShadowStep* shadow) {
                 return shadow->errors[i] > kWrongParameter && std::isfinite(shadow->errors[i]) &&
                        shadow->norms[i] > kNoise * shadow->norm;
               })) {
      double least = shadows.front()->errors[i];
      for (const auto* shadow : shadows) least = std::min(least, shadow->errors[i]);
      judgement.findings.push_back({"ordinary", "parameter-gradient",
                                    "the gradient of " + name + " is off by " + text(least) +
                                        " or more of its own norm in every shadow step; beside the other "
                                        "parameters' it weighs little"});
    }
  }
}

void report_zeros(const std::vector<ShadowStep>& trial, const std::vector<ShadowStep>& without_scaler,
                  double limit, Judgement& judgement) {
  const auto most = [](const std::vector<ShadowStep>& shadows, double ZeroShares::*share) {
    double largest = 0;
    for (const auto& shadow : shadows) largest = std::max(largest, shadow.zeros.*share);
    return largest;
  };
  const double lost = most(without_scaler, &ZeroShares::underflow);
  if (lost > limit) {
    judgement.findings.push_back(
        {"ordinary", "underflow-without-scaler",
         "without the scaler " + percent(lost) +
             " of the gradients that FP64 has would be zero: they underflow" +
             (most(trial, &ZeroShares::underflow) > limit ? "" : ", and scaling heals it")});
  }
  if (const double cancelled = most(trial, &ZeroShares::cancelled); cancelled > limit) {
    judgement.findings.push_back({"ordinary", "cancelled",
                                  percent(cancelled) +
                                      " of the gradients that FP64 has are zero, and stay so with a larger "
                                      "scale: nothing underflows, their terms cancel when they are rounded"});
  }
}

}  // namespace

std::vector<int> shadow_steps(const results::Rules::Training& rules) {
  std::vector<int> steps;
  for (int i = 0; i < rules.shadow_steps; ++i) {
    const int step = rules.shadow_steps == 1 ? 0 : i * (rules.updates - 1) / (rules.shadow_steps - 1);
    if (steps.empty() || steps.back() != step) steps.push_back(step);
  }
  return steps;
}

double scale_at(const WatchedRun& trial, std::size_t step) {
  for (std::size_t i = step; i < trial.steps.size(); ++i) {
    if (trial.steps[i].applied()) return trial.steps[i].scale;
  }
  return trial.steps.at(step).scale;
}

Shadows take_shadows(const TrainingSetup& setup, const Way& way, const WatchedRun& fp32,
                     const WatchedRun& trial) {
  const auto oracle = setup.oracle(setup.session.seed);
  Shadows shadows;
  for (const cases::Checkpoint& state : fp32.shadows) {
    const auto step = state.state.at("iteration").get<std::size_t>();
    const auto right = unscaled_gradients(*oracle, state);
    shadows.trial.push_back(shadow_step(setup, way, state, right, scale_at(trial, step)));
    if (way.scaler)
      shadows.without_scaler.push_back(shadow_step(setup, {way.precision, false}, state, right, 1));
  }
  return shadows;
}

void judge_shadow(const results::Rules::Training& rules, const Way& way, const ShadowStep& shadow,
                  Judgement& judgement) {
  const bool baseline = way.precision.name == precision::baseline().name;
  const double limit = baseline ? kFp32GradientError : rules.max_gradient_error;
  const std::string where = where_words(shadow);
  if (std::isinf(shadow.error)) {
    // A scale that is still too large gives infinities, and the step is skipped: the scaler's business.
    if (!way.scaler) judgement.worsen(Verdict::kNonfinite, where + "gradients are not finite");
  } else if (shadow.error > limit) {
    judgement.worsen(Verdict::kInaccurate, where + "the gradient is off by " + text(shadow.error) +
                                               " of FP64's norm; " + text(limit) + " are allowed");
  }
  if (shadow.zeros.underflow > rules.max_zeroed_share) {
    judgement.worsen(Verdict::kInaccurate,
                     where + percent(shadow.zeros.underflow) + " of the gradients that FP64 has are zero; " +
                         percent(rules.max_zeroed_share) + " are allowed: they underflow");
  }
}

const cases::Checkpoint* judge_shadows(const results::Rules::Training& rules, const Way& way,
                                       const Shadows& shadows, const WatchedRun& fp32, Judgement& judgement) {
  const cases::Checkpoint* failed = nullptr;
  const auto worth_judging = judged(shadows.trial);
  for (const ShadowStep* shadow : worth_judging) {
    Judgement own;
    judge_shadow(rules, way, *shadow, own);
    if (own.verdict == Verdict::kPass) continue;
    if (failed == nullptr) failed = &fp32.shadows.at(static_cast<std::size_t>(shadow - shadows.trial.data()));
    judgement.worsen(own.verdict, own.reason);
  }
  const Verdict before = judgement.verdict;
  judge_parameters(worth_judging, fp32, judgement);
  if (failed == nullptr && judgement.verdict != before) failed = &fp32.shadows.front();
  report_zeros(shadows.trial, shadows.without_scaler, rules.max_zeroed_share, judgement);
  return failed;
}

Json to_json(const Shadows& shadows, const std::vector<std::string>& parameters) {
  Json list = Json::array();
  for (std::size_t i = 0; i < shadows.trial.size(); ++i) {
    list.push_back(to_json(shadows.trial[i], parameters));
    if (shadows.without_scaler.empty()) continue;
    const ShadowStep& without = shadows.without_scaler[i];
    list.back()["without_scaler"] = {{"gradient_error", results::number(without.error)},
                                     {"zeroed_share", without.zeros.underflow}};
  }
  return list;
}

}  // namespace ampgate::validate
