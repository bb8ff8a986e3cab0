#include "results/gate.h"

#include <array>
#include <optional>
#include <utility>

namespace ampgate::results {
namespace {

struct Difference {
  Json::json_pointer field;
  std::string what;
};

std::string quoted(const Json& value) {
  std::string text = to_text(value);
  constexpr std::size_t kLongest = 100;
  return text.size() > kLongest ? text.substr(0, kLongest) + "..." : text;
}

std::optional<Difference> first_difference(const Json& evidence, const Json& observed,
                                           const Json::json_pointer& field) {
  if (observed.is_object() && evidence.is_object()) {
    for (const auto& [key, seen] : observed.items()) {
      const auto member = evidence.find(key);
      if (member == evidence.end()) {
        return Difference{field / key, "the evidence does not say, this run has " + quoted(seen)};
      }
      if (auto difference = first_difference(*member, seen, field / key)) return difference;
    }
    return std::nullopt;
  }
  if (observed.is_array() && evidence.is_array() && observed.size() == evidence.size()) {
    for (std::size_t i = 0; i < observed.size(); ++i) {
      if (auto difference = first_difference(evidence[i], observed[i], field / i)) return difference;
    }
    return std::nullopt;
  }
  if (evidence == observed) return std::nullopt;
  return Difference{field, "evidence says " + quoted(evidence) + ", this run has " + quoted(observed)};
}

// The device is the card (or processor) with its driver and libraries: not what it is called today.
Json without_names(const Json& observed) {
  Json result = observed;
  if (result.contains("device") && result["device"].is_object()) {
    result["device"].erase("name");
    result["device"].erase("model");
  }
  return result;
}

std::string_view advice(std::string_view field) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kAdvice{{
      {"/device", "Validate on this device, or choose the one that the evidence names with --device"},
      {"/seed", "Pass the seed of the validation with --seed, or validate again"},
      {"/rules_sha256", "Pass the rules of the validation with --rules, or validate again"},
      {"/settings", "Start it with the settings of the validation, or validate again"},
      {"/case", "This evidence belongs to another trial: validate this one"},
      {"/shape", "This evidence belongs to another trial: validate this one"},
      {"/precision", "This evidence belongs to another trial: validate this one"},
  }};
  for (const auto& [prefix, text] : kAdvice) {
    if (field.starts_with(prefix)) return text;
  }
  return "Validate again with this build";
}

}  // namespace

GateAnswer check_gate(const Json& evidence, Verdict verdict, const Json& observed, const Rules& rules) {
  if (!opens_gate(verdict, rules.suspect_opens_gate)) {
    const std::string forbidden = verdict == Verdict::kSuspect ? " under these rules" : "";
    return {false, "/verdict",
            "/verdict: the verdict of this trial is '" + std::string(to_string(verdict)) +
                "', which does not open the gate" + forbidden +
                ": read the reason in its record; nothing is measured that was not found right."};
  }
  if (!evidence.is_object() || evidence.empty()) {
    return {false, "", "There is no evidence for this trial. Validate it first."};
  }
  if (const auto difference = first_difference(evidence, without_names(observed), Json::json_pointer())) {
    const std::string field = difference->field.to_string();
    return {false, field, field + ": " + difference->what + ". " + std::string(advice(field)) + "."};
  }
  return {true, "", ""};
}

}  // namespace ampgate::results
