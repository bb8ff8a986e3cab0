#include "validate/cost_report.h"

#include <ATen/ops/abs.h>

#include <limits>

#include "precision/formats.h"
#include "validate/compare.h"
#include "validate/output_rules.h"

namespace ampgate::validate {
namespace {

using results::Json;
using results::Verdict;

// What right kernels may differ by on one output; undefined where the criterion knows no bound.
Bound cost_bound(const Criterion& criterion, const Reference& baseline, std::size_t output) {
  Bound bound;
  if (output >= criterion.bounds.size()) return bound;
  const at::Tensor& y = baseline.oracle[output];
  const double rounding = precision::format_of(at::kFloat).unit_roundoff();
  bound.error = (criterion.oracle[output] - y).abs_().add_(criterion.bounds[output].error);
  bound.error.add_(y.abs(), rounding).add_(precision::format_of(at::kFloat).smallest_subnormal());
  if (output < baseline.bounds.size()) bound.error.add_(baseline.bounds[output].error);
  return bound;
}

// The members that need a bound, from the part of the output that is judged.
void add_bound(const Bound& bound, const at::Tensor& output, const at::Tensor& baseline, const Sample& sample,
               Json& json) {
  results::Rules rules;
  rules.bounds.ill_conditioned = std::numeric_limits<double>::max();  // a report leaves nothing out
  const Comparison comparison =
      compare(sample.select(output), sample.select(baseline).to(at::kCPU, at::kDouble), bound, rules);
  json.update({{"bound", results::number(comparison.bound)},
               {"margin", results::number(comparison.margin)},
               {"position", sample.whole_position(comparison.position)},
               {"expected", results::number(comparison.expected)},
               {"actual", results::number(comparison.actual)},
               {"max_ulp", comparison.max_ulp}});
}

Json cost_json(const std::string& output, const Cost& cost) {
  return {{"output", output},
          {"max_abs_error", results::number(cost.max_abs_error)},
          {"max_abs_error_position", cost.position},
          {"position", cost.position},
          {"expected", results::number(cost.expected)},
          {"actual", results::number(cost.actual)},
          {"relative_rms_error", results::number(cost.relative_rms_error)},
          {"mean_signed_error", results::number(cost.mean_signed_error)}};
}

void judge_masks(const std::string& name, const Cost& cost, Judgement& judgement) {
  const std::int64_t masks = cost.nan_mismatch + cost.inf_mismatch;
  if (!cost.problem.empty()) {
    judgement.worsen(Verdict::kInaccurate,
                     name + " cannot be compared with the FP32 baseline: " + cost.problem);
  } else if (masks > 0) {
    judgement.worsen(Verdict::kNonfinite,
                     std::to_string(masks) + " of " + std::to_string(cost.elements) + " elements of " + name +
                         " are NaN or infinite where the FP32 baseline is not, or the reverse");
  }
}

}  // namespace

Json report_cost(CaseSetup& setup, const Criterion& criterion, const cases::Outputs& outputs,
                 const cases::Outputs& baseline, Judgement& judgement) {
  const Reference& reference =
      setup.references.get(setup.original, precision::baseline(), at::kFloat, criterion.sample);
  const results::Rules& rules = setup.session.rules;
  Json worst;
  double largest = -1.0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = setup.definition.outputs[i];
    // Integers are compared with the oracle alone: whether they are equal says all.
    if (!outputs[i].is_floating_point() || !why_ignored(rules, setup.definition.name, name).empty()) continue;
    const Cost cost = precision_cost(outputs[i], baseline[i]);
    judge_masks(name, cost, judgement);
    judge_cost(rules, setup.definition.name, name, cost, judgement);
    if (!cost.problem.empty() || !(cost.relative_rms_error > largest)) continue;
    largest = cost.relative_rms_error;
    worst = cost_json(name, cost);
    const Bound bound = cost_bound(criterion, reference, i);
    if (bound.error.defined() && criterion.sample.misfit(outputs[i]).empty()) {
      add_bound(bound, outputs[i], baseline[i], criterion.sample, worst);
    } else {
      worst["absent"] = {{"bound", "no bound is known for this operator"}};
    }
  }
  return worst;
}

}  // namespace ampgate::validate
