#include "validate/first_bad.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "precision/precision.h"
#include "validate/text.h"

namespace ampgate::validate {
namespace {

using results::Json;

// The calls that bad values passed on their way to the outputs, and the tensors of the case among their
// sources.
struct Path {
  std::set<std::size_t> calls;
  std::set<std::string> sources;
};

Path path_to(const std::vector<TracedCall>& calls, std::vector<std::size_t> open) {
  Path path;
  while (!open.empty()) {
    const std::size_t index = open.back();
    open.pop_back();
    if (!path.calls.insert(index).second) continue;
    for (const auto& input : calls[index].inputs) {
      if (input.ignored || input.values.finite()) continue;
      if (input.bad_writers.empty()) path.sources.insert(input.source);
      open.insert(open.end(), input.bad_writers.begin(), input.bad_writers.end());
    }
  }
  return path;
}

std::int64_t elements(const std::vector<std::int64_t>& sizes) {
  std::int64_t count = 1;
  for (const auto size : sizes) count *= size;
  return count;
}

// The call that made what backward starts from, and the scalars that it was made of (a loss before it was
// scaled).
std::set<std::size_t> loss_calls(const std::vector<TracedCall>& calls) {
  std::vector<std::size_t> open;
  for (const auto& call : calls) {
    const bool starts =
        call.stage == Stage::kBackward && call.index > 0 && calls[call.index - 1].stage != Stage::kBackward;
    if (starts && call.forward) open.push_back(*call.forward);
  }
  std::set<std::size_t> losses;
  while (!open.empty()) {
    const TracedCall& call = calls[open.back()];
    open.pop_back();
    const bool scalar = !call.outputs.empty() && elements(call.outputs[0].sizes) == 1;
    if (!scalar || call.stage != Stage::kForward || !losses.insert(call.index).second) continue;
    for (const auto& input : call.inputs) {
      if (input.last_writer && elements(input.sizes) == 1) open.push_back(*input.last_writer);
    }
  }
  return losses;
}

BadClass class_of(const TracedCall& call, const BadValue& value, const std::set<std::size_t>& losses) {
  if (call.stage == Stage::kBackward) return BadClass::kBackwardGradient;
  if (call.stage == Stage::kUpdate) return BadClass::kParameterUpdate;
  if (value.cast) return BadClass::kCast;
  return losses.contains(call.index) ? BadClass::kForwardLoss : BadClass::kIntermediate;
}

bool made_in_baseline(const BadSearch& search, std::size_t call) {
  return search.baseline != nullptr && search.baseline->contains(call);
}

// -inf for a masked place is written as a log of zero: meant when FP32 does the same.
bool is_mask(const BadSearch& search, const BadOrigin& origin) {
  if (origin.value.reason != BadReason::kLogOfZero || !std::isinf(origin.value.actual)) return false;
  return search.baseline == nullptr || origin.in_baseline;
}

bool only_negative_infinity(const BadValue& value) { return value.actual == -INFINITY; }

bool unwritten(const TracedTensor& tensor) { return tensor.values.unwritten > 0; }

bool gives_floating(const TracedCall& call) {
  return std::any_of(call.outputs.begin(), call.outputs.end(),
                     [](const TracedTensor& output) { return c10::isFloatingType(output.type); });
}

// A test (isfinite) or an index takes part of the value only: it swallows what nothing else does.
std::optional<std::size_t> swallower(const BadSearch& search, std::size_t origin) {
  std::optional<std::size_t> tested;
  std::set<std::size_t> carriers{origin};
  for (std::size_t i = origin + 1; i < search.calls.size(); ++i) {
    const TracedCall& call = search.calls[i];
    const bool reads = std::any_of(call.inputs.begin(), call.inputs.end(), [&](const TracedTensor& input) {
      return !input.ignored && !input.values.finite() &&
             std::any_of(input.bad_writers.begin(), input.bad_writers.end(),
                         [&](std::size_t writer) { return carriers.contains(writer); });
    });
    if (!reads || call.view) continue;
    if (!call.finite_outputs()) {
      carriers.insert(i);
    } else if (gives_floating(call)) {
      return i;
    } else if (!tested) {
      tested = i;
    }
  }
  return tested;
}

// A bad value that no operator made and no tensor of the case held.
BadOrigin unknown_source() {
  BadValue value{};
  value.reason = BadReason::kUnknown;
  value.actual = NAN;
  value.text = "it came into the run with a tensor that is none of the case's";
  return {BadClass::kInput, {}, "?", std::move(value)};
}

BadOrigin given(const TracedCall& call, std::string why) {
  BadValue value{};
  value.reason = BadReason::kInvalid;
  value.text = std::move(why);
  value.actual = call.nan_in_outputs() ? NAN : INFINITY;
  value.inputs.resize(call.inputs.size());
  value.outputs.resize(call.outputs.size());
  return {BadClass::kIntermediate, call.index, {}, std::move(value)};
}

// For a run that gives back what nobody computed: unfilled memory or a constant.
std::optional<BadOrigin> given_value(const BadSearch& search, const Path& path) {
  constexpr const char* kNeverFilled = "memory that was allocated here was never filled";
  const auto unfilled = unfilled_memory(search.calls, search.reached);
  if (unfilled && search.calls[unfilled->left_by].allocation) {
    BadOrigin origin = given(search.calls[unfilled->left_by], kNeverFilled);
    origin.read_by = unfilled->read_by;
    return origin;
  }
  for (const std::size_t index : path.calls) {
    const TracedCall& call = search.calls[index];
    const bool constant = !call.finite_scalars && call.finite_outputs() == false;
    if (!call.allocation && !constant) continue;
    return given(call, call.allocation ? kNeverFilled : "the caller gave this value as a constant");
  }
  return {};
}

Json call_json(const TracedCall& call) { return {{"index", call.index}, {"operator", call.name}}; }

Json optional_number(const std::optional<double>& value) { return value ? results::number(*value) : Json(); }

Json tensors_json(const std::vector<TracedTensor>& tensors,
                  const std::vector<std::optional<Extremes>>& extremes) {
  Json list = Json::array();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TracedTensor& tensor = tensors[i];
    Json entry{{"name", tensor.name},
               {"type", precision::type_name(tensor.type)},
               {"computed_as", precision::type_name(tensor.seen)},
               {"shape", tensor.sizes},
               {"nonfinite", tensor.values.nans + tensor.values.infinities}};
    if (!tensor.source.empty()) entry["tensor"] = tensor.source;
    if (i < extremes.size() && extremes[i]) {
      entry["min"] = results::number(extremes[i]->min);
      entry["max"] = results::number(extremes[i]->max);
    }
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

std::string_view name_of(BadClass cls) {
  constexpr std::array<std::string_view, 6> kNames{
      "input", "cast", "intermediate", "forward-loss", "backward-gradient", "parameter-update"};
  return kNames[static_cast<std::size_t>(cls)];
}

BadReport find_bad_values(const BadSearch& search) {
  const Path path = path_to(search.calls, search.reached);
  const std::set<std::size_t> losses = loss_calls(search.calls);
  std::vector<BadOrigin> reaching;
  BadReport report;
  for (const auto& [tensor, value] : search.stored) {
    BadOrigin origin{value.cast ? BadClass::kCast : BadClass::kInput, {}, tensor, value};
    // A row of the lowest finite number becomes -inf when it is cast: a mask as well.
    if (path.sources.contains(tensor)) {
      reaching.push_back(std::move(origin));
    } else if (!only_negative_infinity(value)) {
      report.swallowed.push_back(std::move(origin));
    }
  }
  for (const auto& [index, value] : search.made) {
    BadOrigin origin{class_of(search.calls[index], value, losses), index, {}, value};
    origin.in_baseline = made_in_baseline(search, index);
    if (path.calls.contains(index)) {
      reaching.push_back(std::move(origin));
    } else if (!is_mask(search, origin)) {
      origin.swallowed_by = swallower(search, index);
      report.swallowed.push_back(std::move(origin));
    }
  }
  // Masks are the origin only when nothing else is.
  const auto meant = [&](const BadOrigin& origin) {
    return (search.baseline != nullptr && is_mask(search, origin)) ||
           (!origin.call && only_negative_infinity(origin.value));
  };
  const auto first = std::find_if_not(reaching.begin(), reaching.end(), meant);
  if (first != reaching.end()) {
    report.first = *first;
  } else if (!reaching.empty()) {
    report.first = reaching.front();
  } else {
    report.first = given_value(search, path);
    if (!report.first && !path.sources.empty()) report.first = unknown_source();
  }
  return report;
}

std::optional<UnfilledMemory> unfilled_memory(const std::vector<TracedCall>& calls,
                                              const std::vector<std::size_t>& reached) {
  const auto first_leaver = [&](const std::vector<std::size_t>& writers) -> std::optional<std::size_t> {
    const auto found = std::find_if(writers.begin(), writers.end(), [&](std::size_t writer) {
      return calls[writer].allocation ||
             std::any_of(calls[writer].outputs.begin(), calls[writer].outputs.end(), unwritten);
    });
    return found == writers.end() ? std::nullopt : std::optional(*found);
  };
  for (const std::size_t index : path_to(calls, reached).calls) {
    for (const auto& input : calls[index].inputs) {
      if (input.ignored || !unwritten(input)) continue;
      const auto left_by = first_leaver(input.bad_writers);
      return left_by ? std::optional(UnfilledMemory{*left_by, index}) : std::nullopt;
    }
  }
  const auto left_by = first_leaver(reached);
  return left_by ? std::optional(UnfilledMemory{*left_by, {}}) : std::nullopt;
}

std::string sentence(const UnfilledMemory& memory, const std::vector<TracedCall>& calls) {
  const TracedCall& left_by = calls[memory.left_by];
  std::string result =
      left_by.place() + (left_by.allocation ? ", allocated it" : ", did not write all of its result");
  if (memory.read_by) result += ", and " + calls[*memory.read_by].place() + ", computed with it";
  return result;
}

std::string sentence(const BadOrigin& origin, const std::vector<TracedCall>& calls) {
  const std::string cls(name_of(origin.cls));
  if (!origin.call) {
    return "tensor '" + origin.tensor + "' (" + cls + "): " + text(origin.value.position) + " is " +
           text(origin.value.actual) + "; " + origin.value.text;
  }
  const TracedCall& call = calls[*origin.call];
  std::string result = call.place() + " (" + cls + "): " + call.outputs[origin.value.output].name;
  if (!origin.value.position.empty()) result += text(origin.value.position);
  result += " is " + text(origin.value.actual) + "; " + origin.value.text;
  if (origin.read_by) result += ", and " + calls[*origin.read_by].place() + ", computed with it";
  if (origin.swallowed_by) result += "; swallowed by " + calls[*origin.swallowed_by].place();
  return result;
}

Json to_json(const BadOrigin& origin, const std::vector<TracedCall>& calls) {
  const BadValue& value = origin.value;
  Json json{{"class", name_of(origin.cls)},
            {"reason", name_of(value.reason)},
            {"text", value.text},
            {"position", value.position},
            {"actual", results::number(value.actual)}};
  if (value.exact) json["exact"] = optional_number(value.exact);
  if (!origin.call) {
    json["tensor"] = origin.tensor;
    return json;
  }
  const TracedCall& call = calls[*origin.call];
  json["index"] = call.index;
  json["operator"] = call.name;
  json["region"] = call.region;
  json["output"] = call.outputs[value.output].name;
  json["inputs"] = tensors_json(call.inputs, value.inputs);
  json["outputs"] = tensors_json(call.outputs, value.outputs);
  json["in_baseline"] = origin.in_baseline;
  if (call.forward) json["forward_index"] = *call.forward;
  if (origin.swallowed_by) json["swallowed_by"] = call_json(calls[*origin.swallowed_by]);
  if (origin.read_by) json["read_by"] = call_json(calls[*origin.read_by]);
  return json;
}

}  // namespace ampgate::validate
