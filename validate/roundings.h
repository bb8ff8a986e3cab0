// Where an operator rounds: nowhere, once, at steps within its kernel, or in the operators that it is made
// of.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <string_view>

namespace ampgate::validate {

// Its results are values of its arguments: nothing to round unless the type gets narrower.
bool moves_values(std::string_view operator_name);

// Several roundings lie between its arguments and its result; operators that add up are no such ones, since
// their errors are known (accumulation.h).
bool takes_steps(const c10::OperatorHandle& op);

// Is it one of LibTorch's own?
bool is_libtorchs(const c10::OperatorHandle& op);

// Its error is known without looking at what it calls.
bool is_known_as_a_whole(const c10::OperatorHandle& op);

// An operator of LibTorch that calls others, whatever the device, and that no bound knows as a whole:
// recurrent networks, einsum, logsumexp. Each of its parts rounds. Of a library's operators this cannot be
// told: what is registered for all devices at once often is a kernel of its own.
bool made_of_parts(const c10::OperatorHandle& op);

}  // namespace ampgate::validate
