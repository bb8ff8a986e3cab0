#include "validate/inputs/every_value.h"

#include <ATen/ATen.h>

#include <cmath>

#include "cases/fills.h"
#include "precision/formats.h"
#include "validate/compare.h"
#include "validate/output_rules.h"
#include "validate/reference.h"
#include "validate/text.h"
#include "validate/trial_run.h"

namespace ampgate::validate {
namespace {

using results::Json;
using results::Verdict;

constexpr std::int64_t kValues = 1 << 16;
// Beyond, a kernel that squares or doubles its operand overflows FP32.
constexpr double kOrdinary = 0x1p64;
// Beyond, a kernel that halves e^x at the end (sinh, cosh) overflows FP32 on the way.
constexpr double kOrdinaryResult = 0x1p127;

at::Tensor from_bits(const at::Tensor& bits) { return bits.to(at::kInt).view(at::kFloat); }

// FP32. Half of the FP32 sample has any bits, the other half exponents of -12 to 4.
at::Tensor values_of(c10::ScalarType type, std::uint64_t seed) {
  if (type != at::kFloat) {
    return at::arange(-kValues / 2, kValues / 2, at::kShort).view(type).to(at::kFloat);
  }
  const cases::Fill fill(seed, "every value", "float32");
  const at::Tensor any = fill.integers("any", {kValues / 2}, -(std::int64_t{1} << 31), std::int64_t{1} << 31);
  const at::Tensor exponent = fill.integers("exponent", {kValues / 2}, 127 - 12, 127 + 4);
  const at::Tensor rest = fill.integers("rest", {kValues / 2}, 0, 1 << 24);
  const at::Tensor sign = rest.div(1 << 23, "floor");
  const at::Tensor ordinary = exponent * (1 << 23) + rest.remainder(1 << 23) - sign * (std::int64_t{1} << 31);
  return from_bits(at::cat({any, ordinary}));
}

struct Part {
  at::Tensor x;
  Comparison comparison;
};

Part judge_part(const at::Tensor& x, const at::Tensor& output, const Reference& reference,
                const at::Tensor& which, const results::Rules& rules) {
  const at::Tensor index = which.flatten().nonzero().flatten();
  const auto take = [&](const at::Tensor& tensor) { return tensor.flatten().index_select(0, index); };
  Bound bound = reference.bounds[0];
  bound.error = take(bound.error);
  if (bound.hard.defined()) bound.hard = take(bound.hard);
  return {take(x), compare(take(output), take(reference.oracle[0]), bound, rules)};
}

// "f(3) is 1 where 2 is right; 7 of 100 values are wrong"
std::string worst(const Part& part, const std::string& name, c10::ScalarType type) {
  const Comparison& c = part.comparison;
  const double x = part.x[c.position[0]].item<double>();
  return name + "(" + text(x) + ") is " + text(c.actual) + " where " +
         text(precision::round_to(c.expected, precision::format_of(type))) + " is right; " +
         std::to_string(c.rejected) + " of " + std::to_string(c.elements) + " values are wrong";
}

std::string why_never(const CaseSetup& setup) {
  if (!cases::is_unary(setup.facts.bound.family)) return "not a function of one element";
  if (setup.original.find("x") == nullptr || setup.original.tensors.size() != 1)
    return "it has other tensors than x";
  return {};
}

}  // namespace

Json judge_every_value(const CaseSetup& setup, const precision::Precision& precision, Judgement& judgement) {
  if (std::string why = why_never(setup); !why.empty()) return why;
  const auto& [session, definition] = std::tie(setup.session, setup.definition);
  cases::State state = setup.original;
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(std::max<std::int64_t>(1, state[0].dim())), 1);
  sizes.back() = kValues;
  state.tensors[0].tensor = values_of(precision.type, session.seed).view(sizes);
  const at::Tensor x = state[0].to(at::kDouble);

  const TrialRun run = run_plain(session, definition, state, precision, {});
  const at::Tensor& output = run.outputs.front();
  const c10::ScalarType type = output.scalar_type();
  References references(session.rules, definition, setup.facts, state);
  const Reference& reference = references.get(run.prepared, precision, type);
  if (output.sizes() != reference.oracle[0].sizes()) {
    judgement.worsen(Verdict::kInaccurate, definition.outputs[0] + " has other sizes than its input");
    return "the output has other sizes than its input";
  }
  const at::Tensor rounded = precision::round_tensor(reference.oracle[0], type);
  const at::Tensor ordinary = x.abs()
                                  .le(kOrdinary)
                                  .logical_and_(rounded.isfinite())
                                  .logical_and_(reference.oracle[0].abs().lt(kOrdinaryResult));
  const Part inside = judge_part(x, output, reference, ordinary, session.rules);
  const Part outside = judge_part(x, output, reference, ordinary.logical_not(), session.rules);

  const std::string seen = precision::type_name(precision.type);
  const std::string input =
      precision.type == at::kFloat ? "sampled float32 values" : "every " + seen + " value";
  if (const Comparison& c = inside.comparison; c.rejected > 0) {
    Judgement own;
    own.worsen(c.nan_mismatch + c.inf_mismatch > 0 ? Verdict::kNonfinite : Verdict::kInaccurate,
               input + ": " + worst(inside, definition.name, type));
    judge_margin(session.rules, definition.name, definition.outputs[0], c.margin, own);
    judgement.worsen(own.verdict, own.reason);
  }
  if (const Comparison& c = outside.comparison; c.rejected > 0) {
    judgement.findings.push_back({input, c.nan_mismatch + c.inf_mismatch > 0 ? "nonfinite" : "inaccurate",
                                  worst(outside, definition.name, type) + ", beyond ordinary inputs"});
  }
  return {{"type", seen},
          {"values", kValues},
          {"decided", inside.comparison.elements},
          {"rejected", inside.comparison.rejected},
          {"margin", results::number(inside.comparison.margin)}};
}

}  // namespace ampgate::validate
