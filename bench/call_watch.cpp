#include "bench/call_watch.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "backends/settings.h"
#include "bench/ambient.h"
#include "bench/surroundings.h"
#include "precision/region.h"

namespace ampgate::bench {
namespace {

template <std::size_t size>
using Names = std::array<std::string_view, size>;

// Operators whose result, or whose size of it, the host takes from a tensor's values: on a device it waits.
constexpr Names<18> kReads{"aten::_local_scalar_dense",
                           "aten::item",
                           "aten::is_nonzero",
                           "aten::equal",
                           "aten::nonzero",
                           "aten::nonzero_numpy",
                           "aten::masked_select",
                           "aten::argwhere",
                           "aten::_unique",
                           "aten::_unique2",
                           "aten::unique_dim",
                           "aten::unique_consecutive",
                           "aten::bincount",
                           "aten::allclose",
                           "aten::_linalg_check_errors",
                           "aten::_assert_scalar",
                           "aten::_ctc_loss",
                           "aten::_pack_padded_sequence"};
// Called by the body itself, these make or move memory and compute nothing.
constexpr Names<6> kCopies{"aten::clone", "aten::copy_",   "aten::_to_copy",
                           "aten::set_",  "aten::resize_", "aten::resize_as_"};
// The same, where they do anything at all.
constexpr Names<3> kMaybeCopies{"aten::to", "aten::contiguous", "aten::type_as"};
constexpr Names<12> kFactories{"aten::empty",    "aten::zeros", "aten::ones",   "aten::full",
                               "aten::rand",     "aten::new_",  "aten::arange", "aten::linspace",
                               "aten::logspace", "aten::eye",   "aten::tensor", "aten::scalar_tensor"};

template <std::size_t size>
bool holds(const Names<size>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_factory(std::string_view name) {
  return std::any_of(kFactories.begin(), kFactories.end(),
                     [&](std::string_view start) { return name.starts_with(start); });
}

// From one device to another: the host waits, whichever end it is.
bool crosses_devices(const at::RecordFunction& function) {
  const auto inputs = function.inputs();
  return std::string_view(function.name()) == "aten::copy_" && inputs.size() > 1 && inputs[0].isTensor() &&
         inputs[1].isTensor() && inputs[0].toTensor().device() != inputs[1].toTensor().device();
}

bool is_given_a_generator(const at::RecordFunction& function) {
  const auto inputs = function.inputs();
  return std::any_of(inputs.begin(), inputs.end(), [](const c10::IValue& input) {
    return input.isGenerator() && input.toGenerator().defined();
  });
}

// Autocast is the trial's own affair within the body, and has fields of its own. So is grad mode in training:
// it is compared operator by operator, as the evidence has it.
backends::Fields without_own(backends::Fields fields, bool free_grad_mode) {
  std::erase_if(fields, [&](const auto& field) {
    return field.first.starts_with("autocast_") || (free_grad_mode && field.first == "grad_mode");
  });
  return fields;
}

}  // namespace

CallWatch::CallWatch(const Body& body, const backends::Fields& settings)
    : CallObserver(/*inputs=*/true), body_(body), settings_(settings), allocations_(*this) {}

void CallWatch::allocated(void*, std::int64_t bytes) {
  if (!open_.empty() || !body_.in_case()) return;
  ++seen_.stray_allocations;
  seen_.stray_bytes += bytes;
}

void CallWatch::enter(const at::RecordFunction& function) {
  const std::string name = function.name();
  ++seen_.dispatches;
  if (holds(kReads, name)) ++seen_.reads[name];
  if (crosses_devices(function)) ++seen_.reads[name + " between devices"];
  if (is_given_a_generator(function)) seen_.draws.insert(name);
  if (open_.empty()) {
    ++seen_.calls;
    look_around(name);
    const bool makes = holds(kCopies, name) || is_factory(name) || name.ends_with("_like");
    if (makes && body_.in_case()) seen_.makes.insert(name);
  } else if (body_.in_case() && holds(kCopies, name) && holds(kMaybeCopies, open_.front()) &&
             !precision::detail::in_island()) {
    seen_.makes.insert(open_.front());
  }
  look_at_settings(name);
  open_.push_back(name);
}

void CallWatch::look_around(const std::string& name) {
  const auto note = [&](const std::string& what) { seen_.states.emplace(what, name); };
  if (c10::GradMode::is_enabled() && !body_.with_gradients()) note("grad mode is on");
  if (!c10::GradMode::is_enabled() && body_.with_gradients() && body_.in_case()) note("grad mode is off");
  if (c10::InferenceMode::is_enabled()) note("inference mode is on");
  if (autocast_is_strange()) note("autocast is not as the precision asks");
  for (const auto& key : strange_keys()) {
    // Autograd runs its nodes without names of dimensions.
    if (body_.in_case() || key != "excludes Named") note("the dispatcher " + key);
  }
}

// Also inside operators, which may have kernels of their own that set and restore. What LibTorch's own ones
// do there with grad mode is theirs.
void CallWatch::look_at_settings(const std::string& name) {
  const bool free_grad_mode = body_.with_gradients() || !open_.empty();
  const auto now = without_own(backends::read_settings(), free_grad_mode);
  if (const auto setting = changed_setting(without_own(settings_, free_grad_mode), now); !setting.empty())
    seen_.states.emplace(setting, name);
}

// On for the trial's device and in its type, or off (as within an FP32 island), and nowhere else.
bool CallWatch::autocast_is_strange() const {
  for (const auto device : {c10::kCPU, c10::kCUDA}) {
    if (!at::autocast::is_autocast_enabled(device)) continue;
    const bool asked = device == body_.device() && body_.precision().mode == precision::Mode::kAutocast;
    if (!asked || at::autocast::get_autocast_dtype(device) != body_.precision().type) return true;
  }
  return false;
}

}  // namespace ampgate::bench
