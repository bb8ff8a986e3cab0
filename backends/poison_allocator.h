// Fresh memory full of NaN, for one run: what an operator leaves unwritten shows, in outputs and
// intermediates of every size, wherever the C library takes its blocks from (blocks above its mmap threshold
// come back as zeros).
#pragma once

#include <c10/core/Allocator.h>

namespace ampgate::backends {

// While it lives, every block that LibTorch's CPU allocator hands out is filled with bytes 0xFF first: a NaN
// in every floating format. It changes what a run costs, so no run that is timed has it. Scopes do not nest.
class PoisonScope {
 public:
  PoisonScope();
  ~PoisonScope();
  PoisonScope(const PoisonScope&) = delete;
  PoisonScope& operator=(const PoisonScope&) = delete;

 private:
  c10::Allocator* inner_;
};

}  // namespace ampgate::backends
