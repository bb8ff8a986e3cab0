#include "backends/poison_allocator.h"

#include <c10/core/CPUAllocator.h>

#include <algorithm>

#include "backends/replace_allocator.h"

namespace ampgate::backends {
namespace {

class PoisonAllocator final : public c10::Allocator {
 public:
  static PoisonAllocator& instance() {
    static auto* const allocator = new PoisonAllocator;
    return *allocator;
  }

  // Blocks are freed as the inner allocator says, also after the scope's end.
  c10::DataPtr allocate(std::size_t bytes) override {
    c10::DataPtr block = inner->allocate(bytes);
    if (block.get() != nullptr) std::fill_n(static_cast<std::uint16_t*>(block.get()), bytes / 2, kPoison);
    return block;
  }
  c10::DeleterFnPtr raw_deleter() const override { return inner->raw_deleter(); }
  void copy_data(void* dest, const void* src, std::size_t count) const override {
    inner->copy_data(dest, src, count);
  }

  c10::Allocator* inner = nullptr;
};

}  // namespace

PoisonScope::PoisonScope() : inner_(c10::GetCPUAllocator()) {
  PoisonAllocator::instance().inner = inner_;
  replace_cpu_allocator(&PoisonAllocator::instance(), inner_);
}

PoisonScope::~PoisonScope() { replace_cpu_allocator(inner_, &PoisonAllocator::instance()); }

}  // namespace ampgate::backends
