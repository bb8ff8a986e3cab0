#include "validate/guarded_state.h"

#include <ATen/ops/from_blob.h>

#include "backends/guarded_allocator.h"

namespace ampgate::validate {
namespace {

// Addresses, not memory, for what the operators allocate: some hundred tensors.
constexpr std::size_t kOwnRoom = std::size_t{4} << 30;

// Bytes from a tensor's first element to behind its last one. 0: it has none.
std::size_t extent(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return 0;
  std::int64_t last = 0;
  for (std::int64_t dim = 0; dim < tensor.dim(); ++dim) last += (tensor.size(dim) - 1) * tensor.stride(dim);
  return static_cast<std::size_t>(last + 1) * tensor.element_size();
}

std::size_t room_for(const cases::State& state) {
  std::size_t bytes = kOwnRoom;
  for (const auto& entry : state.tensors) bytes += backends::GuardedMemory::room_of(extent(entry.tensor));
  return bytes;
}

}  // namespace

GuardedState::GuardedState(const cases::State& original, backends::GuardedSide side)
    : memory_(room_for(original)), side_(side), state_(original) {
  for (std::size_t i = 0; i < state_.tensors.size(); ++i) {
    at::Tensor& tensor = state_.tensors[i].tensor;
    const std::size_t bytes = extent(tensor);
    if (bytes == 0) continue;
    void* const block = memory_.allocate(bytes, side);
    if (block == nullptr) throw backends::NoRoom("the system gives no more pages");
    const at::Tensor source = tensor;
    tensor = at::from_blob(block, source.sizes(), source.strides(), source.options());
    tensor.copy_(source);
    owners_.push_back(i);
  }
}

cases::Outputs GuardedState::run(const std::function<cases::Outputs()>& function) {
  const backends::GuardedAllocatorScope scope(memory_, side_);
  return function();
}

std::string GuardedState::reached() const {
  const auto reach = memory_.first_reach();
  if (!reach) return {};
  const std::string does = reach->write ? "writes " : "reads ";
  const std::string where = reach->behind ? "beyond the end of " : "before the beginning of ";
  const std::string border = reach->behind ? " behind its last)" : " before its first)";
  if (reach->block < owners_.size()) {
    const auto& entry = state_.tensors[owners_[reach->block]];
    const std::uint64_t element = (reach->distance - 1) / entry.tensor.element_size() + 1;
    return does + where + "'" + entry.name + "' (element " + std::to_string(element) + border;
  }
  if (reach->bytes == 0) return does + "far beyond its tensors";
  return does + where + "a tensor of " + std::to_string(reach->bytes) + " bytes that it made (byte " +
         std::to_string(reach->distance) + border;
}

}  // namespace ampgate::validate
