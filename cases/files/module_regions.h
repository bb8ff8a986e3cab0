// Submodules of a TorchScript module as regions: names for whoever looks on, and FP32 islands, by operators
// that are put around the calls of submodules.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <cstddef>

namespace ampgate::cases::files {

// Every call of a submodule runs in a region of its path, "encoder.layers.0", and its tensors are raised to
// FP32 where the trial lists that path. Autocast is the dispatcher's alone from then on: the casts that
// TorchScript's optimiser would write into the graph know no islands. Before the module's first call.
void name_regions(const torch::jit::Module& module);

// Leaves the regions that a call did not leave because it threw.
class RegionGuard {
 public:
  RegionGuard();
  ~RegionGuard();
  RegionGuard(const RegionGuard&) = delete;
  RegionGuard& operator=(const RegionGuard&) = delete;

 private:
  std::size_t depth_;
};

}  // namespace ampgate::cases::files
