// What an operator allocates on memory with watched borders (guarded_memory.h): its outputs and all that it
// makes in between.
#pragma once

#include <c10/core/Allocator.h>

#include "backends/guarded_memory.h"

namespace ampgate::backends {

// While it lives, LibTorch's CPU allocator takes its blocks from `memory` as long as that has room. What is
// still there afterwards keeps its pages. Scopes do not nest, with PoisonScope neither.
class GuardedAllocatorScope {
 public:
  GuardedAllocatorScope(GuardedMemory& memory, GuardedSide side);
  ~GuardedAllocatorScope();
  GuardedAllocatorScope(const GuardedAllocatorScope&) = delete;
  GuardedAllocatorScope& operator=(const GuardedAllocatorScope&) = delete;

 private:
  c10::Allocator* inner_;
};

}  // namespace ampgate::backends
