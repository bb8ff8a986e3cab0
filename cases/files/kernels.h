// Which operators of a program lack a kernel for a device: LibTorch itself might fall back to another device,
// or differentiate by nothing at all.
#pragma once

#include <c10/core/DeviceType.h>

#include <string>

#include "cases/files/program.h"

namespace ampgate::cases::files {

// In words; empty: all have one, for gradients as well where the program asks for them.
std::string missing_kernel(const Program& program, c10::DeviceType device);

}  // namespace ampgate::cases::files
