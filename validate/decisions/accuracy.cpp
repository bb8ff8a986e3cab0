#include "validate/decisions/accuracy.h"

#include <algorithm>

#include "validate/text.h"

namespace ampgate::validate {

using cases::DecisionKind;
using results::Verdict;

namespace {

std::string of_rows(std::int64_t right, std::int64_t rows) {
  return std::to_string(right) + " of " + std::to_string(rows);
}

bool is_right(const Decision& decision, std::int64_t label, const cases::Decisions& rule) {
  if (decision.state != DecisionState::kDecided) return false;
  if (rule.kind == DecisionKind::kTopK) {
    return std::find(decision.outcome.begin(), decision.outcome.end(), label) != decision.outcome.end();
  }
  if (rule.kind == DecisionKind::kActions) {
    const auto entry = static_cast<std::size_t>(label);
    return rule.actions[entry] == rule.actions[static_cast<std::size_t>(decision.outcome[0])];
  }
  return decision.outcome[0] == label;
}

}  // namespace

std::string why_no_labels(const at::Tensor& labels, const ScoreRows& rows, const cases::Decisions& rule) {
  if (labels.is_floating_point() || labels.is_complex()) {
    return std::string("they have type ") + c10::toString(labels.scalar_type()) + ", not an integer";
  }
  if (labels.numel() != rows.rows()) {
    return "there are " + std::to_string(labels.numel()) + " for " + std::to_string(rows.rows()) +
           " decisions";
  }
  std::int64_t choices = rows.classes();
  if (rule.kind == DecisionKind::kThreshold) choices = 2;
  if (rule.kind == DecisionKind::kActions) choices = static_cast<std::int64_t>(rule.actions.size());
  const at::Tensor values = labels.to(at::kCPU, at::kLong).contiguous();
  const auto* value = values.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    if (value[i] >= 0 && value[i] < choices) continue;
    return "number " + std::to_string(i) + " is " + std::to_string(value[i]) + ", which is none of 0 to " +
           std::to_string(choices - 1);
  }
  return "";
}

bool one_class_only(const at::Tensor& labels) {
  return labels.eq(labels.flatten().select(0, 0)).all().item<bool>();
}

std::int64_t right_decisions(const std::vector<Decision>& decisions, const at::Tensor& labels,
                             const cases::Decisions& rule) {
  const at::Tensor values = labels.to(at::kCPU, at::kLong).contiguous();
  const auto* label = values.const_data_ptr<std::int64_t>();
  std::int64_t right = 0;
  for (std::size_t row = 0; row < decisions.size(); ++row)
    right += is_right(decisions[row], label[row], rule) ? 1 : 0;
  return right;
}

void judge_accuracy(const results::Rules& rules, const std::string& case_name, const Accuracy& accuracy,
                    Judgement& judgement) {
  const std::int64_t rows = accuracy.rows;
  const std::string trial =
      "accuracy " + text(accuracy.share(accuracy.trial)) + " (" + of_rows(accuracy.trial, rows) + ")";
  const auto minimum = rules.minimum_accuracy.find(case_name);
  if (minimum != rules.minimum_accuracy.end() && accuracy.share(accuracy.trial) < minimum->second) {
    judgement.worsen(Verdict::kQualityLost,
                     trial + " is below the " + text(minimum->second) + " that the rules ask for");
    return;
  }
  const std::int64_t lost = accuracy.baseline - accuracy.trial;
  const double allowed = rules.maximum_accuracy_loss;
  if (!(accuracy.share(lost) > allowed)) return;
  const std::string loss = trial + " is " + text(accuracy.share(lost)) + " below the FP32 baseline's " +
                           text(accuracy.share(accuracy.baseline)) + "; allowed loss " + text(allowed);
  if (lost == 1) {
    judgement.worsen(Verdict::kAmbiguous,
                     loss +
                         ". That is one row, and each of so few weighs more than that: the data is too "
                         "small to judge by it");
  } else {
    judgement.worsen(Verdict::kQualityLost, loss);
  }
}

}  // namespace ampgate::validate
