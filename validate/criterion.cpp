#include "validate/criterion.h"

#include <ATen/ATen.h>

#include <cmath>
#include <memory>
#include <utility>

#include "precision/formats.h"
#include "validate/model_judge.h"
#include "validate/operator_judge.h"

namespace ampgate::validate {
Criterion operator_criterion(const results::Rules& rules, const cases::Case& definition,
                             const precision::Precision& precision, const cases::State& prepared,
                             const cases::Outputs& outputs, References& references, const Sample& sample) {
  Criterion criterion;
  criterion.sample = sample;
  const auto by_output = std::make_shared<std::vector<Reference>>();
  const Reference* previous = nullptr;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Reference& reference = references.get(prepared, precision, judged_type(outputs, i), sample);
    const bool fits = sample.misfit(outputs[i]).empty();
    by_output->push_back(fits ? nearest(reference, sample.select(outputs[i]), i) : reference);
    criterion.oracle.push_back(by_output->back().oracle[i]);
    criterion.bounds.push_back(by_output->back().bounds[i]);
    if (std::exchange(previous, &reference) == &reference) continue;
    for (const auto& tensor : reference.inputs.overflowed) {
      criterion.findings.push_back({"ordinary", "cast-overflow",
                                    "values of '" + tensor + "' are beyond the largest finite " +
                                        precision::type_name(reference.inputs.operand_type)});
    }
  }
  criterion.judge_part = [&rules, &definition, by_output](const cases::Outputs& part) {
    return judge_operator(rules, definition, part, *by_output);
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
