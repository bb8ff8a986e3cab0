#include "validate/inner_types.h"

#include <memory>

#include "validate/call_tensors.h"

namespace ampgate::validate {
namespace {

struct Conversion {
  const c10::StorageImpl* storage;
  c10::ScalarType type;
};

struct Watch {
  bool on = false;
  std::string name;
  std::vector<c10::ScalarType> innermost;
  std::vector<Conversion> conversions;
};

thread_local Watch watch;

const c10::StorageImpl* storage_of(const at::Tensor& tensor) {
  return tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr;
}

struct Converting : at::ObserverContext {
  const c10::StorageImpl* storage = nullptr;
};

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) {
  if (!watch.on) return nullptr;
  const std::string_view name = function.name();
  if (name == watch.name) {
    watch.innermost.clear();
    for (const auto& input : function.inputs()) {
      for (const at::Tensor& tensor : tensors_in(input)) watch.innermost.push_back(tensor.scalar_type());
    }
  }
  if (name != "aten::_to_copy" || function.inputs().empty() || !function.inputs()[0].isTensor()) {
    return nullptr;
  }
  auto converting = std::make_unique<Converting>();
  converting->storage = storage_of(function.inputs()[0].toTensor());
  return converting;
}

void on_end(const at::RecordFunction& function, at::ObserverContext* context) {
  if (context == nullptr || function.outputs().empty() || !function.outputs()[0].isTensor()) return;
  watch.conversions.push_back(
      {static_cast<Converting*>(context)->storage, function.outputs()[0].toTensor().scalar_type()});
}

}  // namespace

InnerTypes::InnerTypes()
    : handle_(at::addThreadLocalCallback(at::RecordFunctionCallback(on_start, on_end)
                                             .needsInputs(true)
                                             .needsOutputs(true)
                                             .scopes({at::RecordScope::FUNCTION}))) {}

InnerTypes::~InnerTypes() {
  at::removeCallback(handle_);
  watch = {};
}

void InnerTypes::begin(const std::string& operator_name) { watch = {true, operator_name, {}, {}}; }

std::vector<c10::ScalarType> InnerTypes::end(const std::vector<at::Tensor>& tensors) {
  watch.on = false;
  std::vector<c10::ScalarType> types;
  for (const at::Tensor& tensor : tensors) types.push_back(tensor.scalar_type());
  const bool conversion_itself = watch.name == "aten::_to_copy" || watch.name == "aten::to" ||
                                 watch.name == "aten::copy_" || watch.name == "aten::type_as";
  if (conversion_itself) return types;
  if (watch.innermost.size() == types.size() && watch.innermost != types) return watch.innermost;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].is_floating_point()) continue;
    for (const auto& [storage, type] : watch.conversions) {
      if (storage == storage_of(tensors[i]) && c10::isFloatingType(type)) types[i] = type;
    }
  }
  return types;
}

}  // namespace ampgate::validate
