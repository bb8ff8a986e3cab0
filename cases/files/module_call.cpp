#include "cases/files/module_call.h"

#include <c10/util/Exception.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <map>
#include <tuple>
#include <utility>

#include "cases/files/module_graph.h"
#include "cases/files/module_regions.h"

namespace ampgate::cases::files {
namespace {

torch::jit::Module prepared(const ModuleCall& call, CopyKind kind) {
  torch::jit::Module module = call.file.load();
  module.train(call.training);
  if (kind != CopyKind::kPlain) name_regions(module);
  if (kind == CopyKind::kObserved || kind == CopyKind::kExact) avoid_fused_paths(module);
  if (kind == CopyKind::kExact) ask_for_fp64(module);
  return module;
}

// What operators throw stays what it is, so that a failure is told by its kind.
class OwnErrors {
 public:
  OwnErrors() : previous_(std::exchange(FLAGS_torch_jit_enable_rethrow_caught_exception, true)) {}
  ~OwnErrors() { FLAGS_torch_jit_enable_rethrow_caught_exception = previous_; }
  OwnErrors(const OwnErrors&) = delete;
  OwnErrors& operator=(const OwnErrors&) = delete;

 private:
  bool previous_;
};

void collect(const c10::IValue& value, const std::vector<std::string>& names, Outputs& outputs) {
  if (value.isTensor()) {
    outputs.push_back(value.toTensor());
  } else if (value.isTuple()) {
    for (const auto& element : value.toTupleRef().elements()) collect(element, names, outputs);
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) collect(element, names, outputs);
  } else if (value.isGenericDict()) {
    const auto dict = value.toGenericDict();
    for (const std::string& name : names) {
      const auto found = dict.find(name);
      if (found == dict.end())
        C10_THROW_ERROR(NotImplementedError, "forward returns nothing that is called '" + name + "'");
      collect(found->value(), {}, outputs);
    }
  } else {
    C10_THROW_ERROR(NotImplementedError,
                    "forward returns " + value.tagKind() + " among its results: only tensors can be judged");
  }
}

}  // namespace

std::vector<ModuleWeight> weights_of(const torch::jit::Module& module) {
  using Memory = std::tuple<const void*, std::vector<std::int64_t>, std::vector<std::int64_t>>;
  std::vector<ModuleWeight> weights;
  std::map<Memory, std::size_t> seen;
  const auto add = [&](ModulePlace place, const at::Tensor& tensor, bool parameter) {
    if (!tensor.defined()) return;
    const bool plain = tensor.layout() == at::kStrided && tensor.numel() > 0;
    const Memory memory{plain ? tensor.data_ptr() : tensor.unsafeGetTensorImpl(), tensor.sizes().vec(),
                        plain ? tensor.strides().vec() : std::vector<std::int64_t>()};
    const auto [known, fresh] = seen.emplace(memory, weights.size());
    if (fresh) weights.push_back({{}, tensor, false});
    ModuleWeight& weight = weights[known->second];
    weight.places.push_back(std::move(place));
    weight.parameter = weight.parameter || parameter;
  };
  for (const auto& part : module.named_modules()) {
    const auto type = part.value.type();
    for (std::size_t i = 0; i < type->numAttributes(); ++i) {
      const std::string path = (part.name.empty() ? "" : part.name + ".") + type->getAttributeName(i);
      const c10::IValue value = part.value._ivalue()->getSlot(i);
      if (value.isTensor()) {
        add({path}, value.toTensor(), type->is_parameter(i));
      } else if (value.isTensorList()) {
        const auto items = value.toTensorVector();
        for (std::size_t item = 0; item < items.size(); ++item) add({path, item}, items[item], false);
      }
    }
  }
  return weights;
}

at::Tensor ModuleCopy::Slot::get() const {
  const c10::IValue value = object->getSlot(number);
  return item ? value.toTensorList().get(*item) : value.toTensor();
}

void ModuleCopy::Slot::set(const at::Tensor& tensor) const {
  if (item) {
    object->getSlot(number).toTensorList().set(*item, tensor);
  } else {
    object->setSlot(number, tensor);
  }
}

ModuleCopy::ModuleCopy(const ModuleCall& call, CopyKind kind)
    : call_(call),
      module_(prepared(call, kind)),
      forward_(module_.get_method("forward")),
      bound_(call.weights.size(), nullptr) {
  for (const auto& weight : call.weights) {
    auto& slots = slots_.emplace_back();
    for (const auto& [path, item] : weight.places) {
      auto object = module_._ivalue();
      std::string rest = path;
      for (auto dot = rest.find('.'); dot != std::string::npos; dot = rest.find('.')) {
        object = object->getAttr(rest.substr(0, dot)).toObject();
        rest.erase(0, dot + 1);
      }
      slots.push_back({object, object->type()->getAttributeSlot(rest), item});
    }
  }
  release();
}

bool ModuleCopy::has(const State& state) const {
  for (std::size_t i = 0; i < bound_.size(); ++i) {
    if (bound_[i] != state[call_.first_weight + i].unsafeGetTensorImpl()) return false;
  }
  return true;
}

void ModuleCopy::bind(const State& state) {
  if (has(state)) return;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const at::Tensor& given = state[call_.first_weight + i];
    bound_[i] = given.unsafeGetTensorImpl();
    const at::Tensor own = call_.training && !call_.weights[i].parameter ? given.clone() : given;
    for (const Slot& slot : slots_[i]) slot.set(own);
  }
}

bool ModuleCopy::weights_alive() const {
  for (const auto& slots : slots_) {
    const at::Tensor tensor = slots.front().get();
    if (tensor.defined() && tensor.use_count() > slots.size() + 1) return true;
  }
  return false;
}

void ModuleCopy::release() {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    bound_[i] = nullptr;
    for (const Slot& slot : slots_[i]) slot.set({});
  }
}

Outputs ModuleCopy::run(const State& state) {
  torch::jit::Stack stack;
  stack.reserve(call_.arguments.size() + 1);
  for (const auto& argument : call_.arguments) {
    if (argument.tensor) {
      stack.emplace_back(state[*argument.tensor]);
    } else {
      stack.push_back(argument.constant);
    }
  }
  const OwnErrors own_errors;
  forward_.run(stack);
  Outputs outputs;
  collect(stack.back(), call_.outputs, outputs);
  return outputs;
}

}  // namespace ampgate::cases::files
