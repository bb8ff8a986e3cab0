#include "bench/observation.h"

#include "backends/build_id.h"
#include "backends/settings.h"
#include "backends/to_json.h"
#include "bench/numerics.h"

namespace ampgate::bench {

using results::Json;

Json observe_group(const Plan& plan, const backends::Backend& backend, const cases::Case& definition,
                   const cases::Shape& shape, const cases::State& original,
                   const std::vector<std::string>& digests) {
  Json inputs = Json::object();
  Json weights = Json::object();
  for (std::size_t i = 0; i < digests.size(); ++i) {
    const auto& entry = original.tensors[i];
    (entry.role == cases::Role::kInput ? inputs : weights)[entry.name] = digests[i];
  }
  Json seen{{"device", backends::device_json(backend)},
          {"libtorch", backends::fields_json(backends::read_libtorch())},
          {"build_id", backends::build_id()},
          {"case", definition.name},
          {"shape", shape.name},
          {"seed", plan.seed},
          {"rules_sha256", plan.rules_sha256},
          {"inputs", std::move(inputs)},
          {"weights", std::move(weights)}};
  if (!definition.file_sha256.empty()) seen["case_file"] = definition.file_sha256;
  return seen;
}

Json observed_settings(Mode mode) {
  Json settings = backends::fields_json(backends::read_settings());
  if (mode == Mode::kDefaultMalloc) {
    for (const auto* name : {"mmap_threshold_bytes", "trim_threshold_bytes", "transparent_huge_pages"})
      settings.erase(name);
  }
  return settings;
}

Json observe_trial(Json group, const precision::Precision& precision, Mode mode) {
  group["precision"] = precision.name;
  const auto scope = numerics_scope(precision);
  group["settings"] = observed_settings(mode);
  return group;
}

}  // namespace ampgate::bench
