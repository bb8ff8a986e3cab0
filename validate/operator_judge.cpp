#include "validate/operator_judge.h"

#include <algorithm>
#include <limits>

#include "precision/formats.h"
#include "validate/compare.h"
#include "validate/comparison_json.h"
#include "validate/exact.h"
#include "validate/one_sided.h"
#include "validate/output_rules.h"
#include "validate/text.h"

namespace ampgate::validate {
namespace {

using results::Json;
using results::Verdict;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string place(const std::string& output, const Comparison& comparison) {
  return output + text(comparison.position) + " is " + text(comparison.actual) + " where the oracle gives " +
         text(comparison.expected);
}

// The oracle's value as the type can hold it: what the masks were compared with.
std::string rounded_place(const std::string& output, const Comparison& comparison, c10::ScalarType type) {
  return output + text(comparison.position) + " is " + text(comparison.actual) +
         " where the rounded oracle gives " +
         text(precision::round_to(comparison.expected, precision::format_of(type)));
}

std::string share(std::int64_t count, const Comparison& comparison, const std::string& what) {
  return std::to_string(count) + " of " + std::to_string(comparison.elements) + " elements" + what;
}

void judge_suspect(const std::string& name, const at::Tensor& output, const at::Tensor& oracle,
                   const Comparison& comparison, const Bound& bound, Judgement& judgement) {
  const std::string outside = place(name, comparison) + ": outside the " + bound.criterion + " of " +
                              text(comparison.bound) + ", margin " + text(comparison.margin);
  if (const std::string one_sided = one_sided_rounding(output, oracle); !one_sided.empty()) {
    judgement.worsen(Verdict::kInaccurate, outside + "; " + bound.hard_source +
                                               " would explain it but for this: " + one_sided +
                                               ", so the result is not rounded to nearest");
    return;
  }
  judgement.worsen(Verdict::kSuspect, outside + ", but " + bound.hard_source + " can explain it; " +
                                          share(comparison.between, comparison, " are in between"));
}

void judge_bound(const std::string& name, const at::Tensor& output, const at::Tensor& oracle,
                 const Comparison& comparison, const Bound& bound, Judgement& judgement) {
  const std::int64_t masks = comparison.nan_mismatch + comparison.inf_mismatch;
  if (!comparison.problem.empty()) {
    judgement.worsen(Verdict::kInaccurate, name + " cannot be compared: " + comparison.problem);
  } else if (masks > 0) {
    judgement.worsen(Verdict::kNonfinite, rounded_place(name, comparison, output.scalar_type()) +
                                              "; NaN or infinity differs at " + share(masks, comparison, ""));
  } else if (comparison.rejected > 0) {
    judgement.worsen(Verdict::kInaccurate, place(name, comparison) + ": outside the " + bound.criterion +
                                               " of " + text(comparison.bound) + ", margin " +
                                               text(comparison.margin) + "; " +
                                               share(comparison.rejected, comparison, " are outside"));
  } else if (comparison.suspect()) {
    judge_suspect(name, output, oracle, comparison, bound, judgement);
  } else if (comparison.undecided() && comparison.max_ulp > 0) {
    judgement.worsen(Verdict::kAmbiguous, name +
                                              " could not be judged: every element is ill-conditioned, its " +
                                              bound.criterion + " is as large as the output itself");
  }
  if (!bound.finding.empty()) judgement.findings.push_back({"ordinary", "property", bound.finding});
  if (comparison.problem.empty() && comparison.ill_conditioned > 0) {
    judgement.findings.push_back(
        {"ordinary", "ill-conditioned",
         share(comparison.ill_conditioned, comparison,
               " of " + name + " have a bound as large as the output's own scale; they were not judged")});
  }
}

Json bounded_json(const std::string& name, const Comparison& comparison, const Bound& bound, double margin) {
  Json json{{"criterion", bound.criterion},
            {"source", bound.source},
            {"bound", results::number(comparison.bound)},
            {"margin", results::number(margin)}};
  json.update(comparison_json(name, comparison));
  if (bound.rms_limit > 0.0) {
    json["rms_error"] = results::number(comparison.rms_error);
    json["rms_limit"] = results::number(bound.rms_limit);
  }
  return json;
}

// The limit on the RMS error, where no bound is known; never more than `suspect`.
void judge_rms(const std::string& name, const at::Tensor& output, const at::Tensor& oracle,
               const Comparison& comparison, const Bound& bound, Judgement& judgement) {
  const std::string numbers = "RMS error " + text(comparison.rms_error) + " of " + text(bound.rms_limit) +
                              " allowed (" + bound.source + ")";
  const std::string worst = "; worst: " + place(name, comparison);
  if (!(comparison.rms_error <= std::max(bound.rms_limit, bound.rms_hard))) {
    judgement.worsen(Verdict::kInaccurate, name + ": " + numbers + worst);
  } else if (const std::string one_sided = one_sided_rounding(output, oracle); !one_sided.empty()) {
    judgement.worsen(Verdict::kInaccurate,
                     name + ": " + one_sided + ", so the result is not rounded to nearest; " + numbers);
  } else if (comparison.rms_error > bound.rms_limit) {
    judgement.worsen(Verdict::kSuspect,
                     name + ": " + numbers + ", but " + bound.hard_source + " can explain it" + worst);
  } else {
    judgement.worsen(Verdict::kSuspect,
                     name + " was judged by the error ratio alone, no bound is known: " + numbers);
  }
}

}  // namespace

Judgement judge_operator(const results::Rules& rules, const cases::Case& definition,
                         const cases::Outputs& outputs, const std::vector<Reference>& references) {
  Judgement judgement;
  const auto keep_worst = [&](double margin, Json json) {
    if (!judgement.kernel_error.empty() && !(margin > judgement.margin)) return;
    judgement.margin = margin;
    if (const Sample& sample = references.front().sample; !sample.whole()) json["sample"] = sample.json();
    judgement.kernel_error = std::move(json);
  };
  std::int64_t compared = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Reference& reference = references[i];
    const std::string& name = definition.outputs[i];
    if (!why_ignored(rules, definition.name, name).empty()) continue;
    Judgement own;
    if (!reference.oracle[i].is_floating_point()) {
      const ExactComparison comparison = compare_exactly(outputs[i], reference.oracle[i], {});
      judge_exact(name, comparison, own);
      compared += comparison.elements;
      keep_worst(comparison.unexplained > 0 ? kInfinity : 0.0, exact_json(name, comparison));
    } else {
      const Bound& bound = reference.bounds[i];
      Comparison comparison = compare(outputs[i], reference.oracle[i], bound, rules);
      comparison.position = reference.sample.whole_position(std::move(comparison.position));
      comparison.largest_at = reference.sample.whole_position(std::move(comparison.largest_at));
      compared += comparison.elements;
      judge_bound(name, outputs[i], reference.oracle[i], comparison, bound, own);
      own.margin = comparison.margin;
      if (bound.rms_limit > 0.0 && comparison.problem.empty()) {
        judge_rms(name, outputs[i], reference.oracle[i], comparison, bound, own);
        own.margin = std::max(own.margin, comparison.rms_error / bound.rms_limit);
      }
      keep_worst(own.margin, bounded_json(name, comparison, bound, own.margin));
    }
    judge_margin(rules, definition.name, name, own.margin, own);
    judgement.add(own);
  }
  if (compared == 0) judgement.worsen(Verdict::kVacuous, "no output has an element that is compared");
  return judgement;
}

}  // namespace ampgate::validate
