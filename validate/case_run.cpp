#include "validate/case_run.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "cases/threads.h"
#include "validate/edge_inputs.h"
#include "validate/islands/island_search.h"
#include "validate/local/call_bound.h"
#include "validate/trial_report.h"

namespace ampgate::validate {

using results::Json;
using results::Verdict;

namespace {

// Faults of the precision or of a kernel in 16 bit, which FP32 may do without.
bool is_healable(Verdict verdict) {
  return verdict == Verdict::kNonfinite || verdict == Verdict::kInaccurate ||
         verdict == Verdict::kDecisionChanged || verdict == Verdict::kQualityLost;
}

// Does the baseline use products, which libraries may compute in less than FP32?
bool multiplies(const Json& operators) {
  static const std::set<std::string, std::less<>> kProducts{"aten::mm",      "aten::addmm",  "aten::bmm",
                                                            "aten::baddbmm", "aten::matmul", "aten::linear",
                                                            "aten::dot",     "aten::mv",     "aten::addmv"};
  return std::any_of(operators.begin(), operators.end(), [](const Json& record) {
    const auto name = record.at("name").get<std::string>();
    return kProducts.contains(name) || name.find("conv") != std::string::npos ||
           name.find("attention") != std::string::npos;
  });
}

}  // namespace

CaseRun::CaseRun(const Session& session, const cases::Case& definition, cases::Shape shape, bool with_edges)
    : session_(session), definition_(definition), shape_(std::move(shape)), with_edges_(with_edges) {}

Json CaseRun::judge(const precision::Precision& precision) {
  const auto begin = std::chrono::steady_clock::now();
  const cases::ThreadsScope threads(definition_.threads);
  // Not earlier: it runs the operator, and a crash must be this trial's.
  if (!std::exchange(looked_up_, true)) definition_ = local::with_family(std::move(definition_), shape_);
  Json body;
  if (precision.name == precision::baseline().name) {
    body = report(precision, baseline());
  } else if (auto refused = refusal(precision)) {
    body = report(precision, *refused);
  } else {
    body = report(precision, judged(precision));
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  body["validation_time_ns"] = std::chrono::duration_cast<std::chrono::nanoseconds>(took).count();
  return body;
}

const TrialAnswer& CaseRun::baseline() {
  if (!baseline_) {
    baseline_ = guarded([&] {
      if (std::string reason = unsupported(precision::baseline()); !reason.empty())
        return without_numbers(Verdict::kUnsupported, std::move(reason));
      setup_.emplace(session_, definition_, shape_);
      TrialAnswer answer = judge_trial(*setup_, precision::baseline(), nullptr);
      if (!session_.lowered_fp32.empty() && multiplies(answer.body.value("operators", Json::array()))) {
        answer.judgement.worsen(Verdict::kBaselineInvalid,
                                "FP32 products are not FP32 on this device: " + session_.lowered_fp32);
      }
      return answer;
    });
  }
  return *baseline_;
}

TrialAnswer CaseRun::judged(const precision::Precision& precision) {
  TrialAnswer answer = guarded([&] {
    return precision.islands ? judge_islands(precision)
                             : judge_trial(*setup_, precision, &baseline_->outputs);
  });
  judgements_[precision.name] = answer.judgement;
  return answer;
}

TrialAnswer CaseRun::judge_islands(const precision::Precision& precision) {
  const precision::Precision& plain = precision::without_islands(precision);
  const auto known = judgements_.find(plain.name);
  const Judgement failed = known != judgements_.end() ? known->second : judged(plain).judgement;
  const auto said = "'" + std::string(results::to_string(failed.verdict)) + "'";
  if (results::opens_gate(failed.verdict, session_.rules.suspect_opens_gate)) {
    TrialAnswer answer = without_numbers(Verdict::kUnsupported,
                                         std::string(plain.name) + " is " + said + ": no island is needed");
    answer.extra["islands"] = {{"needed", false}};
    return answer;
  }
  if (!is_healable(failed.verdict)) {
    return without_numbers(Verdict::kUnsupported, std::string(plain.name) + " is " + said +
                                                      ", which no island heals: " + failed.reason);
  }
  IslandAnswer islands = find_islands(*setup_, precision, baseline_->outputs, failed);
  TrialAnswer answer;
  if (islands.healed) {
    answer = std::move(*islands.healed);
    answer.body["evidence"]["islands"] = islands.regions;
  } else {
    answer = without_numbers(failed.verdict, islands.reason);
  }
  answer.extra["islands"] = std::move(islands.json);
  return answer;
}

std::optional<TrialAnswer> CaseRun::refusal(const precision::Precision& precision) {
  if (std::string reason = unsupported(precision); !reason.empty()) {
    return without_numbers(Verdict::kUnsupported, std::move(reason));
  }
  const Judgement& judged = baseline().judgement;
  if (results::opens_gate(judged.verdict, session_.rules.suspect_opens_gate)) return {};
  return without_numbers(
      Verdict::kBaselineInvalid,
      "the FP32 baseline is '" + std::string(results::to_string(judged.verdict)) + "': " + judged.reason);
}

std::string CaseRun::unsupported(const precision::Precision& precision) const {
  const auto listed = definition_.unsupported.find(std::string(precision.name));
  if (listed != definition_.unsupported.end()) return listed->second;
  if (definition_.missing_kernel) {
    if (std::string missing = definition_.missing_kernel(session_.backend.device().type()); !missing.empty())
      return missing;
  }
  return session_.backend.unsupported(precision.type, precision.tf32);
}

Json CaseRun::edges_of(const precision::Precision& precision, bool not_lowered) {
  Json all = Json::array();
  for (const auto& [finding, shape] : edge_findings(session_, definition_, precision)) {
    all.push_back(finding_json(finding, shape));
  }
  if (precision.name == precision::baseline().name) baseline_edges_ = all;
  if (!not_lowered) return all;
  Json own = Json::array();
  for (const auto& finding : all) {
    if (std::find(baseline_edges_.begin(), baseline_edges_.end(), finding) == baseline_edges_.end())
      own.push_back(finding);
  }
  return own;
}

Json CaseRun::report(const precision::Precision& precision, const TrialAnswer& answer) {
  Json body = trial_report(definition_, shape_, precision, answer);
  // A case that cannot be set up has no inputs at all.
  if (with_edges_ && setup_ && !precision.islands && answer.judgement.verdict != Verdict::kUnsupported) {
    for (auto& finding : edges_of(precision, body.value("not_lowered", false))) {
      body["findings"].push_back(std::move(finding));
    }
  }
  return body;
}

}  // namespace ampgate::validate
