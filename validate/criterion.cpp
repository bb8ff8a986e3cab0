#include "validate/criterion.h"

#include <ATen/ATen.h>

#include <cmath>
#include <memory>

#include "precision/formats.h"
#include "validate/model_judge.h"
#include "validate/operator_judge.h"

namespace ampgate::validate {
namespace {

// For the positions that phase 2 checks again where no bound is known: eight times the RMS error that the
// ratio allows, of the elements of one output. Integers are compared exactly.
Bound ratio_bound(const results::Rules& rules, const at::Tensor& oracle, const at::Tensor& output) {
  if (!oracle.is_floating_point() || !output.is_floating_point()) return {};
  const c10::ScalarType type = output.scalar_type();
  const at::Tensor rounding =
      (precision::round_tensor(oracle, type).to(at::kDouble) - oracle).nan_to_num(0.0, 0.0, 0.0);
  const double rms = oracle.numel() == 0 ? 0.0 : std::sqrt(rounding.square().mean().item<double>());
  const double allowed = rules.bounds.error_ratio * rms + precision::format_of(type).smallest_subnormal();
  Bound bound;
  bound.error = at::full_like(oracle, 8.0 * allowed);
  bound.criterion = "error ratio";
  bound.source = "8 x the largest RMS error that the ratio allows";
  return bound;
}

}  // namespace

Criterion operator_criterion(const results::Rules& rules, const cases::Case& definition,
                             const precision::Precision& precision, const cases::State& prepared,
                             const cases::Outputs& outputs, References& references, const Sample& sample) {
  Criterion criterion;
  criterion.sample = sample;
  std::vector<const Reference*> by_output;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Reference& reference = references.get(prepared, precision, judged_type(outputs, i), sample);
    by_output.push_back(&reference);
    criterion.oracle.push_back(reference.oracle[i]);
    criterion.bounds.push_back(reference.bounds.empty() ? ratio_bound(rules, reference.oracle[i], outputs[i])
                                                        : reference.bounds[i]);
    if (i > 0 && by_output[i] == by_output[i - 1]) continue;
    for (const auto& tensor : reference.inputs.overflowed) {
      criterion.findings.push_back({"ordinary", "cast-overflow",
                                    "values of '" + tensor + "' are beyond the largest finite " +
                                        precision::type_name(reference.inputs.operand_type)});
    }
  }
  criterion.judge_part = [&rules, &definition, by_output](const cases::Outputs& part) {
    return judge_operator(rules, definition, part, by_output);
  };
  criterion.judge = [&definition, sample, judge_part = criterion.judge_part](const cases::Outputs& judged) {
    Judgement judgement;
    for (std::size_t i = 0; i < judged.size(); ++i) {
      const std::string misfit = sample.misfit(judged[i]);
      if (misfit.empty()) continue;
      judgement.worsen(results::Verdict::kInaccurate,
                       definition.outputs[i] + " cannot be compared: " + misfit);
      return judgement;
    }
    return judge_part(sample.select(judged));
  };
  return criterion;
}

Criterion model_criterion(const results::Rules& rules, const cases::Case& definition,
                          const cases::Outputs& oracle, const Replay& prediction) {
  Criterion criterion{{}, {}, oracle, {}, {}, {}};
  for (std::size_t i = 0; i < oracle.size(); ++i) criterion.bounds.push_back(replay_bound(prediction, i));
  // Only the deviations are kept: the runs themselves can be large.
  const auto deviations =
      std::make_shared<Replay>(Replay{{}, prediction.deviation, prediction.rms, prediction.varies});
  criterion.judge = [&rules, &definition, oracle, deviations](const cases::Outputs& judged) {
    return judge_model(rules, definition, judged, oracle, *deviations);
  };
  criterion.judge_part = criterion.judge;
  return criterion;
}

}  // namespace ampgate::validate
