#include "backends/guarded_memory.h"

#include <ATen/ATen.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>

#include "backends/guarded_allocator.h"

namespace ampgate::backends {
namespace {

constexpr std::size_t kRoom = 16 << 20;

// Accesses that no compiler leaves out.
using Bytes = volatile unsigned char*;

TEST(GuardedMemory, WhatIsInsideIsNoReach) {
  GuardedMemory memory(kRoom);
  for (const auto side : {GuardedSide::kBegin, GuardedSide::kEnd}) {
    const auto bytes = static_cast<Bytes>(memory.allocate(10000, side));
    ASSERT_NE(bytes, nullptr);
    bytes[0] = 1;
    bytes[9999] = bytes[0];
  }
  EXPECT_FALSE(memory.first_reach());
}

TEST(GuardedMemory, TheFirstByteBehind) {
  GuardedMemory memory(kRoom);
  memory.allocate(8, GuardedSide::kEnd);
  const auto bytes = static_cast<Bytes>(memory.allocate(10000, GuardedSide::kEnd));
  EXPECT_EQ(bytes[10000], 0xFD);  // poison, and the program goes on
  const auto reach = memory.first_reach();
  ASSERT_TRUE(reach);
  EXPECT_EQ(reach->block, 1u);
  EXPECT_TRUE(reach->behind);
  EXPECT_EQ(reach->distance, 1u);
  EXPECT_FALSE(reach->write);
}

TEST(GuardedMemory, TheLastByteBefore) {
  GuardedMemory memory(kRoom);
  const auto bytes = static_cast<Bytes>(memory.allocate(3, GuardedSide::kBegin));
  bytes[-1] = 7;
  const auto reach = memory.first_reach();
  ASSERT_TRUE(reach);
  EXPECT_FALSE(reach->behind);
  EXPECT_EQ(reach->distance, 1u);
#if defined(__x86_64__)
  EXPECT_TRUE(reach->write);
#endif
}

TEST(GuardedMemory, FarBehindStillBelongsToTheBlock) {
  GuardedMemory memory(kRoom);
  const auto bytes = static_cast<Bytes>(memory.allocate(100, GuardedSide::kEnd));
  memory.allocate(100, GuardedSide::kEnd);
  static_cast<void>(bytes[100 + 500000]);
  static_cast<void>(bytes[100]);  // later: the first counts
  const auto reach = memory.first_reach();
  ASSERT_TRUE(reach);
  EXPECT_EQ(reach->block, 0u);
  EXPECT_EQ(reach->distance, 500001u);
}

TEST(GuardedMemory, WhatLiesAroundIsNaN) {
  GuardedMemory memory(kRoom);
  const auto values = static_cast<volatile float*>(memory.allocate(3 * sizeof(float), GuardedSide::kEnd));
  EXPECT_TRUE(std::isnan(values[0]));   // not written yet
  EXPECT_TRUE(std::isnan(values[-1]));  // on its page
  EXPECT_TRUE(std::isnan(values[3]));
}

TEST(GuardedMemory, WritingIntoTheGapIsNoticedAtTheEnd) {
  GuardedMemory memory(kRoom);
  const auto at_end = static_cast<Bytes>(memory.allocate(100, GuardedSide::kEnd));
  const auto aligned = static_cast<Bytes>(memory.allocate(100, GuardedSide::kEnd, 16));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned) % 16, 0u);
  EXPECT_FALSE(memory.first_reach());
  aligned[100] = 0;
  auto reach = memory.first_reach();
  ASSERT_TRUE(reach);
  EXPECT_EQ(reach->block, 1u);
  EXPECT_EQ(reach->bytes, 100u);
  EXPECT_TRUE(reach->behind);
  EXPECT_EQ(reach->distance, 1u);
  EXPECT_TRUE(reach->write);
  at_end[-7] = 0;
  reach = memory.first_reach();
  ASSERT_TRUE(reach);
  EXPECT_EQ(reach->block, 0u);
  EXPECT_FALSE(reach->behind);
  EXPECT_EQ(reach->distance, 7u);
}

TEST(GuardedAllocator, WhatIsAllocatedHasBorders) {
  const c10::Allocator* const before = c10::GetCPUAllocator();
  at::Tensor kept;
  {
    GuardedMemory memory(kRoom);
    {
      const GuardedAllocatorScope scope(memory, GuardedSide::kEnd);
      kept = at::empty({12}, at::kFloat);
      kept.fill_(3.0);
      EXPECT_FALSE(memory.first_reach());
      static_cast<volatile float*>(kept.mutable_data_ptr())[12] = 1.0f;
    }
    const auto reach = memory.first_reach();
    ASSERT_TRUE(reach);
    EXPECT_EQ(reach->bytes, 48u);
    EXPECT_EQ(reach->distance, 1u);
    EXPECT_EQ(c10::GetCPUAllocator(), before);
  }
  EXPECT_EQ(kept.sum().item<float>(), 36.0f);  // its pages are still there
  kept.resize_({5000});                        // by its allocator, which has no such memory any more
  EXPECT_EQ(kept[11].item<float>(), 3.0f);
}

TEST(GuardedAllocator, BarePointers) {
  GuardedMemory memory(GuardedMemory::room_of(100));
  const GuardedAllocatorScope scope(memory, GuardedSide::kBegin);
  c10::Allocator* const allocator = c10::GetCPUAllocator();
  void* const guarded = allocator->raw_allocate(100);
  void* const ordinary = allocator->raw_allocate(100);  // there is no more room
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(guarded) % 4096, 0u);
  allocator->raw_deallocate(ordinary);
  allocator->raw_deallocate(guarded);
}

TEST(GuardedAllocator, WhereRoomEndsTheOrdinaryOneServes) {
  GuardedMemory memory(4096);
  const GuardedAllocatorScope scope(memory, GuardedSide::kEnd);
  const at::Tensor tensor = at::ones({100000});
  EXPECT_EQ(tensor.sum().item<float>(), 100000.0f);
  EXPECT_FALSE(memory.first_reach());
}

TEST(GuardedMemory, RoomEnds) {
  GuardedMemory memory(GuardedMemory::room_of(100));
  EXPECT_NE(memory.allocate(100, GuardedSide::kEnd), nullptr);
  EXPECT_EQ(memory.allocate(100, GuardedSide::kEnd), nullptr);
}

TEST(GuardedMemory, OneAtATimeAndAgain) {
  {
    GuardedMemory memory(kRoom);
    static_cast<void>(static_cast<Bytes>(memory.allocate(1, GuardedSide::kEnd))[1]);
    EXPECT_THROW(GuardedMemory{kRoom}, std::logic_error);
  }
  EXPECT_FALSE(GuardedMemory{kRoom}.first_reach());
}

TEST(GuardedMemoryDeathTest, AFaultElsewhereIsOne) {
  EXPECT_EXIT(
      {
        GuardedMemory memory(kRoom);
        volatile unsigned char* volatile nowhere = nullptr;
        nowhere[16] = 1;
      },
      testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
}  // namespace ampgate::backends
