#include "backends/counting_allocator.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "backends/replace_allocator.h"

namespace ampgate::backends {
namespace {

struct Count {
  std::int64_t live_bytes = 0;  // since begin(); negative when older blocks were freed
  MemoryUse use;
};

// One object for the whole life of the process: tensors keep its deleter.
class CountingAllocator final : public c10::Allocator {
 public:
  static CountingAllocator& instance() {
    static auto* const allocator = new CountingAllocator;
    return *allocator;
  }

  void add(Count* count) {
    const std::lock_guard lock(mutex_);
    if (counts_.empty()) install();
    counts_.push_back(count);
  }

  void remove(Count* count) {
    const std::lock_guard lock(mutex_);
    std::erase(counts_, count);
    if (counts_.empty()) replace_cpu_allocator(inner_, this);
  }

  c10::DataPtr allocate(std::size_t bytes) override {
    c10::DataPtr block = inner_->allocate(bytes);
    void* const data = block.get();
    if (data == nullptr) return block;
    if (!block.compare_exchange_deleter(inner_->raw_deleter(), &release)) return block;
    const std::lock_guard lock(mutex_);
    sizes_[data] = static_cast<std::int64_t>(bytes);
    for (Count* count : counts_) {
      count->live_bytes += static_cast<std::int64_t>(bytes);
      count->use.peak_bytes = std::max(count->use.peak_bytes, count->live_bytes);
      ++count->use.allocations;
    }
    return block;
  }

  c10::DeleterFnPtr raw_deleter() const override { return &release; }

  void copy_data(void* dest, const void* src, std::size_t count) const override {
    inner_->copy_data(dest, src, count);
  }

 private:
  static void release(void* data) {
    CountingAllocator& self = instance();
    {
      const std::lock_guard lock(self.mutex_);
      if (const auto found = self.sizes_.find(data); found != self.sizes_.end()) {
        for (Count* count : self.counts_) count->live_bytes -= found->second;
        self.sizes_.erase(found);
      }
    }
    self.inner_->raw_deallocate(data);
  }

  void install() {
    c10::Allocator* const current = c10::GetCPUAllocator();
    // A block is freed by its address alone, whoever frees it.
    if (current->raw_deleter() == nullptr || (inner_ != nullptr && inner_ != current)) {
      throw DeviceError(
          "cpu: the process has a CPU allocator that cannot be counted; run without custom allocators");
    }
    inner_ = current;
    replace_cpu_allocator(this, current);
  }

  std::mutex mutex_;
  c10::Allocator* inner_ = nullptr;
  std::unordered_map<void*, std::int64_t> sizes_;
  std::vector<Count*> counts_;
};

class CpuMemoryMeter final : public MemoryMeter {
 public:
  CpuMemoryMeter() = default;
  CpuMemoryMeter(const CpuMemoryMeter&) = delete;
  CpuMemoryMeter& operator=(const CpuMemoryMeter&) = delete;
  ~CpuMemoryMeter() override {
    if (running_) CountingAllocator::instance().remove(&count_);
  }

  void begin() override {
    if (running_) CountingAllocator::instance().remove(&count_);
    running_ = false;
    count_ = Count{};
    CountingAllocator::instance().add(&count_);
    running_ = true;
  }

  MemoryUse end() override {
    if (!running_) throw std::logic_error("memory meter: end() without begin()");
    CountingAllocator::instance().remove(&count_);
    running_ = false;
    count_.use.retained_bytes = count_.live_bytes;
    return count_.use;
  }

 private:
  Count count_;
  bool running_ = false;
};

}  // namespace

std::unique_ptr<MemoryMeter> cpu_memory_meter() { return std::make_unique<CpuMemoryMeter>(); }

}  // namespace ampgate::backends
