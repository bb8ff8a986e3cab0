// An operator's arguments, as a case file writes them, against the operator's schema.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>
#include <vector>

#include "cases/files/names.h"
#include "cases/operator_call.h"

namespace ampgate::cases::files {

// One source for each argument of the schema; what is not given has the schema's default. Throws
// results::FileError with position, name and expected type.
std::vector<ArgumentSource> read_arguments(const c10::OperatorHandle& op, const Node& call,
                                           const std::optional<Node>& positional,
                                           const std::optional<Node>& keywords, Names& names);

}  // namespace ampgate::cases::files
