#include <ATen/ATen.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include "backends/backend.h"

namespace ampgate::backends {
namespace {

constexpr std::int64_t kKiB = 1024;

std::unique_ptr<MemoryMeter> meter() { return open("cpu")->memory_meter(); }

at::Tensor bytes(std::int64_t count) { return at::empty({count}, at::kByte); }

TEST(CpuMemoryMeter, CountsExactly) {
  const auto count = meter();
  count->begin();
  at::Tensor kept = bytes(100 * kKiB);
  {
    const at::Tensor first = bytes(300 * kKiB);
    const at::Tensor second = bytes(50 * kKiB);
  }
  const at::Tensor later = bytes(200 * kKiB);
  const MemoryUse use = count->end();
  EXPECT_EQ(use.allocations, 4);
  EXPECT_EQ(use.peak_bytes, 450 * kKiB);
  EXPECT_EQ(use.retained_bytes, 300 * kKiB);
}

TEST(CpuMemoryMeter, CountsAnOperator) {
  const at::Tensor x = at::ones({64, 32});
  const auto count = meter();
  count->begin();
  { const at::Tensor y = at::relu(x); }
  const MemoryUse use = count->end();
  EXPECT_EQ(use.allocations, 1);
  EXPECT_EQ(use.peak_bytes, 64 * 32 * 4);
  EXPECT_EQ(use.retained_bytes, 0);
}

TEST(CpuMemoryMeter, OlderTensorsDoNotCount) {
  at::Tensor before = bytes(10 * kKiB);
  const auto count = meter();
  count->begin();
  before.reset();
  const at::Tensor empty = at::empty({0});
  const MemoryUse use = count->end();
  EXPECT_EQ(use.allocations, 0);
  EXPECT_EQ(use.peak_bytes, 0);
  EXPECT_EQ(use.retained_bytes, 0);
}

TEST(CpuMemoryMeter, NestedMetersCountFromTheirOwnBeginning) {
  const auto outer = meter();
  const auto inner = meter();
  outer->begin();
  at::Tensor first = bytes(100 * kKiB);
  inner->begin();
  first.reset();
  const at::Tensor second = bytes(30 * kKiB);
  const MemoryUse inner_use = inner->end();
  const at::Tensor third = bytes(90 * kKiB);
  const MemoryUse outer_use = outer->end();
  EXPECT_EQ(inner_use.allocations, 1);
  EXPECT_EQ(inner_use.peak_bytes, 0);  // -100 + 30 KiB is never above where it began
  EXPECT_EQ(inner_use.retained_bytes, -70 * kKiB);
  EXPECT_EQ(outer_use.allocations, 3);
  EXPECT_EQ(outer_use.peak_bytes, 120 * kKiB);
  EXPECT_EQ(outer_use.retained_bytes, 120 * kKiB);
}

TEST(CpuMemoryMeter, LeavesNothingBehind) {
  c10::Allocator* const before = c10::GetCPUAllocator();
  at::Tensor survivor;
  {
    const auto count = meter();
    count->begin();
    EXPECT_NE(c10::GetCPUAllocator(), before);
    survivor = at::ones({1000});
    count->end();
    count->begin();  // forgotten: the destructor ends it
  }
  EXPECT_EQ(c10::GetCPUAllocator(), before);
  EXPECT_EQ(survivor.sum().item<float>(), 1000.0F);
  survivor.resize_({2000});
  survivor.reset();
  const auto again = meter();
  again->begin();
  { const at::Tensor y = bytes(kKiB); }
  EXPECT_EQ(again->end().peak_bytes, kKiB);
}

TEST(CpuMemoryMeter, EndNeedsBegin) { EXPECT_THROW(meter()->end(), std::logic_error); }

}  // namespace
}  // namespace ampgate::backends
