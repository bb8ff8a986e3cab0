// The search for smallest sets, on predicates whose answer is known.
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "validate/islands/minimal_set.h"

namespace ampgate::validate {
namespace {

using Set = std::vector<int>;

Set up_to(int count) {
  Set set(static_cast<std::size_t>(count));
  std::iota(set.begin(), set.end(), 0);
  return set;
}

// Heals when all of `needed` are in the set; counts the questions.
struct Needs {
  std::set<int> needed;
  int asked = 0;
  Heals<int> heals() {
    return [this](const Set& set) {
      ++asked;
      return std::all_of(needed.begin(), needed.end(),
                         [&](int item) { return std::find(set.begin(), set.end(), item) != set.end(); });
    };
  }
};

TEST(Prune, KeepsWhatIsNeededInItsOrder) {
  Needs needs{{3, 5}};
  EXPECT_EQ(prune(Set{5, 1, 3, 2}, needs.heals()), (Set{5, 3}));
}

TEST(Prune, TriesAgainWhatAnotherMadeNeedless) {
  // 2 is needed only beside 1: {1, 2} and {} heal, {1} does not. Tried last to first, 2 stays at first.
  const Heals<int> heals = [](const Set& set) {
    const bool one = std::find(set.begin(), set.end(), 1) != set.end();
    const bool two = std::find(set.begin(), set.end(), 2) != set.end();
    return !one || two;
  };
  EXPECT_EQ(prune(Set{1, 2}, heals), Set{});
}

TEST(Prune, EmptySetThatHealsIsEmpty) {
  Needs needs{{}};
  EXPECT_EQ(prune(up_to(7), needs.heals()), Set{});
}

TEST(DeltaDebug, FindsOneOfAHundredInFewQuestions) {
  Needs needs{{71}};
  EXPECT_EQ(delta_debug(up_to(100), needs.heals()), Set{71});
  EXPECT_LT(needs.asked, 30);
}

TEST(DeltaDebug, FindsScatteredMembers) {
  for (const auto& needed : {std::set<int>{0, 99}, {1, 2, 3}, {10, 40, 70, 98}}) {
    Needs needs{needed};
    EXPECT_EQ(delta_debug(up_to(100), needs.heals()), Set(needed.begin(), needed.end()));
  }
}

TEST(DeltaDebug, IsOneMinimalWhereSetsAreAlternatives) {
  // Either 4 or both of 7 and 8.
  const Heals<int> heals = [](const Set& set) {
    const auto has = [&](int item) { return std::find(set.begin(), set.end(), item) != set.end(); };
    return has(4) || (has(7) && has(8));
  };
  const Set found = delta_debug(up_to(12), heals);
  EXPECT_TRUE(heals(found));
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_FALSE(heals(without(found, i)));
}

TEST(DeltaDebug, KeepsEverythingWhereAllIsNeeded) {
  Needs needs{{0, 1, 2, 3, 4}};
  EXPECT_EQ(delta_debug(up_to(5), needs.heals()), up_to(5));
}

}  // namespace
}  // namespace ampgate::validate
