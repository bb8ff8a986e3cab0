#include "validate/local/check.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "cases/independent.h"
#include "precision/formats.h"
#include "validate/aside.h"
#include "validate/bounds/families.h"
#include "validate/compare.h"
#include "validate/fp64_defaults.h"
#include "validate/local/adapter.h"
#include "validate/numbers.h"
#include "validate/one_sided.h"
#include "validate/reference.h"
#include "validate/roundings.h"
#include "validate/text.h"

namespace ampgate::validate::local {
namespace {

using results::Json;

constexpr std::int64_t kMostElements = std::int64_t{1} << 17;  // of one output, judged
constexpr auto kErrorRatio = "error ratio";

bool is_low(c10::ScalarType type) { return type == at::kHalf || type == at::kBFloat16 || type == at::kFloat; }

// The widest floating type in which the kernel took an operand: products of two 16-bit values are exact.
c10::ScalarType operand_type(const TracedCall& call) {
  c10::ScalarType widest = call.outputs.front().type;
  int bits = 0;
  for (const auto& input : call.inputs) {
    if (!c10::isFloatingType(input.seen) || input.ignored) continue;
    const int significand = precision::format_of(input.seen).significand_bits;
    if (significand > bits) widest = input.seen;
    bits = std::max(bits, significand);
  }
  return widest;
}

// First and last rows, and evenly spread ones between them.
void take_sample(LocalProblem& problem) {
  const at::Tensor& output = problem.actual.front();
  if (!problem.independent || output.numel() <= kMostElements) return;
  const auto& axis = *problem.independent;
  const std::int64_t length = output.size(axis.output_dim);
  const std::int64_t rows = std::clamp<std::int64_t>(kMostElements / (output.numel() / length), 1, length);
  const at::Tensor positions =
      at::linspace(0, static_cast<double>(length - 1), rows, at::kDouble).round().to(at::kLong);
  problem.state = cases::select(problem.state, axis, positions);
  for (auto& actual : problem.actual) {
    actual = cases::select(actual.detach().cpu(), axis, positions);
  }
}

std::string place(const std::string& output, const Comparison& comparison) {
  return output + text(comparison.position) + " is " + text(comparison.actual) +
         " where FP64 on its inputs gives " + text(comparison.expected) + ", allowed " +
         text(comparison.bound);
}

// Of an output whose RMS error has a limit as well.
void judge_rms(const Comparison& comparison, const Bound& bound, const at::Tensor& actual,
               const at::Tensor& oracle, LocalResult& result) {
  const double margin = comparison.rms_error / bound.rms_limit;
  if (margin > result.margin) {
    result.margin = margin;
    result.text = "RMS error " + text(comparison.rms_error) + ", allowed " + text(bound.rms_limit);
  }
  if (!(comparison.rms_error <= std::max(bound.rms_limit, bound.rms_hard))) {
    result.finding = Finding::kOutside;
  } else if (comparison.rms_error > bound.rms_limit && result.finding < Finding::kBetween) {
    result.finding = Finding::kBetween;
    result.explained_by = bound.hard_source;
  }
  // Nothing can be said of a single element, and nothing needs to be.
  if (result.finding == Finding::kUndecided) result.finding = Finding::kWithin;
  if (const std::string one_sided = one_sided_rounding(actual, oracle); !one_sided.empty()) {
    result.finding = Finding::kOutside;
    result.text = one_sided + ", so the result is not rounded to nearest";
  }
}

LocalResult judged(const CallView& view, const Comparison& comparison, const Bound& bound,
                   const at::Tensor& actual, const at::Tensor& oracle) {
  LocalResult result{view.record.index, bound.criterion};
  result.margin = comparison.margin;
  result.text = comparison.problem.empty() ? place("out", comparison) : comparison.problem;
  if (comparison.suspect()) {
    result.finding = Finding::kBetween;
    result.explained_by = bound.hard_source;
  } else if (comparison.undecided()) {
    result.finding = Finding::kUndecided;
  } else if (!comparison.accepted()) {
    result.finding = Finding::kOutside;
  }
  if (bound.rms_limit > 0.0 && comparison.problem.empty())
    judge_rms(comparison, bound, actual, oracle, result);
  return result;
}

auto weight(const LocalResult& result) { return std::pair(result.finding, result.margin); }

Json result_json(const LocalResult& result, const std::vector<TracedCall>& calls) {
  const TracedCall& call = calls[result.call];
  Json json{{"index", call.index},
            {"operator", call.name},
            {"region", call.region},
            {"criterion", result.criterion},
            {"margin", results::number(result.margin)},
            {"text", result.text}};
  if (!result.explained_by.empty()) json["explained_by"] = result.explained_by;
  return json;
}

}  // namespace

// By what is known of its family; else by how many terms the case says that it adds up, or the error ratio.
std::optional<LocalProblem> LocalChecks::problem_of(const LocalCall& call) const {
  if (const Adapter adapter = adapter_of(call.view.record.name); adapter != nullptr) {
    std::optional<LocalProblem> problem;
    try {
      problem = adapter(call);
    } catch (const std::exception&) {
      // A form of the operator that the adapter does not know.
    }
    if (problem && !problem->actual.empty()) return problem;
  }
  // Of an operator that is made of others each part rounds, which no ratio to one rounding describes.
  if (made_of_parts(call.view.op)) return {};
  if (length_ == 0 || is_libtorchs(call.view.op)) return call.as_unknown({.family = cases::Family::kUnknown});
  return call.as_unknown({.family = cases::Family::kConditioned, .length = length_});
}

std::optional<LocalResult> LocalChecks::judge(const LocalCall& call) const {
  const CallView& view = call.view;
  std::optional<LocalProblem> problem = problem_of(call);
  if (!problem) return {};
  take_sample(*problem);
  const Fp64Defaults defaults;
  cases::Outputs oracle = problem->evaluate(problem->state);
  for (auto& output : oracle) output = output.contiguous();
  std::optional<LocalResult> worst;
  for (std::size_t i = 0; i < problem->actual.size(); ++i) {
    const at::Tensor& actual = problem->actual[i];
    if (!is_low(actual.scalar_type())) continue;
    const BoundContext context{
        "operator " + view.record.name, problem->evaluate,    problem->spec, problem->state, oracle,
        operand_type(view.record),      actual.scalar_type(), *rules_};
    Bound bound = error_bound(context, i);
    if (problem->spec.family == cases::Family::kUnknown && is_libtorchs(view.op))
      bounds::allow_16_bit_steps(context, i, bound);
    // max(-0, 0) and the like may give either zero.
    bound.exact_zeros = false;
    Reference reference{{}, {}, oracle, std::vector<Bound>(oracle.size(), bound)};
    if (bound.jumps.defined()) reference = nearest(std::move(reference), actual, i);
    const at::Tensor& right = reference.oracle[i];
    LocalResult result = judged(view, compare(actual, right, bound, *rules_), bound, actual, right);
    if (!worst || weight(result) > weight(*worst)) worst = std::move(result);
  }
  return worst;
}

std::optional<LocalResult> LocalChecks::best_reading(const CallView& view) const {
  std::optional<LocalResult> best = judge(LocalCall(view));
  if (!best || best->finding < Finding::kBetween || !is_libtorchs(view.op)) return best;
  for (const auto type : std::set{at::kFloat, view.outputs.front().scalar_type()}) {
    torch::jit::Stack numbers = view.arguments;
    if (!c10::isFloatingType(type) || !round_numbers(view.op.schema(), numbers, type)) continue;
    std::optional<LocalResult> other = judge(LocalCall(view, type));
    if (other && weight(*other) < weight(*best)) best = std::move(other);
  }
  return best;
}

void LocalChecks::check(const CallView& view) {
  const TracedCall& call = view.record;
  const bool low = std::any_of(call.outputs.begin(), call.outputs.end(),
                               [](const TracedTensor& output) { return is_low(output.type); });
  if (call.view || call.allocation) return;
  if (!low) {
    unchecked_.insert(call.name);
    ++unchecked_calls_;
    return;
  }
  // -inf is what masks are made of; NaN can only be passed on.
  if (call.nan_in_inputs()) {
    ++nonfinite_inputs_;
    return;
  }
  const Aside aside;
  std::optional<LocalResult> result;
  try {
    result = best_reading(view);
  } catch (const std::exception&) {
    // Operands that the bound does not know what to do with.
  }
  if (!result) {
    unchecked_.insert(call.name);
    ++unchecked_calls_;
    return;
  }
  if (result->criterion == kErrorRatio) {
    by_ratio_.insert(call.name);
    if (!is_libtorchs(view.op)) unproven_.insert(call.name);
  } else {
    ++bounded_;
  }
  results_.push_back(std::move(*result));
}

const LocalResult* LocalChecks::first_outside() const {
  for (const auto finding : {Finding::kOutside, Finding::kBetween}) {
    const auto found = std::find_if(results_.begin(), results_.end(),
                                    [&](const LocalResult& result) { return result.finding == finding; });
    if (found != results_.end()) return &*found;
  }
  return nullptr;
}

std::int64_t LocalChecks::outside() const {
  return std::count_if(results_.begin(), results_.end(),
                       [](const LocalResult& result) { return result.finding >= Finding::kBetween; });
}

Json LocalChecks::to_json(const std::vector<TracedCall>& calls) const {
  Json json{{"operators", results_.size()},
            {"by_bound", bounded_},
            {"by_error_ratio", std::ssize(results_) - bounded_},
            {"error_ratio_operators", by_ratio_},
            {"unchecked", unchecked_},
            {"nonfinite_inputs", nonfinite_inputs_},
            {"outside", outside()}};
  const auto worst = std::max_element(results_.begin(), results_.end(),
                                      [](const auto& a, const auto& b) { return a.margin < b.margin; });
  if (worst != results_.end()) json["worst"] = result_json(*worst, calls);
  if (const LocalResult* first = first_outside()) json["first_outside"] = result_json(*first, calls);
  return json;
}

std::string LocalChecks::sentence(const std::vector<TracedCall>& calls) const {
  const LocalResult* first = first_outside();
  if (first == nullptr) {
    if (unchecked_.empty())
      return "on the ordinary inputs every operator is right for the values it was given";
    std::string names;
    for (const auto& name : unchecked_) names += (names.empty() ? "" : ", ") + name;
    return "on the ordinary inputs every operator that can be checked alone is right for the values it was "
           "given; " +
           names + " could not";
  }
  std::string result = calls[first->call].place() + ", is the first outside its own " + first->criterion +
                       " (margin " + text(first->margin) + "): " + first->text;
  if (!first->explained_by.empty()) result += "; " + first->explained_by + " can explain it";
  const std::int64_t others = outside() - 1;
  result += others == 0 ? "; the other operators only pass its error on"
                        : "; " + std::to_string(others) + " others are outside theirs";
  return result;
}

}  // namespace ampgate::validate::local
