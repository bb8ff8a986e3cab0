#include "validate/quality.h"

#include "cases/execute.h"
#include "validate/criterion.h"
#include "validate/decisions.h"
#include "validate/regression.h"
#include "validate/text.h"
#include "validate/trial_run.h"

namespace ampgate::validate {

using results::Json;

namespace {

bool is_baseline(const precision::Precision& precision) {
  return precision.name == precision::baseline().name;
}

std::vector<at::Tensor> output_of(const std::vector<cases::Outputs>& runs, std::size_t output) {
  std::vector<at::Tensor> tensors;
  for (const auto& run : runs) tensors.push_back(run[output]);
  return tensors;
}

}  // namespace

Quality::Quality(const Session& session, const cases::Case& definition, const cases::Facts& facts,
                 const cases::State& original, const cases::Outputs& oracle)
    : session_(session), definition_(definition), facts_(facts), original_(original), oracle_(oracle) {}

Json Quality::judge(const Answers& answers, Judgement& judgement) {
  if (facts_.meaning == cases::Meaning::kScores && facts_.decisions) return judge_scores(answers, judgement);
  if (facts_.meaning == cases::Meaning::kRegression && !facts_.targets.empty()) {
    return judge_regression(answers, judgement);
  }
  return Json::object();
}

Json Quality::judge_scores(const Answers& answers, Judgement& judgement) {
  const std::size_t output = facts_.decisions->output;
  const auto& rules = session_.rules;
  const auto flips = find_flips(answers.baseline[output], answers.trial[output],
                                output_of(answers.prediction.whole, output), rules);
  const std::int64_t rows = answers.trial[output].size(0);
  judge_flips(rules, flips, rows, false, "ordinary inputs", judgement);

  Json json{{"rows", rows},
            {"tie_rule", rules.decisions.tie_rule},
            {"compared_with", is_baseline(answers.precision) ? "FP64 oracle" : "FP32 baseline"}};
  json.update(to_json(count(flips)));
  if (const at::Tensor* labels = original_.find(facts_.decisions->labels)) {
    const auto share = [&](const cases::Outputs& outputs) {
      return accuracy(decide(outputs[output], rules.decisions.tie_rule), *labels);
    };
    const double baseline = share(answers.baseline);
    const double trial = share(answers.trial);
    json["accuracy"] = {{"oracle", share(oracle_)}, {"baseline", baseline}, {"trial", trial}};
    judge_accuracy(rules, definition_.name, baseline, trial, judgement);
  }
  json["table"] = flip_table(flips);
  json["boundary"] = Json::array();
  for (const auto& rung : rungs()) json["boundary"].push_back(judge_rung(rung, answers, judgement));
  return json;
}

Json Quality::judge_rung(const Rung& rung, const Answers& answers, Judgement& judgement) {
  const std::size_t output = facts_.decisions->output;
  const cases::State& original = rung.inputs.state;
  const TrialRun run = run_plain(session_, definition_, original, answers.precision, rung.baseline);
  References references(session_.rules, definition_, facts_, original);
  const Reference& reference =
      references.get(run.prepared, answers.precision, run.outputs[output].scalar_type());
  const Prediction prediction =
      predict(session_, definition_, original, reference, answers.precision, answers.calls, true);

  const std::string where = "boundary inputs (margin " + text(rung.inputs.margin) + ")";
  const Criterion values = model_criterion(session_.rules, definition_, reference.oracle, prediction.kernel);
  const Judgement at_boundary = values.judge(run.outputs);
  judgement.worsen(at_boundary.verdict, "on " + where + ": " + at_boundary.reason);

  const at::Tensor& before =
      is_baseline(answers.precision) ? reference.oracle[output] : rung.baseline[output];
  const auto flips =
      find_flips(before, run.outputs[output], output_of(prediction.whole, output), session_.rules);
  const std::int64_t rows = before.size(0);
  judge_flips(session_.rules, flips, rows, true, where, judgement);
  Json json{{"margin", rung.inputs.margin}, {"rows", rows}, {"rows_below_margin", rung.inputs.rows_below}};
  json.update(to_json(count(flips)));
  return json;
}

Json Quality::judge_regression(const Answers& answers, Judgement& judgement) const {
  const at::Tensor* targets = original_.find(facts_.targets);
  if (targets == nullptr) return Json::object();
  const double baseline = rmse(answers.baseline[0], *targets);
  const double trial = rmse(answers.trial[0], *targets);
  judge_rmse(session_.rules, definition_.name, baseline, trial, judgement);
  return {{"rmse",
           {{"oracle", results::number(rmse(oracle_[0], *targets))},
            {"baseline", results::number(baseline)},
            {"trial", results::number(trial)}}}};
}

const std::vector<Quality::Rung>& Quality::rungs() {
  if (!rungs_) {
    rungs_.emplace();
    for (auto& inputs : boundary_inputs(definition_, original_, *facts_.decisions)) {
      auto baseline = run_plain(session_, definition_, inputs.state, precision::baseline(), {}).outputs;
      rungs_->push_back({std::move(inputs), std::move(baseline)});
    }
  }
  return *rungs_;
}

}  // namespace ampgate::validate
