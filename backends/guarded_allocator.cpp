#include "backends/guarded_allocator.h"

#include <c10/core/CPUAllocator.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "backends/replace_allocator.h"

namespace ampgate::backends {
namespace {

// Enough for every type of number and for the vector instructions that compilers choose by type alone.
constexpr std::size_t kAlignment = 16;

class GuardedAllocator final : public c10::Allocator {
 public:
  static GuardedAllocator& instance() {
    static auto* const allocator = new GuardedAllocator;
    return *allocator;
  }

  // Tensors remember their allocator: it may be asked after the scope's end. Libraries take blocks as bare
  // pointers, so that a block must be known by its address alone.
  c10::DataPtr allocate(std::size_t bytes) override {
    GuardedMemory* const from = memory;
    void* const block = from == nullptr || bytes == 0 ? nullptr : from->allocate(bytes, side, kAlignment);
    if (block == nullptr) return inner->allocate(bytes);
    const std::lock_guard lock(mutex);
    kept.emplace(block, from->keep());
    return {block, block, release, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return release; }
  void copy_data(void* dest, const void* src, std::size_t count) const override {
    inner->copy_data(dest, src, count);
  }

  c10::Allocator* inner = nullptr;
  std::atomic<GuardedMemory*> memory{nullptr};
  GuardedSide side = GuardedSide::kEnd;

 private:
  static void release(void* block) {
    auto& own = instance();
    {
      const std::lock_guard lock(own.mutex);
      if (own.kept.erase(block) > 0) return;
    }
    own.inner->raw_deleter()(block);
  }

  std::mutex mutex;
  std::unordered_map<void*, std::shared_ptr<const void>> kept;
};

}  // namespace

GuardedAllocatorScope::GuardedAllocatorScope(GuardedMemory& memory, GuardedSide side)
    : inner_(c10::GetCPUAllocator()) {
  auto& allocator = GuardedAllocator::instance();
  allocator.inner = inner_;
  allocator.side = side;
  allocator.memory = &memory;
  replace_cpu_allocator(&allocator, inner_);
}

GuardedAllocatorScope::~GuardedAllocatorScope() {
  auto& allocator = GuardedAllocator::instance();
  allocator.memory = nullptr;
  replace_cpu_allocator(inner_, &allocator);
}

}  // namespace ampgate::backends
