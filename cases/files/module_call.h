// How a case calls a TorchScript module, and copies of the module that do it.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cases/case.h"
#include "cases/files/module_file.h"

namespace ampgate::cases::files {

// An argument of `forward`: a tensor of the state, or always the same value.
struct ModuleArgument {
  std::optional<std::size_t> tensor{};
  c10::IValue constant{};
};

// Where a module keeps a tensor: an attribute of a submodule, or an item of one that is a list.
struct ModulePlace {
  std::string path;  // "encoder.0.weight"
  std::optional<std::size_t> item{};

  std::string name() const { return path + (item ? "." + std::to_string(*item) : ""); }
};

// A tensor of the module: the state's number `first_weight` and on, in order.
struct ModuleWeight {
  std::vector<ModulePlace> places;  // several when tied
  at::Tensor tensor;                // as the file has it
  bool parameter = false;
};

// All of the module's tensors; those that share all their memory once.
std::vector<ModuleWeight> weights_of(const torch::jit::Module& module);

struct ModuleCall {
  ModuleFile file;
  bool training = false;
  bool optimised = true;
  std::vector<ModuleArgument> arguments{};
  std::vector<ModuleWeight> weights{};
  std::size_t first_weight = 0;
  std::vector<std::string> outputs{};
};

enum class CopyKind {
  kPlain,     // as torch::jit::load gives it
  kIslands,   // with regions, for islands
  kObserved,  // the same for whoever looks on: fused operators in parts, where the code has both
  kExact,     // the same for FP64
};

// One module of the file, of its own types and functions: what an executor learns about one precision never
// reaches another.
class ModuleCopy {
 public:
  ModuleCopy(const ModuleCall& call, CopyKind kind);

  // Gives it the state's weights; buffers that training mode writes to are copies. Costs nothing when it has
  // them.
  void bind(const State& state);
  bool has(const State& state) const;
  // Does anything but this copy hold its weights?
  bool weights_alive() const;
  void release();

  Outputs run(const State& state);

 private:
  struct Slot {
    c10::intrusive_ptr<c10::ivalue::Object> object;
    std::size_t number;
    std::optional<std::size_t> item;

    at::Tensor get() const;
    void set(const at::Tensor& tensor) const;
  };

  const ModuleCall& call_;
  torch::jit::Module module_;
  torch::jit::Method forward_;
  std::vector<std::vector<Slot>> slots_;       // of each weight
  std::vector<const c10::TensorImpl*> bound_;  // the state's tensors in them; null: none
};

}  // namespace ampgate::cases::files
