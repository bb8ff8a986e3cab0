#include "results/fairness.h"

#include <algorithm>
#include <initializer_list>

namespace ampgate::results {
namespace {

std::optional<Difference> first_of(const Json& a, const Json& b, std::initializer_list<const char*> fields) {
  for (const std::string field : fields) {
    auto found = differences(at_pointer(a, field), at_pointer(b, field), field);
    if (!found.empty()) return std::move(found.front());
  }
  return std::nullopt;
}

std::string quoted(const Json& value) {
  if (value.is_null()) return "nothing";
  std::string text = to_text(value);
  constexpr std::size_t kLongest = 100;
  return text.size() > kLongest ? text.substr(0, kLongest) + "..." : text;
}

std::string escaped(std::string key) {
  const auto replace = [&](char what, const char* with) {
    for (auto at = key.find(what); at != std::string::npos; at = key.find(what, at + 2))
      key.replace(at, 1, with);
  };
  replace('~', "~0");
  replace('/', "~1");
  return key;
}

// Which processors are near another card, or there at all, differs: their number must not.
Json with_number_of_cpus(Json object, const Json::json_pointer& affinity) {
  if (!object.contains(affinity)) return object;
  Json& cpus = object.at(affinity);
  const auto count = cpus.is_string() ? std::count(cpus.get_ref<const std::string&>().begin(),
                                                   cpus.get_ref<const std::string&>().end(), ',') +
                                            1
                                      : static_cast<std::ptrdiff_t>(cpus.size());
  cpus = count;
  return object;
}

Json plan_of(const Json& record) {
  return {{"plan", record.at("plan")},
          {"rules_sha256", record.at("rules_sha256")},
          {"environment", record.value("environment", Json::object())}};
}

}  // namespace

std::string Difference::words() const { return field + ": " + quoted(a) + " in A, " + quoted(b) + " in B"; }

std::vector<Difference> differences(const Json& a, const Json& b, const std::string& field) {
  if (a == b) return {};
  if (!a.is_object() || !b.is_object()) return {{field, a, b}};
  std::vector<Difference> found;
  const auto add = [&](const std::string& key) {
    for (auto& difference :
         differences(a.value(key, Json()), b.value(key, Json()), field + "/" + escaped(key))) {
      found.push_back(std::move(difference));
    }
  };
  for (const auto& [key, value] : a.items()) add(key);
  for (const auto& [key, value] : b.items()) {
    if (!a.contains(key)) add(key);
  }
  return found;
}

std::optional<Difference> unfair(const Json& record_a, const Json& record_b) {
  const Json::json_pointer device("/device/uuid"), affinity("/plan/settings/affinity");
  const bool same_device =
      at_pointer(record_a, device.to_string()) == at_pointer(record_b, device.to_string());
  const auto fitted = [&](const Json& record) {
    return same_device ? plan_of(record) : with_number_of_cpus(plan_of(record), affinity);
  };
  return first_of(fitted(record_a), fitted(record_b),
                  {"/plan/suite", "/plan/seed", "/rules_sha256", "/plan/settings", "/environment/governor",
                   "/plan/schedule/cell_time_ms"});
}

std::optional<Difference> unfair_trial(const Json& trial_a, const Json& trial_b) {
  if (auto found = first_of(trial_a, trial_b, {"/shape"})) return found;
  // A trial that crashed left none; its verdict can be compared all the same.
  if (!trial_a.contains("evidence") || !trial_b.contains("evidence")) return std::nullopt;
  const Json::json_pointer affinity("/evidence/settings/affinity");
  const bool same_device =
      at_pointer(trial_a, "/evidence/device/uuid") == at_pointer(trial_b, "/evidence/device/uuid");
  const auto fitted = [&](const Json& trial) {
    const Json evidence{{"evidence", trial.at("evidence")}};
    return same_device ? evidence : with_number_of_cpus(evidence, affinity);
  };
  return first_of(fitted(trial_a), fitted(trial_b),
                  {"/evidence/case_file", "/evidence/seed", "/evidence/rules_sha256", "/evidence/inputs",
                   "/evidence/weights", "/evidence/settings"});
}

namespace {

// Probe by probe, what it found in words.
Json arithmetic_of(const Json& record) {
  Json found = Json::object();
  const Json fingerprint = record.value("fingerprint", Json::object());
  const Json probes = fingerprint.value("probes", Json::array());
  for (const auto& probe : probes)
    found[probe.at("name").get<std::string>()] = probe.value("words", probe.value("raw", Json()).dump());
  return found;
}

}  // namespace

std::vector<Difference> different_makings(const Json& record_a, const Json& record_b) {
  std::vector<Difference> found;
  for (const std::string field :
       {"/device", "/plan/files/libraries", "/environment/libtorch", "/environment/build", "/run/ampgate",
        "/environment/processors", "/plan/settings/affinity", "/environment/kernel", "/environment/host"}) {
    for (auto& difference : differences(at_pointer(record_a, field), at_pointer(record_b, field), field)) {
      found.push_back(std::move(difference));
    }
  }
  // A record without one says nothing about the other's.
  const Json arithmetic_a = arithmetic_of(record_a), arithmetic_b = arithmetic_of(record_b);
  if (arithmetic_a.empty() || arithmetic_b.empty()) return found;
  for (auto& difference : differences(arithmetic_a, arithmetic_b, "/fingerprint"))
    found.push_back(std::move(difference));
  return found;
}

}  // namespace ampgate::results
