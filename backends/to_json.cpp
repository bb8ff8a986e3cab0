#include "backends/to_json.h"

#include "backends/build_id.h"
#include "backends/settings.h"

namespace ampgate::backends {

using results::Json;

Json fields_json(const Fields& fields) {
  Json object = Json::object();
  for (const auto& [key, value] : fields) object[key] = value;
  return object;
}

Json device_json(const Backend& backend) {
  const Identity identity = backend.identity();
  return {{"name", backend.name()},
          {"uuid", identity.uuid},
          {"model", identity.model},
          {"fields", fields_json(identity.fields)}};
}

ProcessSettings process_settings_from(const Json& settings) {
  const auto bytes = [&](const char* key) -> std::optional<std::int64_t> {
    if (!settings.contains(key)) return {};
    return settings[key].get<std::int64_t>();
  };
  return {.threads = settings.at("threads").get<int>(),
          .affinity = settings.at("affinity").get<std::vector<int>>(),
          .mmap_threshold_bytes = bytes("mmap_threshold_bytes"),
          .trim_threshold_bytes = bytes("trim_threshold_bytes"),
          .huge_pages = settings.value("huge_pages", true)};
}

Json environment_json(const Backend& backend) {
  return {{"device", device_json(backend)},
          {"libtorch", fields_json(read_libtorch())},
          {"settings", fields_json(read_settings())},
          {"build", {{"build_id", build_id()}, {"flags", build_flags()}}}};
}

}  // namespace ampgate::backends
