// Fresh memory full of NaN, for one run: what an operator leaves unwritten shows, in outputs and
// intermediates of every size, wherever the C library takes its blocks from (blocks above its mmap threshold
// come back as zeros).
#pragma once

#include <c10/core/Allocator.h>

#include <cstdint>

namespace ampgate::backends {

// Repeated, a quiet NaN in every floating format. Not the one of all bits, which vectorised maxima make of a
// NaN that they meet.
inline constexpr std::uint16_t kPoison = 0xFFFD;

// While it lives, every block that LibTorch's CPU allocator hands out is filled with kPoison first. It changes what a run costs, so no run that is timed has it. Scopes do not nest.
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
