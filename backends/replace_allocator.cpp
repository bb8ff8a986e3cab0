#include "backends/replace_allocator.h"

#include <c10/core/CPUAllocator.h>

namespace ampgate::backends {

// SetCPUAllocator silently ignores a priority lower than the one in force, which cannot be asked for.
void replace_cpu_allocator(c10::Allocator* wanted, const c10::Allocator* current) {
  for (int priority = 0; priority <= 255 && c10::GetCPUAllocator() == current; ++priority) {
    c10::SetCPUAllocator(wanted, static_cast<std::uint8_t>(priority));
  }
}

}  // namespace ampgate::backends
