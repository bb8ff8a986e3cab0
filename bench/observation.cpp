#include "bench/observation.h"

#include "backends/build_id.h"
#include "backends/settings.h"
#include "bench/numerics.h"

namespace ampgate::bench {

using results::Json;

Json to_json(const backends::Fields& fields) {
  Json object = Json::object();
  for (const auto& [key, value] : fields) object[key] = value;
  return object;
}

Json device_json(const backends::Backend& backend) {
  const backends::Identity identity = backend.identity();
  return {{"name", backend.name()},
          {"uuid", identity.uuid},
          {"model", identity.model},
          {"fields", to_json(identity.fields)}};
}

Json environment_json(const backends::Backend& backend) {
  return {{"device", device_json(backend)},
          {"libtorch", to_json(backends::read_libtorch())},
          {"settings", to_json(backends::read_settings())},
          {"build", {{"id", backends::build_id()}, {"flags", backends::build_flags()}}}};
}

Json observe_group(const Plan& plan, const backends::Backend& backend, const cases::Case& definition,
                   const cases::Shape& shape, const cases::State& original,
                   const std::vector<std::string>& digests) {
  Json inputs = Json::object();
  Json weights = Json::object();
  for (std::size_t i = 0; i < digests.size(); ++i) {
    const auto& entry = original.tensors[i];
    (entry.role == cases::Role::kInput ? inputs : weights)[entry.name] = digests[i];
  }
  return {{"device", device_json(backend)},
          {"libtorch", to_json(backends::read_libtorch())},
          {"build_id", backends::build_id()},
          {"case", definition.name},
          {"shape", shape.name},
          {"seed", plan.seed},
          {"rules_sha256", plan.rules_sha256},
          {"inputs", std::move(inputs)},
          {"weights", std::move(weights)}};
}

Json observe_trial(Json group, const precision::Precision& precision) {
  group["precision"] = precision.name;
  const auto scope = numerics_scope(precision);
  group["settings"] = to_json(backends::read_settings());
  return group;
}

}  // namespace ampgate::bench
