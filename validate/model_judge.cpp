#include "validate/model_judge.h"

#include <ATen/ops/clamp_min.h>

#include <limits>

#include "validate/compare.h"
#include "validate/comparison_json.h"
#include "validate/exact.h"
#include "validate/output_rules.h"
#include "validate/text.h"

namespace ampgate::validate {
namespace {

using results::Json;
using results::Verdict;

constexpr double kElementDeviations = 8.0;
constexpr const char* kCriterion = "replay with random rounding; operators not checked one by one";

}  // namespace

Bound replay_bound(const Replay& prediction, std::size_t output) {
  Bound bound;
  bound.error =
      (prediction.deviation[output].clamp_min(prediction.rms[output]) * kElementDeviations).contiguous();
  bound.criterion = kCriterion;
  bound.source = "8 x the larger of the element's and the output's RMS deviation in the replay";
  return bound;
}

Judgement judge_model(const results::Rules& rules, const cases::Case& definition,
                      const cases::Outputs& outputs, const cases::Outputs& oracle, const Replay& prediction) {
  Judgement judgement;
  const auto keep_worst = [&](double margin, Json json) {
    if (!judgement.kernel_error.empty() && !(margin > judgement.margin)) return;
    judgement.margin = margin;
    judgement.kernel_error = std::move(json);
  };
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = definition.outputs[i];
    if (!why_ignored(rules, definition.name, name).empty()) continue;
    Judgement own;
    if (!oracle[i].is_floating_point()) {
      const at::Tensor varies = i < prediction.varies.size() ? prediction.varies[i] : at::Tensor();
      const ExactComparison exact = compare_exactly(outputs[i], oracle[i], varies);
      judge_exact(name, exact, own);
      judgement.add(own);
      keep_worst(exact.unexplained > 0 ? std::numeric_limits<double>::infinity() : 0.0,
                 exact_json(name, exact));
      continue;
    }
    const Comparison comparison = compare(outputs[i], oracle[i], replay_bound(prediction, i), rules);
    const double limit = rules.bounds.model_ratio * prediction.rms[i];
    const double margin = comparison.rms_error == 0.0 ? 0.0 : comparison.rms_error / limit;
    const std::int64_t masks = comparison.nan_mismatch + comparison.inf_mismatch;
    const std::string place = name + text(comparison.position) + " is " + text(comparison.actual) +
                              " where the oracle gives " + text(comparison.expected);
    if (!comparison.problem.empty()) {
      own.worsen(Verdict::kInaccurate, name + " cannot be compared: " + comparison.problem);
    } else if (masks > 0) {
      own.worsen(Verdict::kNonfinite, place + ": NaN or infinity differs from the rounded oracle; " +
                                          std::to_string(masks) + " of " +
                                          std::to_string(comparison.elements) + " elements differ");
    } else if (!(margin <= 1.0)) {
      own.worsen(Verdict::kInaccurate, name + ": RMS error " + text(comparison.rms_error) + " is more than " +
                                           text(rules.bounds.model_ratio) + " times the " +
                                           text(prediction.rms[i]) +
                                           " that the replay with random rounding predicts; worst: " + place);
    }
    judge_margin(rules, definition.name, name, margin, own);
    judgement.add(own);
    Json json{{"criterion", kCriterion},
              {"bound", results::number(limit)},
              {"margin", results::number(margin)},
              {"rms_error", results::number(comparison.rms_error)},
              {"predicted_rms_error", results::number(prediction.rms[i])}};
    json.update(comparison_json(name, comparison));
    json["rejected"] = comparison.rejected + comparison.between;
    keep_worst(margin, std::move(json));
  }
  return judgement;
}

}  // namespace ampgate::validate
