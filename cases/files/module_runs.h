// The runs of a TorchScript case: the timed one, as its users would run it, and the one that is looked at.
#pragma once

#include <c10/core/ScalarType.h>

#include <memory>
#include <string>
#include <vector>

#include "cases/case.h"
#include "cases/files/module_call.h"

namespace ampgate::cases::files {

// TorchScript's executor watches the first calls of a module and compiles it for what it saw: types, sizes,
// and whether autocast is on, with the casts that this means. So there is one copy of the module for each way
// in which it is run, and no call counts before its executor has settled.
class ModuleRuns {
 public:
  explicit ModuleRuns(ModuleCall call) : call_(std::move(call)) {}

  // By the executor that the case asks for. The first call of each way makes a copy and lets it settle; later
  // ones do nothing but the call.
  Outputs timed(const State& state);

  // Without TorchScript's optimiser, in regions: one operator after the other, as the code says. Also in
  // FP64.
  Outputs observed(const State& state);

 private:
  struct Signature {
    std::vector<std::int64_t> sizes;
    c10::ScalarType type;
    bool of(const at::Tensor& tensor) const {
      return tensor.scalar_type() == type && tensor.sizes() == sizes;
    }
  };
  struct Way {
    bool autocast;
    c10::ScalarType autocast_type;
    c10::Device device;
    std::vector<std::string> islands;
    std::vector<Signature> inputs;
  };
  struct Timed {
    Way way;
    ModuleCopy copy;
  };

  Way way_of(const State& state) const;
  bool is_way(const Way& way, const State& state) const;
  Timed& settled(const State& state);
  Outputs run(ModuleCopy& copy, const State& state, bool optimised) const;

  const ModuleCall call_;
  std::vector<std::unique_ptr<Timed>> timed_;
  Timed* last_ = nullptr;
  std::unique_ptr<ModuleCopy> observed_;
  std::unique_ptr<ModuleCopy> exact_;
};

}  // namespace ampgate::cases::files
