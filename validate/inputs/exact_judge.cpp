#include "validate/inputs/exact_judge.h"

#include <ATen/ops/zeros_like.h>

#include "cases/execute.h"
#include "validate/compare.h"
#include "validate/inputs/exact_integers.h"
#include "validate/inputs/freivalds.h"
#include "validate/oracle.h"
#include "validate/output_rules.h"
#include "validate/text.h"
#include "validate/trial_run.h"

namespace ampgate::validate {
namespace {

using results::Json;
using results::Verdict;

// Products of more terms than this are checked without their oracle.
constexpr double kMostTerms = 1 << 24;

// The first wrong element in words; empty when the part is right.
std::string wrong_element(const CaseSetup& setup, const cases::State& integers, const cases::Outputs& outputs,
                          const Sample& sample) {
  const cases::Outputs right =
      oracle(setup.definition, cases::converted(sample.select(integers), at::kDouble));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = setup.definition.outputs[i];
    if (!right[i].is_floating_point()) continue;
    if (!why_ignored(setup.session.rules, setup.definition.name, name).empty()) continue;
    std::string problem = sample.misfit(outputs[i]);
    Comparison comparison;
    if (problem.empty()) {
      Bound none;
      none.error = at::zeros_like(right[i]);
      comparison = compare(sample.select(outputs[i]), right[i], none, setup.session.rules);
      problem = comparison.problem;
    }
    if (!problem.empty()) return name + " cannot be compared: " + problem;
    if (comparison.rejected == 0) continue;
    return name + text(sample.whole_position(comparison.position)) + " is " + text(comparison.actual) +
           " where " + text(comparison.expected) + " is right; " + std::to_string(comparison.rejected) +
           " of " + std::to_string(comparison.elements) + " elements are wrong";
  }
  return {};
}

// Rules that accept errors beyond an output's bound cannot ask it for exact results.
Verdict verdict_of_wrong(const CaseSetup& setup) {
  for (const auto& output : setup.definition.outputs) {
    const auto* rule = results::output_rule(setup.session.rules, setup.definition.name, output);
    if (rule != nullptr && rule->max_margin.value_or(1.0) > 1.0) return Verdict::kSuspect;
  }
  return Verdict::kInaccurate;
}

// The line that the other axes name.
Sample line_at(const cases::Facts& facts, const cases::IndependentAxis& along, const at::Tensor& output,
               const Positions& position) {
  std::vector<SampledAxis> axes;
  for (const auto& axis : facts.independent) {
    if (&axis == &along) continue;
    const auto dim = static_cast<std::size_t>(axis.output_dim);
    axes.push_back({axis, {position[dim]}, output.size(axis.output_dim)});
  }
  return Sample(std::move(axes));
}

}  // namespace

Json judge_exact_integers(const CaseSetup& setup, const precision::Precision& precision,
                          Judgement& judgement) {
  const auto& [session, definition] = std::tie(setup.session, setup.definition);
  const ExactIntegers integers =
      exact_integers(definition, setup.facts, setup.original, precision, session.seed);
  if (!integers.why_not.empty()) return integers.why_not;
  const TrialRun run = run_plain(session, definition, integers.state, precision, setup.like);

  const at::Tensor& output = run.outputs.front();
  const cases::IndependentAxis* axis = linear_axis(setup.facts, integers.state);
  const double terms = static_cast<double>(output.numel()) * static_cast<double>(setup.facts.bound.length);
  const bool products = axis != nullptr && terms > kMostTerms && output.sizes() == setup.like.front().sizes();
  std::int64_t elements = output.numel();
  std::string wrong;
  if (products) {
    const auto line = wrong_line(definition, *axis, integers.state, output, integers.limit, session.seed);
    if (line)
      wrong = wrong_element(setup, integers.state, run.outputs, line_at(setup.facts, *axis, output, *line));
    if (line && wrong.empty()) wrong = definition.outputs.front() + ": the line " + text(*line) + " is wrong";
  } else {
    wrong = wrong_element(setup, integers.state, run.outputs, setup.sample);
    if (setup.sample.misfit(output).empty()) elements = setup.sample.select(output).numel();
  }
  if (!wrong.empty()) judgement.worsen(verdict_of_wrong(setup), "exact-integer input: " + wrong);
  return {{"check", products ? "Freivalds' products" : "oracle"},
          {"elements", elements},
          {"limit", integers.limit},
          {"equal", wrong.empty()}};
}

}  // namespace ampgate::validate
