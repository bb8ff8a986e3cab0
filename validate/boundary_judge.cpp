#include "validate/boundary_judge.h"

#include <algorithm>
#include <cmath>

#include "validate/criterion.h"
#include "validate/decisions/judge.h"
#include "validate/text.h"
#include "validate/trial_run.h"

namespace ampgate::validate {

using results::Json;

namespace {

constexpr std::size_t kFlipsOfRung = 3;  // in the table: flips are common here

// Only the samples that were moved to the boundary belong to it.
void keep_samples(DecisionComparison& compared, const std::vector<bool>& samples) {
  std::erase_if(compared.flips, [&](const Flip& flip) {
    return !samples[static_cast<std::size_t>(flip.row / compared.before_scores.rows_per_sample)];
  });
}

// RMS over the samples on the rung of the standard deviation of their smallest margin over the replays.
double own_deviation(const DecisionComparison& compared, const std::vector<at::Tensor>& replays,
                     const cases::Decisions& rule, const std::vector<bool>& samples) {
  std::vector<ScoreRows> replayed;
  for (const auto& scores : replays) replayed.push_back(score_rows(scores, rule));
  const std::int64_t each = compared.before_scores.rows_per_sample;
  double squares = 0.0;
  std::int64_t count = 0;
  for (std::size_t sample = 0; sample < samples.size(); ++sample) {
    if (!samples[sample]) continue;
    const auto first = compared.before.begin() + static_cast<std::ptrdiff_t>(sample) * each;
    const auto closest = std::min_element(
        first, first + each, [](const Decision& a, const Decision& b) { return a.margin < b.margin; });
    squares += std::pow(margin_deviation(replayed, closest - compared.before.begin(), closest->nearest), 2);
    ++count;
  }
  return count == 0 ? 0.0 : std::sqrt(squares / static_cast<double>(count));
}

}  // namespace

BoundaryJudge::BoundaryJudge(const Session& session, const cases::Case& definition, const cases::Facts& facts,
                             const cases::State& original, const cases::Outputs& oracle)
    : session_(session), definition_(definition), facts_(facts), original_(original), oracle_(oracle) {}

Json BoundaryJudge::judge(const Answers& answers, DecisionTable& table, Judgement& judgement) {
  if (!rungs_) make_rungs();
  if (rungs_->empty()) {
    judgement.findings.push_back({"boundary", "no-boundary", why_none_});
    return {{"absent", {{"rungs", why_none_}}}};
  }
  Json json{{"rungs", Json::array()}};
  double largest = -1.0;
  for (auto& rung : *rungs_) json["rungs"].push_back(judge_rung(rung, answers, table, judgement, largest));
  if (largest >= 0.0) json["largest_flipped_margin"] = results::number(largest);
  return json;
}

Json BoundaryJudge::judge_rung(Rung& rung, const Answers& answers, DecisionTable& table, Judgement& judgement,
                               double& largest) {
  const auto& [margin, samples, count_below, original] = rung.inputs;
  Json json{{"margin", margin}, {"rows", samples.size()}, {"rows_below_margin", count_below}};
  if (count_below == 0) rung.left_out = "no row came below this margin";
  if (!rung.left_out.empty()) {
    json["left_out"] = rung.left_out;
    return json;
  }
  const cases::Decisions& rule = *facts_.decisions;
  const TrialRun run = run_plain(session_, definition_, original, answers.precision, rung.baseline);
  References references(session_.rules, definition_, facts_, original);
  const Reference& reference =
      references.get(run.prepared, answers.precision, run.outputs[rule.output].scalar_type());
  const Prediction prediction =
      predict(session_, definition_, original, reference, answers.precision, answers.calls, true);
  const auto replays = output_of(prediction.whole, rule.output);
  const cases::Outputs& before = answers.of_baseline() ? reference.oracle : rung.baseline;
  DecisionComparison compared =
      compare_decisions(before[rule.output], run.outputs[rule.output], replays, rule, session_.rules);
  keep_samples(compared, samples);

  if (answers.of_baseline()) {
    const double own = own_deviation(compared, replays, rule, samples);
    json["baseline_deviation"] = results::number(own);
    if (margin < own) {
      rung.left_out = "below the FP32 baseline's own deviation of " + text(own);
      json["left_out"] = rung.left_out;
      return json;
    }
  }
  const std::string where = "boundary inputs (margin " + text(margin) + ")";
  const Judgement values =
      model_criterion(session_.rules, definition_, reference.oracle, prediction.kernel).judge(run.outputs);
  judgement.worsen(values.verdict, "on " + where + ": " + values.reason);
  const std::int64_t rows = count_below * compared.before_scores.rows_per_sample;
  judge_flips(session_.rules.decisions.boundary, compared, rows, where, rule, judgement);
  table.add("boundary " + text(margin), compared, kFlipsOfRung, 0);
  const FlipCounts counts = count(compared.flips);
  if (counts.flips > 0) largest = std::max(largest, counts.largest_margin);
  json.update(to_json(counts));
  return json;
}

void BoundaryJudge::make_rungs() {
  rungs_.emplace();
  const cases::Decisions& rule = *facts_.decisions;
  // A model from a file may be compiled, or traced, for its own batch.
  const bool whole_batch =
      !definition_.opaque.empty() || (!definition_.file_sha256.empty() && facts_.independent.empty());
  Boundary boundary =
      boundary_inputs(definition_, original_, rule, oracle_[rule.output].size(0), whole_batch);
  why_none_ = boundary.why_none;
  for (auto& inputs : boundary.rungs) {
    auto baseline = run_plain(session_, definition_, inputs.state, precision::baseline(), {}).outputs;
    rungs_->push_back({std::move(inputs), std::move(baseline)});
  }
}

}  // namespace ampgate::validate
