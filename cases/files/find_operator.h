// Operators of the dispatcher by the names that people write.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <string>

#include "results/node.h"

namespace ampgate::cases::files {

using results::Node;

// The operator that `name` and the arguments mean: "aten::sum.dim_IntList", or "aten::sum" where one overload
// fits what is given. Throws results::FileError that names the nearest operators, the overloads, or what is
// missing.
c10::OperatorHandle find_operator(const Node& name, const results::Json& positional,
                                  const results::Json& keywords);

// "aten::sum.dim_IntList"
std::string full_name(const c10::OperatorHandle& op);

// The schema as LibTorch writes it.
std::string text(const c10::FunctionSchema& schema);

}  // namespace ampgate::cases::files
