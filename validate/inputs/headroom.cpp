#include "validate/inputs/headroom.h"

#include <ATen/ATen.h>

#include <cmath>

#include "cases/execute.h"
#include "cases/fills.h"
#include "precision/formats.h"
#include "validate/failure.h"
#include "validate/oracle.h"
#include "validate/text.h"
#include "validate/trial_run.h"

namespace ampgate::validate {
namespace {

constexpr int kDoublings = 16;

cases::State scaled(const cases::State& ordinary, const cases::Facts& facts, double scale) {
  cases::State state = ordinary;
  for (auto& entry : state.tensors) {
    if (entry.role != cases::Role::kInput || entry.name == facts.targets) continue;
    if (entry.tensor.is_floating_point()) entry.tensor = entry.tensor * scale;
  }
  return state;
}

// The first output element that is not finite where FP32 could hold it, in words.
std::string first_lost(const Session& session, const cases::Case& definition, const cases::State& state,
                       const precision::Precision& precision) {
  const TrialRun run = run_prepared(session, definition,
                                    cases::prepare(state, precision, session.backend.device()), precision);
  const cases::Outputs right = oracle(definition, cases::converted(state, at::kDouble));
  for (std::size_t i = 0; i < right.size(); ++i) {
    const at::Tensor found = run.outputs[i].cpu();
    if (found.sizes() != right[i].sizes()) continue;
    const at::Tensor in_fp32 = right[i].abs().le(precision::format_of(at::kFloat).max);
    const at::Tensor lost = found.isfinite().logical_not_().logical_and_(in_fp32);
    const auto count = lost.sum().item<std::int64_t>();
    if (count == 0) continue;
    const at::Tensor place = lost.nonzero()[0].contiguous();
    const auto* index = place.const_data_ptr<std::int64_t>();
    const std::vector<std::int64_t> position(index, index + place.numel());
    at::Tensor actual = found;
    at::Tensor expected = right[i];
    for (const std::int64_t at : position) {
      actual = actual[at];
      expected = expected[at];
    }
    return definition.outputs[i] + text(position) + " is " + text(actual.item<double>()) +
           " where FP64 gives " + text(expected.item<double>()) + "; so are " + std::to_string(count) +
           " of " + std::to_string(lost.numel()) + " elements";
  }
  return {};
}

}  // namespace

std::optional<Finding> headroom_finding(const Session& session, const cases::Case& definition,
                                        const cases::Shape& shape, const precision::Precision& precision) {
  const cases::State ordinary =
      definition.setup(shape, cases::Fill(session.seed, definition.name, shape.name));
  const cases::Facts facts = definition.facts(shape);
  std::optional<Finding> finding;
  const auto failure = catch_failure([&] {
    for (int doubling = 0; doubling <= kDoublings && !finding; ++doubling) {
      const double scale = std::ldexp(1.0, doubling);
      const std::string lost = first_lost(session, definition, scaled(ordinary, facts, scale), precision);
      if (lost.empty()) continue;
      finding =
          Finding{"scaled inputs", "nonfinite", "with inputs " + text(scale) + " times as large " + lost};
    }
  });
  if (failure && failure->verdict == results::Verdict::kCrashed)
    finding = Finding{"scaled inputs", "crashed", failure->reason};
  return finding;
}

}  // namespace ampgate::validate
