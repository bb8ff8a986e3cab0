#include "validate/local/check.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "cases/independent.h"
#include "precision/formats.h"
#include "validate/aside.h"
#include "validate/compare.h"
#include "validate/elements.h"
#include "validate/local/adapter.h"
#include "validate/roundings.h"
#include "validate/text.h"

namespace ampgate::validate::local {
namespace {

using results::Json;

constexpr std::int64_t kMostElements = std::int64_t{1} << 17;  // of one output, judged

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

// Arithmetic with a number that 16 bit cannot hold. (An eps is no operand: kernels take it in FP32.)
bool takes_numbers(const CallView& view) {
  const auto& declared = view.op.schema().arguments();
  for (std::size_t i = 0; i < view.arguments.size(); ++i) {
    if (view.arguments[i].isDouble() && declared[i].name() != "eps") return true;
  }
  return false;
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

LocalResult judged(const CallView& view, const Comparison& comparison, const Bound& bound) {
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
  return result;
}

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

std::optional<LocalResult> LocalChecks::by_bound(const CallView& view) const {
  std::optional<LocalResult> result = by_bound(view, false);
  if (!result || result->finding < Finding::kBetween || !takes_numbers(view)) return result;
  std::optional<LocalResult> other = by_bound(view, true);
  return other && other->finding < result->finding ? other : result;
}

std::optional<LocalResult> LocalChecks::by_bound(const CallView& view, bool round_numbers) const {
  const Adapter adapter = adapter_of(view.record.name);
  if (adapter == nullptr) return {};
  const LocalCall call(view, round_numbers);
  std::optional<LocalProblem> problem = adapter(call);
  if (!problem || problem->actual.empty()) return {};
  take_sample(*problem);
  cases::Outputs oracle = problem->evaluate(problem->state);
  for (auto& output : oracle) output = output.contiguous();
  std::optional<LocalResult> worst;
  for (std::size_t i = 0; i < problem->actual.size(); ++i) {
    const at::Tensor& actual = problem->actual[i];
    const BoundContext context{
        "operator " + view.record.name, problem->evaluate,    problem->spec, problem->state, oracle,
        operand_type(view.record),      actual.scalar_type(), *rules_};
    Bound bound = error_bound(context, i);
    // max(-0, 0) and the like may give either zero.
    bound.exact_zeros = false;
    LocalResult result = judged(view, compare(actual, oracle[i], bound, *rules_), bound);
    const auto weight = [](const LocalResult& r) { return std::pair(r.finding, r.margin); };
    if (!worst || weight(result) > weight(*worst)) worst = std::move(result);
  }
  return worst;
}

// The rule for operators without a bound, with room for what it does not know: that one rounding of few
// elements may be luckily small, and that n terms are added up in FP32.
std::optional<LocalResult> LocalChecks::by_ratio(const CallView& view) const {
  const auto exact = evaluate_fp64(view);
  if (!exact) return {};
  double inputs = 1.0;
  for (const auto& input : view.record.inputs)
    inputs = std::max(inputs, static_cast<double>(input.values.elements));
  std::optional<LocalResult> worst;
  for (std::size_t i = 0; i < exact->size(); ++i) {
    const at::Tensor& actual = view.outputs[i];
    if (!is_low(actual.scalar_type())) continue;
    const at::Tensor oracle = (*exact)[i].contiguous();
    const ErrorRatio ratio = error_ratio(actual, oracle);
    const auto& format = precision::format_of(actual.scalar_type());
    const double scale = finite_rms(oracle);
    const double rounding = std::max(ratio.rounded_rmse, 0.5 * format.unit_roundoff() * scale);
    const double terms = std::max(1.0, inputs / std::max(1.0, static_cast<double>(actual.numel())));
    const double accumulation = rules_->bounds.lambda * 0x1p-24 * (1.0 + std::sqrt(terms)) * scale;
    const double allowed = rules_->bounds.error_ratio * rounding + accumulation + format.smallest_subnormal();
    LocalResult result{view.record.index, "error ratio"};
    result.margin = ratio.actual_rmse / allowed;
    result.text = "RMS error " + text(ratio.actual_rmse) + ", allowed " + text(allowed);
    if (!ratio.problem.empty() || !ratio.masks_equal || !(result.margin <= 1.0)) {
      result.finding = Finding::kOutside;
      if (!ratio.problem.empty()) result.text = ratio.problem;
      if (!ratio.masks_equal)
        result.text = "NaN or infinity where FP64 on its inputs has none, or the reverse";
    }
    if (!worst || result.margin > worst->margin) worst = std::move(result);
  }
  return worst;
}

void LocalChecks::check(const CallView& view) {
  const TracedCall& call = view.record;
  const bool low = std::any_of(call.outputs.begin(), call.outputs.end(),
                               [](const TracedTensor& output) { return is_low(output.type); });
  if (call.view || call.allocation) return;
  if (!low) {
    unchecked_.insert(call.name);
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
    result = by_bound(view);
  } catch (const std::exception&) {
    // A form of the operator that the adapter or the bound does not know.
  }
  // Of an operator that is made of others each part rounds, which no ratio to one rounding describes.
  if (result) {
    ++bounded_;
  } else if (!made_of_parts(view.op) && (result = by_ratio(view))) {
    by_ratio_.insert(call.name);
  } else {
    unchecked_.insert(call.name);
    return;
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
  if (first == nullptr) return "on the ordinary inputs every operator is right for the values it was given";
  std::string result = calls[first->call].place() + ", is the first outside its own " + first->criterion +
                       " (margin " + text(first->margin) + "): " + first->text;
  if (!first->explained_by.empty()) result += "; " + first->explained_by + " can explain it";
  const std::int64_t others = outside() - 1;
  result += others == 0 ? "; the other operators only pass its error on"
                        : "; " + std::to_string(others) + " others are outside theirs";
  return result;
}

}  // namespace ampgate::validate::local
