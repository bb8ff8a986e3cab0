#include "bench/output_check.h"

#include <stdexcept>

#include "backends/difference.h"
#include "backends/digest.h"
#include "cases/checks.h"

namespace ampgate::bench {
namespace {

using results::Json;

std::string text(double value) { return results::number(value).dump(); }

std::string outside_bounds(const std::string& name, const at::Tensor& output, const Json& check) {
  const auto positions = check.at("positions").get<std::vector<std::int64_t>>();
  const Json& low = check.at("low");
  const Json& high = check.at("high");
  std::vector<double> values;
  try {
    values = cases::values_at(output, positions);
  } catch (const std::out_of_range& error) {
    return "output '" + name + "' has " + error.what();
  }
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const double value = values[i];
    if (!cases::allowed(value, results::number_from(low.at(i)), results::number_from(high.at(i)))) {
      return "output '" + name + "' is " + text(value) + " at position " + std::to_string(positions[i]) +
             ", validated from " + low.at(i).dump() + " to " + high.at(i).dump();
    }
  }
  return "";
}

std::string strayed(const std::string& name, const at::Tensor& now, const at::Tensor& before,
                    const Json& check) {
  if (now.sizes() != before.sizes() || now.scalar_type() != before.scalar_type())
    return "output '" + name + "' has another type or other sizes than at first";
  const double largest = results::number_from(check.at("max_difference"));
  const double rms = results::number_from(check.at("rms_difference"));
  const auto found = backends::difference(now, before, largest);
  if (found.masks > 0) {
    return "output '" + name + "' has other NaN or infinities than at first, " + std::to_string(found.masks) +
           " of them, the first at position " + std::to_string(found.mask_at);
  }
  if (found.largest > largest) {
    return "output '" + name + "' differs by " + text(found.largest) +
           " from that of the first call at position " + std::to_string(found.largest_at) +
           ", two right ones by " + text(largest) + " at most";
  }
  if (found.rms > rms) {
    return "output '" + name + "' differs from that of the first call by " + text(found.rms) +
           " in the root mean square, two right ones by " + text(rms) + " at most";
  }
  return "";
}

// An output that the rules ignore: its content may be anything, also where the others repeat bit by bit.
bool is_unchecked(const Json& evidence, const std::string& output) {
  return evidence.value("unchecked", Json::object()).contains(output);
}

const Json* check_of(const Json& evidence, const std::string& output) {
  const auto checks = evidence.find("checks");
  if (checks == evidence.end()) return nullptr;
  for (const auto& check : *checks) {
    if (check.at("output") == output) return &check;
  }
  return nullptr;
}

}  // namespace

std::string_view to_string(CheckMethod method) {
  return method == CheckMethod::kDigest ? "digest" : "bounds";
}

CheckMethod check_method(const Json& evidence) {
  return evidence.value("repeatable", false) ? CheckMethod::kDigest : CheckMethod::kBounds;
}

std::string missing_outputs(const cases::Case& definition, const Json& evidence) {
  for (const auto& name : definition.outputs) {
    if (is_unchecked(evidence, name)) continue;
    if (check_method(evidence) == CheckMethod::kDigest) {
      if (!evidence.contains("outputs") || !evidence["outputs"].contains(name)) return "/outputs/" + name;
    } else {
      const Json* check = check_of(evidence, name);
      if (check == nullptr || check->at("positions").empty()) return "/checks of output '" + name + "'";
      for (const char* limit : {"max_difference", "rms_difference"})
        if (!check->contains(limit)) return "/checks of output '" + name + "'/" + limit;
    }
  }
  return "";
}

std::string changed_output(const cases::Case& definition, const cases::Outputs& outputs,
                           const Json& evidence) {
  if (outputs.size() != definition.outputs.size()) {
    return std::to_string(outputs.size()) + " outputs, not " + std::to_string(definition.outputs.size());
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = definition.outputs[i];
    if (is_unchecked(evidence, name)) continue;
    if (check_method(evidence) == CheckMethod::kDigest) {
      const std::string now = backends::digest(outputs[i]);
      const auto validated = evidence.at("outputs").at(name).get<std::string>();
      if (now != validated) return "output '" + name + "' has digest " + now + ", validated was " + validated;
    } else if (std::string problem = outside_bounds(name, outputs[i], *check_of(evidence, name));
               !problem.empty()) {
      return problem;
    }
  }
  return "";
}

std::string strayed_output(const cases::Case& definition, const cases::Outputs& outputs,
                           const cases::Outputs& before, const Json& evidence) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = definition.outputs[i];
    if (is_unchecked(evidence, name)) continue;
    if (auto problem = strayed(name, outputs[i], before[i], *check_of(evidence, name)); !problem.empty())
      return problem;
  }
  return "";
}

std::vector<std::string> state_digests(const cases::State& state) {
  std::vector<std::string> digests;
  for (const auto& entry : state.tensors) digests.push_back(backends::digest(entry.tensor));
  return digests;
}

std::string changed_tensor(const cases::State& state, const std::vector<std::string>& digests_before) {
  for (std::size_t i = 0; i < state.tensors.size(); ++i) {
    if (backends::digest(state.tensors[i].tensor) != digests_before[i]) return state.tensors[i].name;
  }
  return "";
}

}  // namespace ampgate::bench
