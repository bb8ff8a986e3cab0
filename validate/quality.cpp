#include "validate/quality.h"

#include "validate/decisions/accuracy.h"
#include "validate/decisions/judge.h"
#include "validate/regression.h"

namespace ampgate::validate {

using results::Json;

namespace {

constexpr std::size_t kMostFlips = 40;  // in the table
constexpr std::size_t kClosest = 5;

const char* name_of(cases::DecisionKind kind) {
  switch (kind) {
    case cases::DecisionKind::kArgmax:
      return "argmax";
    case cases::DecisionKind::kThreshold:
      return "threshold";
    case cases::DecisionKind::kTopK:
      return "top-k";
    case cases::DecisionKind::kActions:
      return "actions";
  }
  return "";
}

const at::Tensor* find(const cases::State& state, const std::string& name) {
  return name.empty() ? nullptr : state.find(name);
}

std::string why_scores_unfit(const cases::Decisions& rule, const cases::State& original,
                             const cases::Outputs& oracle) {
  if (rule.output >= oracle.size()) return "its decisions are about an output that it does not have";
  const at::Tensor& scores = oracle[rule.output];
  if (std::string problem = why_undecidable(scores, rule); !problem.empty()) return problem;
  for (const std::string& name : {rule.labels, rule.ids}) {
    if (!name.empty() && original.find(name) == nullptr) return "it has no input '" + name + "'";
  }
  if (const at::Tensor* ids = find(original, rule.ids)) {
    if (ids->dim() != 1 || ids->size(0) != scores.size(0) || ids->is_floating_point())
      return "'" + rule.ids + "' does not name its samples by one integer each";
  }
  const at::Tensor* labels = find(original, rule.labels);
  if (labels == nullptr) return "";
  const std::string problem = why_no_labels(*labels, score_rows(scores, rule), rule);
  return problem.empty() ? "" : "labels '" + rule.labels + "': " + problem;
}

}  // namespace

std::string why_unfit(const cases::Facts& facts, const cases::State& original, const cases::Outputs& oracle) {
  if (facts.decisions) {
    if (std::string problem = why_scores_unfit(*facts.decisions, original, oracle); !problem.empty())
      return problem;
  }
  if (facts.targets.empty()) return "";
  if (facts.target_output >= oracle.size()) return "its targets are those of an output that it does not have";
  const at::Tensor* targets = original.find(facts.targets);
  if (targets == nullptr) return "it has no input '" + facts.targets + "'";
  return why_no_targets(*targets, oracle[facts.target_output]);
}

Quality::Quality(const Session& session, const cases::Case& definition, const cases::Facts& facts,
                 const cases::State& original, const cases::Outputs& oracle)
    : session_(session),
      definition_(definition),
      facts_(facts),
      original_(original),
      oracle_(oracle),
      boundary_(session, definition, facts, original, oracle) {}

Json Quality::judge(const Answers& answers, Judgement& judgement) {
  Json json = Json::object();
  if (facts_.decisions) json = judge_scores(answers, judgement);
  if (const at::Tensor* targets = find(original_, facts_.targets)) {
    const std::size_t output = facts_.target_output;
    json["regression"] = judge_regression(
        session_.rules, definition_.name,
        {oracle_[output], answers.baseline[output], answers.trial[output], *targets}, judgement);
  }
  return json;
}

Json Quality::judge_scores(const Answers& answers, Judgement& judgement) {
  const cases::Decisions& rule = *facts_.decisions;
  const auto compared =
      compare_decisions(answers.baseline[rule.output], answers.trial[rule.output],
                        output_of(answers.prediction.whole, rule.output), rule, session_.rules);
  judge_flips(session_.rules.decisions.ordinary, compared, compared.rows(), "ordinary inputs", rule,
              judgement);
  DecisionTable table(rule, find(original_, rule.ids));
  table.add("ordinary", compared, kMostFlips, kClosest);

  Json json{{"kind", name_of(rule.kind)},
            {"output", definition_.outputs[rule.output]},
            {"rows", compared.rows()},
            {"tie_rule", session_.rules.decisions.tie_rule},
            {"compared_with", answers.of_baseline() ? "FP64 oracle" : "FP32 baseline"}};
  json.update(to_json(count(compared.flips)));
  if (rule.kind == cases::DecisionKind::kActions) json["same_action"] = compared.same_outcome;
  judge_labels(compared, json, judgement);
  Json boundary = boundary_.judge(answers, table, judgement);
  json["table"] = table.rows();
  json["table_left_out"] = table.left_out();
  json["boundary"] = std::move(boundary);
  return json;
}

void Quality::judge_labels(const DecisionComparison& compared, Json& json, Judgement& judgement) const {
  const cases::Decisions& rule = *facts_.decisions;
  const at::Tensor* labels = find(original_, rule.labels);
  if (labels == nullptr) return;
  const auto& tie_rule = session_.rules.decisions.tie_rule;
  const Accuracy accuracy{compared.rows(), right_decisions(compared.before, *labels, rule),
                          right_decisions(compared.after, *labels, rule)};
  const std::int64_t oracle =
      right_decisions(decide(score_rows(oracle_[rule.output], rule), rule, tie_rule), *labels, rule);
  json["accuracy"] = {{"rows", accuracy.rows},
                      {"oracle", accuracy.share(oracle)},
                      {"baseline", accuracy.share(accuracy.baseline)},
                      {"trial", accuracy.share(accuracy.trial)}};
  judge_accuracy(session_.rules, definition_.name, accuracy, judgement);
  if (one_class_only(*labels)) {
    judgement.findings.push_back({"ordinary", "one-class",
                                  "all " + std::to_string(accuracy.rows) + " labels are class " +
                                      std::to_string(labels->flatten().select(0, 0).item<std::int64_t>()) +
                                      ": the accuracy says nothing about the others"});
  }
}

}  // namespace ampgate::validate
