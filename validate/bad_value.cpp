#include "validate/bad_value.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "precision/formats.h"
#include "precision/precision.h"
#include "validate/aside.h"
#include "validate/call_tensors.h"
#include "validate/elements.h"
#include "validate/fp64_call.h"
#include "validate/text.h"

namespace ampgate::validate {
namespace {

bool in(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string format_name(c10::ScalarType type) {
  switch (type) {
    case at::kHalf:
      return "FP16";
    case at::kBFloat16:
      return "BF16";
    case at::kFloat:
      return "FP32";
    default:
      return precision::type_name(type);
  }
}

std::string beyond(double exact, c10::ScalarType type) {
  return text(exact) + " is beyond " + format_name(type) + "'s largest finite value " +
         text(precision::format_of(type).max);
}

double element(const at::Tensor& tensor, const std::vector<std::int64_t>& position) {
  at::Tensor value = tensor;
  for (const auto i : position) value = value[i];
  return value.item<double>();
}

std::optional<Extremes> extremes(const at::Tensor& tensor) {
  if (!tensor.is_floating_point()) return {};
  const at::Tensor values = tensor.detach().cpu().to(at::kDouble);
  const at::Tensor finite = values.masked_select(values.isfinite());
  if (finite.numel() == 0) return {};
  return Extremes{finite.min().item<double>(), finite.max().item<double>()};
}

// The operand that stands under `name` at a position of an output it is broadcast to.
std::optional<double> operand_at(const CallView& view, std::string_view name, const at::Tensor& output,
                                 const std::vector<std::int64_t>& position) {
  const auto tensors = seen_inputs(view);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (view.record.inputs[i].name != name) continue;
    if (!at::is_expandable_to(tensors[i].sizes(), output.sizes())) return {};
    return element(tensors[i].expand_as(output), position);
  }
  const auto& arguments = view.op.schema().arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name() == name && view.arguments[i].isScalar()) {
      return view.arguments[i].toScalar().to<double>();
    }
  }
  return {};
}

// A finite element that the conversion to the type of the kernel made infinite.
bool find_cast(const CallView& view, BadValue& bad) {
  const auto seen = seen_inputs(view);
  std::size_t number = 0;
  for (const auto& argument : view.arguments) {
    for (const at::Tensor& tensor : tensors_in(argument)) {
      const std::size_t i = number++;
      const TracedTensor& record = view.record.inputs[i];
      if (record.ignored || record.seen == record.type || !c10::isFloatingType(record.seen)) continue;
      const FiniteScan scan = scan_finite(seen[i]);
      if (scan.infinities <= record.values.infinities) continue;
      const at::Tensor lost = at::isinf(seen[i]).logical_and_(at::isfinite(tensor.detach().cpu()));
      const std::int64_t first = lost.flatten().nonzero()[0].item<std::int64_t>();
      const auto position = position_of(first, tensor.sizes());
      bad.cast = true;
      bad.reason = BadReason::kOverflow;
      bad.exact = element(tensor.detach().cpu(), position);
      bad.text = "overflow in the cast of '" + record.name + text(position) +
                 "' inside the operator: " + beyond(*bad.exact, record.seen);
      return true;
    }
  }
  return false;
}

void explain_domain(const CallView& view, const at::Tensor& output, BadValue& bad) {
  const std::string_view name = base_name(view.record.name);
  const auto at_self = operand_at(view, "self", output, bad.position);
  const auto value = [](const std::optional<double>& number) {
    return number ? text(*number) : std::string("a value");
  };
  if (in(name, {"div", "divide", "true_divide", "floor_divide", "remainder", "fmod", "addcdiv"})) {
    const bool fused = name == "addcdiv";
    const auto above = fused ? operand_at(view, "tensor1", output, bad.position) : at_self;
    const auto below = operand_at(view, fused ? "tensor2" : "other", output, bad.position);
    if (below && *below == 0.0) {
      bad.reason = BadReason::kDivisionByZero;
      bad.text = "division by zero: " + value(above) + " / 0";
      return;
    }
  } else if (in(name, {"reciprocal", "rsqrt"}) && at_self && *at_self == 0.0) {
    bad.reason = BadReason::kDivisionByZero;
    bad.text = "division by zero: " + std::string(name) + " of 0";
    return;
  } else if (name == "pow" && at_self && *at_self == 0.0) {
    bad.reason = BadReason::kDivisionByZero;
    bad.text = "division by zero: 0 to a negative power";
    return;
  } else if (in(name, {"log", "log2", "log10", "log1p", "logit", "log_sigmoid", "xlogy"})) {
    bad.reason = BadReason::kLogOfZero;
    bad.text = std::string(name) + " of " + value(name == "xlogy" ? std::nullopt : at_self);
    return;
  } else if (in(name, {"mean", "var", "std", "layer_norm", "native_layer_norm", "group_norm",
                       "native_group_norm", "batch_norm", "native_batch_norm", "rms_norm", "instance_norm",
                       "cross_entropy_loss", "nll_loss", "nll_loss_nd", "mse_loss", "normalize"}) &&
             view.record.finite_inputs()) {
    bad.reason = BadReason::kDivisionByZero;
    bad.text =
        "division by zero inside the operator: its exact value is " + text(*bad.exact) + " in FP64 too";
    return;
  }
  if (std::isinf(*bad.exact) && view.record.finite_inputs()) {
    bad.reason = BadReason::kOverflow;
    bad.text = "overflow: the exact value is beyond FP64's largest finite value";
    return;
  }
  bad.reason = BadReason::kInvalid;
  bad.text = view.record.finite_inputs()
                 ? "invalid operation: " + std::string(name) + " of " + value(at_self) + " has no value"
                 : "invalid operation on infinite inputs: inf - inf or 0 * inf";
}

// The first element that the call itself made bad: it is not finite, and in FP64 it is, or it is NaN and no
// input was.
std::optional<std::int64_t> first_made(const CallView& view, const TracedTensor& record,
                                       const at::Tensor& output, const at::Tensor* exact) {
  if (view.record.finite_inputs()) return record.values.first;
  const at::Tensor here = output.detach().cpu();
  at::Tensor made = view.record.finite_scalars ? at::isnan(here) : at::zeros_like(here, at::kBool);
  if (exact != nullptr)
    made.logical_or_(at::isfinite(here).logical_not_().logical_and_(at::isfinite(*exact)));
  const at::Tensor places = made.flatten().nonzero();
  if (places.size(0) == 0) return {};
  return places[0].item<std::int64_t>();
}

void explain(const CallView& view, const at::Tensor& output, const at::Tensor* exact, BadValue& bad) {
  if (exact != nullptr) bad.exact = element(*exact, bad.position);
  if (find_cast(view, bad)) return;
  const auto type = output.scalar_type();
  if (!bad.exact) {
    bad.reason = BadReason::kUnknown;
    bad.text = "unknown: the operator cannot be computed in FP64";
  } else if (!std::isfinite(*bad.exact)) {
    explain_domain(view, output, bad);
  } else if (std::isinf(precision::round_to(*bad.exact, precision::format_of(type)))) {
    bad.reason = BadReason::kOverflow;
    bad.text = "overflow: the exact value " + beyond(*bad.exact, type);
    bad.cast = in(base_name(view.record.name), {"to", "_to_copy", "copy", "type_as"});
  } else {
    bad.reason = BadReason::kKernelFault;
    bad.text = "none: the exact value " + text(*bad.exact) + " fits " + format_name(type) +
               ", so the kernel is at fault";
  }
}

}  // namespace

std::string_view name_of(BadReason reason) {
  constexpr std::array<std::string_view, 6> kNames{
      "overflow", "division by zero", "log of zero or less", "invalid", "none", "unknown"};
  return kNames[static_cast<std::size_t>(reason)];
}

std::optional<BadValue> made_bad_value(const CallView& view) {
  const TracedCall& call = view.record;
  if (call.allocation || call.view || call.finite_outputs() || call.nan_in_inputs()) return {};
  const Aside aside;
  const auto exact = evaluate_fp64(view);
  for (std::size_t i = 0; i < view.outputs.size(); ++i) {
    if (call.outputs[i].values.finite()) continue;
    const at::Tensor* value = exact ? &(*exact)[i] : nullptr;
    const auto first = first_made(view, call.outputs[i], view.outputs[i], value);
    if (!first) continue;
    BadValue bad{};
    bad.output = i;
    bad.position = position_of(*first, view.outputs[i].sizes());
    bad.actual = element(view.outputs[i].detach().cpu(), bad.position);
    explain(view, view.outputs[i], value, bad);
    for (const auto& argument : view.arguments) {
      for (const at::Tensor& tensor : tensors_in(argument)) bad.inputs.push_back(extremes(tensor));
    }
    for (const at::Tensor& output : view.outputs) bad.outputs.push_back(extremes(output));
    return bad;
  }
  return {};
}

std::optional<BadValue> stored_bad_value(const at::Tensor& original, const at::Tensor& stored) {
  const FiniteScan scan = scan_finite(stored);
  if (scan.finite()) return {};
  BadValue bad{};
  bad.position = position_of(scan.first, stored.sizes());
  bad.actual = element(stored.detach().cpu(), bad.position);
  bad.exact = element(original.detach().cpu(), bad.position);
  bad.cast = std::isfinite(*bad.exact);
  bad.reason = bad.cast ? BadReason::kOverflow : BadReason::kInvalid;
  bad.text = bad.cast ? "overflow in the cast before the run: " + beyond(*bad.exact, stored.scalar_type())
                      : "it is " + text(bad.actual) + " as it was set up";
  bad.inputs.push_back(extremes(original));
  bad.outputs.push_back(extremes(stored));
  return bad;
}

}  // namespace ampgate::validate
