// What a backend says of itself and its surroundings, as both workers report it.
#pragma once

#include "backends/backend.h"
#include "backends/settings.h"
#include "results/json.h"

namespace ampgate::backends {

// Key/value pairs as one object, in their order.
results::Json fields_json(const Fields& fields);

// {"name", "uuid", "model", "fields"}: as in evidence and in the event `environment`.
results::Json device_json(const Backend& backend);

// `settings` of a plan. Throws what a missing or mistyped member throws.
ProcessSettings process_settings_from(const results::Json& settings);

// The fields of the event `environment`.
results::Json environment_json(const Backend& backend);

}  // namespace ampgate::backends
