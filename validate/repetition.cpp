#include "validate/repetition.h"

#include <algorithm>

#include "validate/compare.h"
#include "validate/sample.h"
#include "validate/text.h"

namespace ampgate::validate {
namespace {

using results::Json;

void take(const Session& session, const TrialRun& run, const cases::Outputs& outputs,
          const Criterion& criterion, Repetition& repetition) {
  ++repetition.repeats;
  const Spread spread = spread_of(run.outputs, outputs);
  if (spread.differing == 0) return;
  ++repetition.differing;
  repetition.spread.differing = std::max(repetition.spread.differing, spread.differing);
  repetition.spread.max_abs_difference =
      std::max(repetition.spread.max_abs_difference, spread.max_abs_difference);
  repetition.spread.max_ulp = std::max(repetition.spread.max_ulp, spread.max_ulp);
  repetition.spread.elements = spread.elements;
  const Judgement judged = criterion.judge(outputs);
  repetition.worst_margin = std::max(repetition.worst_margin, judged.margin);
  if (repetition.outside.empty() && !results::opens_gate(judged.verdict, session.rules.suspect_opens_gate)) {
    repetition.outside = judged.reason;
  }
}

void judge_alone(const Session& session, const cases::Case& definition, const Sample& alone,
                 const cases::Outputs& outputs, const Criterion& criterion, std::int64_t row,
                 BatchInvariance& result) {
  for (std::size_t i = 0; i < criterion.bounds.size(); ++i) {
    Bound bound = criterion.bounds[i];
    bound.error = alone.select(bound.error);
    if (bound.hard.defined()) bound.hard = alone.select(bound.hard);
    const Comparison comparison =
        compare(outputs[i], alone.select(criterion.oracle[i]), bound, session.rules);
    result.worst_margin = std::max(result.worst_margin, comparison.margin);
    if (!result.outside.empty() || comparison.rejected == 0) continue;
    result.outside = definition.outputs[i] + " of position " + std::to_string(row) + " of dimension " +
                     std::to_string(result.output_dim) + ", computed alone, is outside the " +
                     bound.criterion + ", margin " + text(comparison.margin) +
                     ": a batch of one uses another kernel";
  }
}

}  // namespace

Repetition repeat(const Session& session, const cases::Case& definition,
                  const precision::Precision& precision, const TrialRun& run, const Observation& observation,
                  const Criterion& criterion) {
  Repetition repetition;
  repetition.unwritten = unwritten_elements(observation.repeated);
  take(session, run, observation.repeated, criterion, repetition);
  while (repetition.repeats < session.rules.repeats) {
    take(session, run, run_again(session, definition, run, precision), criterion, repetition);
  }
  return repetition;
}

std::optional<BatchInvariance> batch_invariance(const Session& session, const cases::Case& definition,
                                                const cases::Facts& facts,
                                                const precision::Precision& precision, const TrialRun& run,
                                                const Criterion& criterion) {
  if (facts.independent.empty()) return {};
  const cases::IndependentAxis& axis = facts.independent.front();
  const auto& first = run.outputs[0];
  if (axis.output_dim >= first.dim() || first.size(axis.output_dim) < 2) return {};
  const std::int64_t size = first.size(axis.output_dim);
  BatchInvariance result{axis.output_dim, 0, {}};
  std::int64_t elements = 0;
  for (const std::int64_t row : {std::int64_t{0}, size / 2, size - 1}) {
    if (row == size / 2 && size == 2) continue;  // it is the last one
    const Sample alone({{axis, {row}, size}});
    TrialRun single;
    single.prepared = alone.select(run.prepared);
    const cases::Outputs outputs = run_again(session, definition, single, precision);
    const Spread spread = spread_of(alone.select(run.outputs), outputs);
    elements += spread.elements;
    result.spread.merge(spread);
    ++result.rows;
    if (spread.differing > 0 && criterion.sample.whole()) {
      judge_alone(session, definition, alone, outputs, criterion, row, result);
    }
  }
  result.spread.elements = elements;
  return result;
}

void add_to(Json& accuracy, const Repetition& repetition) {
  accuracy["repeatable_in_process"] = repetition.differing == 0;
  Json& json = accuracy["repetition"];
  json = {{"repeats", repetition.repeats}, {"differing", repetition.differing}};
  if (repetition.differing == 0) return;
  json.update(to_json(repetition.spread));
  json["worst_margin"] = results::number(repetition.worst_margin);
}

void add_to(Json& accuracy, const std::optional<BatchInvariance>& batch) {
  if (!batch) return;
  accuracy["batch_invariant"] = batch->spread.differing == 0;
  accuracy["batch"] = {{"output_dim", batch->output_dim}, {"rows", batch->rows}};
  if (batch->spread.differing == 0) return;
  accuracy["batch"].update(to_json(batch->spread));
  if (batch->worst_margin >= 0.0) accuracy["batch"]["worst_margin"] = results::number(batch->worst_margin);
}

}  // namespace ampgate::validate
