#include "validate/edge_inputs.h"

#include "cases/fills.h"
#include "validate/criterion.h"
#include "validate/failure.h"
#include "validate/trial_run.h"

namespace ampgate::validate {
using results::Verdict;

namespace {

void judge_kind(const Session& session, const cases::Case& definition, const cases::Shape& shape,
                const precision::Precision& precision, cases::FillKind kind, std::vector<Finding>& findings) {
  const std::string input(cases::fill_name(kind));
  const auto failure = catch_failure([&] {
    const cases::State original =
        definition.setup(shape, cases::Fill(session.seed, definition.name, shape.name, kind));
    const cases::Facts facts = definition.facts(shape);
    References references(session.rules, definition, facts, original);
    const TrialRun run = run_plain(session, definition, original, precision, {});
    const Criterion criterion =
        operator_criterion(session.rules, definition, precision, run.prepared, run.outputs, references);
    const Judgement judgement = criterion.judge(run.outputs);
    // Without a bound only the masks say anything, and elements that could not be judged say nothing.
    const bool silent = judgement.verdict == Verdict::kAmbiguous ||
                        (judgement.verdict == Verdict::kSuspect && criterion.bounds.empty());
    if (judgement.verdict == Verdict::kPass || silent) return;
    findings.push_back({input, std::string(results::to_string(judgement.verdict)), judgement.reason});
  });
  if (failure && failure->verdict == Verdict::kCrashed)
    findings.push_back({input, "crashed", failure->reason});
}

}  // namespace

std::optional<cases::Shape> edge_shape(const cases::Case& definition) {
  for (const auto& suite : definition.suites) {
    if (suite.suite == "smoke" && !suite.shapes.empty()) return definition.shape(suite.shapes.front());
  }
  return {};
}

std::vector<Finding> edge_findings(const Session& session, const cases::Case& definition,
                                   const cases::Shape& shape, const precision::Precision& precision) {
  std::vector<Finding> findings;
  for (const auto kind : cases::edge_fills())
    judge_kind(session, definition, shape, precision, kind, findings);
  return findings;
}

}  // namespace ampgate::validate
