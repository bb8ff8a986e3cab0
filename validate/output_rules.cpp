#include "validate/output_rules.h"

#include "validate/text.h"

namespace ampgate::validate {

using results::Verdict;

std::string why_ignored(const results::Rules& rules, const std::string& case_name,
                        const std::string& output) {
  const auto* rule = results::output_rule(rules, case_name, output);
  return rule == nullptr ? std::string() : rule->ignore;
}

void judge_margin(const results::Rules& rules, const std::string& case_name, const std::string& output,
                  double margin, Judgement& own) {
  const auto* rule = results::output_rule(rules, case_name, output);
  if (rule == nullptr || !rule->max_margin) return;
  const double allowed = *rule->max_margin;
  const std::string limit = "the max_margin of " + text(allowed) + " that the rules set";
  if (own.verdict == Verdict::kInaccurate && margin > 1.0 && margin <= allowed) {
    own.verdict = Verdict::kSuspect;
    own.reason += "; within " + limit;
  } else if (margin > allowed) {
    own.worsen(Verdict::kInaccurate, output + ": margin " + text(margin) + " is above " + limit);
  }
}

void judge_cost(const results::Rules& rules, const std::string& case_name, const std::string& output,
                const Cost& cost, Judgement& judgement) {
  const auto* rule = results::output_rule(rules, case_name, output);
  if (rule == nullptr) return;
  // Written so that a NaN is above every limit.
  const auto check = [&](const std::optional<double>& limit, double value, const std::string& what) {
    if (!limit || value <= *limit) return;
    judgement.worsen(Verdict::kQualityLost, output + ": " + what + " against the FP32 baseline is " +
                                                text(value) + ", above the " + text(*limit) +
                                                " that the rules allow");
  };
  check(rule->max_relative_rms, cost.relative_rms_error, "relative RMS difference");
  check(rule->max_abs_error, cost.max_abs_error, "largest difference");
}

}  // namespace ampgate::validate
