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

Json environment_json(const Backend& backend) {
  return {{"device", device_json(backend)},
          {"libtorch", fields_json(read_libtorch())},
          {"settings", fields_json(read_settings())},
          {"build", {{"build_id", build_id()}, {"flags", build_flags()}}}};
}

}  // namespace ampgate::backends
