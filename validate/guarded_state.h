// A state whose tensors lie on memory with watched borders: whoever reads or writes beyond one is found out,
// even where it makes no difference to the result today.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backends/guarded_memory.h"
#include "cases/case.h"

namespace ampgate::validate {

class GuardedState {
 public:
  // Copies, of the same types, sizes and strides, on the CPU. Throws backends::NoRoom.
  GuardedState(const cases::State& original, backends::GuardedSide side);

  // Its tensors, and what shares their memory, must not be used after this object.
  cases::State& state() { return state_; }

  // Calls the function, with what it allocates on such memory as well.
  cases::Outputs run(const std::function<cases::Outputs()>& function);

  // "reads beyond the end of 'bias' (element 1 behind its last)"; empty: nobody did.
  std::string reached() const;

 private:
  backends::GuardedMemory memory_;
  backends::GuardedSide side_;
  cases::State state_;
  std::vector<std::size_t> owners_;  // numbers of the tensors that the memory's blocks are
};

}  // namespace ampgate::validate
