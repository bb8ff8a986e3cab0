#include "validate/to_json.h"

namespace ampgate::validate {

using results::Json;

Json to_json(const backends::Fields& fields) {
  Json object = Json::object();
  for (const auto& [key, value] : fields) object[key] = value;
  return object;
}

Json device_json(const std::string& name, const backends::Identity& identity) {
  return {{"name", name},
          {"uuid", identity.uuid},
          {"model", identity.model},
          {"fields", to_json(identity.fields)}};
}

Json to_json(const cases::Shape& shape) {
  Json dims = Json::object();
  for (const auto& [dim, size] : shape.dims) dims[dim] = size;
  return {{"name", shape.name}, {"dims", std::move(dims)}};
}

}  // namespace ampgate::validate
