#include "bench/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace ampgate::bench {
namespace {

TEST(BlockOrder, HoldsEveryTrialOnce) {
  for (int block = 0; block < 50; ++block) {
    auto order = block_order(11, "matmul/512", 0, block, 5);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
  }
}

TEST(BlockOrder, CanBeRepeated) {
  EXPECT_EQ(block_order(11, "exp/64", 2, 7, 6), block_order(11, "exp/64", 2, 7, 6));
}

TEST(BlockOrder, EveryPartOfTheKeyChangesIt) {
  const auto orders_of = [](std::uint64_t seed, const char* group, int process) {
    std::vector<std::vector<std::size_t>> orders;
    for (int block = 0; block < 10; ++block) orders.push_back(block_order(seed, group, process, block, 6));
    return orders;
  };
  const auto reference = orders_of(11, "exp/64", 0);
  EXPECT_NE(reference, orders_of(12, "exp/64", 0));
  EXPECT_NE(reference, orders_of(11, "exp/65", 0));
  EXPECT_NE(reference, orders_of(11, "exp/64", 1));
  EXPECT_GT(std::set(reference.begin(), reference.end()).size(), 5U);
}

TEST(BlockOrder, EveryOrderIsEquallyLikely) {
  std::map<std::vector<std::size_t>, int> seen;
  constexpr int kBlocks = 6000;
  for (int block = 0; block < kBlocks; ++block) ++seen[block_order(3, "sum/8", 0, block, 3)];
  ASSERT_EQ(seen.size(), 6U);
  // 1000 expected each, standard deviation 29.
  for (const auto& [order, count] : seen) EXPECT_NEAR(count, kBlocks / 6, 150);
}

TEST(BlockOrder, OfNothingIsEmpty) { EXPECT_TRUE(block_order(1, "x", 0, 0, 0).empty()); }

// A body that takes `per_call_ns`, and a first call that takes longer.
struct FakeBody {
  double per_call_ns;
  std::int64_t calls = 0;
  std::int64_t operator()(std::int64_t n) {
    calls += n;
    return static_cast<std::int64_t>(per_call_ns * static_cast<double>(n));
  }
};

TEST(ChooseCalls, FillsTheCell) {
  FakeBody body{3000.0};
  EXPECT_EQ(choose_calls(15'000'000, 25, std::ref(body)), 5000);
  EXPECT_LT(body.calls, 1000) << "finding the count costs less than a fifth of a cell";
}

TEST(ChooseCalls, IsAtLeastOneAndAsksOnceForALongBody) {
  FakeBody body{80e6};
  EXPECT_EQ(choose_calls(15'000'000, 25, std::ref(body)), 1);
  EXPECT_EQ(body.calls, 1);
}

TEST(ChooseCalls, AFirstTryThatWasHeldUpForLongerThanACellIsTriedAgain) {
  int tries = 0;
  const auto body = [&](std::int64_t calls) { return calls * 2'000 + (tries++ == 0 ? 4'000'000 : 0); };
  EXPECT_EQ(choose_calls(2'000'000, 25, body), 1000);
}

TEST(ChooseCalls, OneDisturbedTryDoesNotShortenTheCell) {
  for (int disturbed = 0; disturbed < 3; ++disturbed) {
    int tries = 0;
    const auto body = [&](std::int64_t calls) { return calls * 1'000'000 * (tries++ == disturbed ? 5 : 1); };
    EXPECT_EQ(choose_calls(15'000'000, 25, body), 15) << "try " << disturbed;
  }
}

TEST(ChooseCalls, RoundsToTheNearestLength) {
  FakeBody body{10e6};
  EXPECT_EQ(choose_calls(26'000'000, 25, std::ref(body)), 3);
}

TEST(ChooseCalls, KeepsTheClockBelowOneInAThousand) {
  FakeBody body{100.0};
  EXPECT_EQ(choose_calls(1, 50, std::ref(body)), 500);
}

TEST(ChooseCalls, EndsForABodyThatTakesNoTime) {
  FakeBody body{0.0};
  EXPECT_EQ(choose_calls(15'000'000, 25, std::ref(body)), 1'000'000);
}

TEST(LeadIn, IsShortButNeverNone) {
  EXPECT_EQ(lead_in_calls(1), 1);
  EXPECT_EQ(lead_in_calls(49), 1);
  EXPECT_EQ(lead_in_calls(1000), 20);
}

}  // namespace
}  // namespace ampgate::bench
