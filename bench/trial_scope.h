// In what a trial runs, as long as the object lives: its numerics and islands. Whatever the body leaves
// behind in settings and in this thread's state is put back.
#pragma once

#include <ATen/ThreadLocalState.h>

#include "bench/numerics.h"
#include "bench/plan.h"
#include "precision/region.h"

namespace ampgate::bench {

class TrialScope {
 public:
  explicit TrialScope(const Trial& trial)
      : numerics_(numerics_scope(*trial.precision)), islands_(trial.islands) {}

 private:
  at::ThreadLocalStateGuard thread_{at::ThreadLocalState()};
  backends::NumericsScope numerics_;
  precision::IslandScope islands_;
};

}  // namespace ampgate::bench
