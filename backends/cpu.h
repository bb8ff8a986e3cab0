// The CPU as a backend; it is always there.
#pragma once

#include <memory>

#include "backends/backend.h"

namespace ampgate::backends {

std::unique_ptr<Backend> open_cpu();

// Model, stepping, microcode, instruction sets and memory of this machine. The uuid is a SHA-256 over what
// decides the arithmetic: machine-id, model, stepping, microcode and the capability that ATen chose. The
// machine-id itself is not in the result, since records are passed on.
Identity cpu_identity();

}  // namespace ampgate::backends
