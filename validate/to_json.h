// Small conversions to JSON that several parts of the worker share.
#pragma once

#include "backends/backend.h"
#include "cases/case.h"
#include "results/json.h"

namespace ampgate::validate {

// Key/value pairs as one object, in their order.
results::Json to_json(const backends::Fields& fields);

// {"name", "uuid", "model", "fields"}: who the device is, as in evidence and in the event `environment`.
results::Json device_json(const std::string& name, const backends::Identity& identity);

// {"name", "dims": {"m": 512}}
results::Json to_json(const cases::Shape& shape);

}  // namespace ampgate::validate
