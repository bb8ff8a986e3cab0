// Puts another allocator in the place of LibTorch's CPU allocator.
#pragma once

#include <c10/core/Allocator.h>

namespace ampgate::backends {

// Does nothing when `current` is not the one in force.
void replace_cpu_allocator(c10::Allocator* wanted, const c10::Allocator* current);

}  // namespace ampgate::backends
