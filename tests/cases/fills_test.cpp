#include "cases/fills.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <set>

namespace ampgate::cases {
namespace {

// Bitwise, so that NaN equals itself and -0 differs from +0.
bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() &&
         std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
}

std::uint32_t bits(const at::Tensor& tensor, std::int64_t i) {
  return std::bit_cast<std::uint32_t>(tensor.const_data_ptr<float>()[i]);
}

Fill fill_of(FillKind kind) { return Fill(42, "matmul", "2x3x4", kind); }

const Fill kFill = fill_of(FillKind::kOrdinary);

// All golden values come from a separate implementation in Python integers, whose generator was checked
// against the published SplitMix64 sequence of seed 1234567 (6457827717110365317, 3203168211198807973,
// 9817491932198370423).
TEST(Fills, NormalHasTheGoldenValues) {
  const at::Tensor x = kFill.normal("a", {1001});
  const float* data = x.const_data_ptr<float>();
  EXPECT_EQ(data[0], 59992.0f / 2097152);
  EXPECT_EQ(data[1], 191203.0f / 2097152);
  EXPECT_EQ(data[2], -1332104.0f / 2097152);
  EXPECT_EQ(data[1000], -3837397.0f / 2097152);
}

TEST(Fills, UniformHasTheGoldenValues) {
  const at::Tensor x = kFill.uniform("a", {4}, -1.0, 1.0);
  const double expected[] = {3886, 771, 53928, 15694};
  for (int i = 0; i < 4; ++i) EXPECT_EQ(x.const_data_ptr<float>()[i], -1.0 + expected[i] / 32768);
}

TEST(Fills, IntegersHaveTheGoldenValues) {
  const at::Tensor small = kFill.integers("a", {10}, 0, 10);
  EXPECT_TRUE(at::equal(small, at::tensor({0, 0, 8, 2, 6, 8, 4, 5, 6, 0}, at::kLong)));
  const at::Tensor shifted = kFill.integers("a", {10}, -3, 4);
  EXPECT_TRUE(at::equal(shifted, at::tensor({-3, -3, 2, -2, 1, 3, 0, 0, 1, -3}, at::kLong)));
}

TEST(Fills, EdgeKindsHaveTheGoldenValues) {
  const at::Tensor large = fill_of(FillKind::kLarge).normal("a", {4});
  EXPECT_TRUE(at::equal(large, at::tensor({46089.0f, -43565.0f, 65222.0f, -48222.0f})));
  const at::Tensor huge = fill_of(FillKind::kHuge).normal("a", {4});
  const at::Tensor subnormal = fill_of(FillKind::kSubnormal).normal("a", {4});
  const std::uint32_t huge_bits[] = {0x7f5020ae, 0xff65e2bc, 0x7f0db444, 0xff1c29db};
  const std::uint32_t subnormal_bits[] = {0x54ca03, 0xb615865b, 0x3758c8a4, 0xb54165f9};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(bits(huge, i), huge_bits[i]);
    EXPECT_EQ(bits(subnormal, i), subnormal_bits[i]);
  }
}

TEST(Fills, DoNotDependOnThreads) {
  const int threads = at::get_num_threads();
  const at::Tensor many = kFill.normal("a", {300, 1001});
  at::set_num_threads(1);
  const at::Tensor one = kFill.normal("a", {300, 1001});
  at::set_num_threads(threads);
  EXPECT_TRUE(same_bits(many, one));
}

TEST(Fills, DependOnTheLogicalIndexAlone) {
  EXPECT_TRUE(same_bits(kFill.normal("a", {6, 5}).flatten(), kFill.normal("a", {30})));
  EXPECT_TRUE(same_bits(kFill.normal("a", {1000}).slice(0, 0, 7).contiguous(), kFill.normal("a", {7})));
}

TEST(Fills, EveryPartOfTheKeyMatters) {
  const at::Tensor x = kFill.normal("a", {100});
  EXPECT_FALSE(at::equal(x, kFill.normal("b", {100})));
  EXPECT_FALSE(at::equal(x, Fill(43, "matmul", "2x3x4").normal("a", {100})));
  EXPECT_FALSE(at::equal(x, Fill(42, "linear", "2x3x4").normal("a", {100})));
  EXPECT_FALSE(at::equal(x, Fill(42, "matmul", "2x3x5").normal("a", {100})));
  EXPECT_FALSE(at::equal(Fill(1, "ab", "c").normal("d", {100}), Fill(1, "a", "bc").normal("d", {100})));
}

// With a million values the mean has sd 0.001, the variance 0.0014, the correlation of neighbours 0.001; a
// sum of twelve uniforms has a kurtosis of 3 - 1.2 / 12 = 2.9 and stays within 6.
TEST(Fills, NormalHasTheRightMoments) {
  const at::Tensor x = kFill.normal("a", {1 << 20}).to(at::kDouble);
  EXPECT_NEAR(x.mean().item<double>(), 0.0, 0.005);
  EXPECT_NEAR(x.var().item<double>(), 1.0, 0.007);
  EXPECT_NEAR(x.pow(4).mean().item<double>(), 2.9, 0.05);
  EXPECT_LE(x.abs().max().item<double>(), 6.0);
  EXPECT_NEAR((x.slice(0, 1) * x.slice(0, 0, -1)).mean().item<double>(), 0.0, 0.005);
  EXPECT_NEAR((x * kFill.normal("b", {1 << 20})).mean().item<double>(), 0.0, 0.005);
}

TEST(Fills, ScaleIsRoundedToAPowerOfTwo) {
  const at::Tensor x = kFill.normal("a", {100});
  EXPECT_TRUE(same_bits(kFill.normal("a", {100}, 0.25), x * 0.25));
  EXPECT_TRUE(same_bits(kFill.normal("a", {100}, 1.49), x));
  EXPECT_TRUE(same_bits(kFill.normal("a", {100}, 1.51), x * 2));
  EXPECT_TRUE(same_bits(kFill.normal("a", {100}, 1.0 / std::sqrt(512.0)), x / 32));
  EXPECT_THROW(kFill.normal("a", {100}, 0.0), std::invalid_argument);
}

TEST(Fills, UniformStaysInItsRange) {
  const at::Tensor x = kFill.uniform("a", {1 << 18}, 0.5, 2.0);
  EXPECT_GE(x.min().item<float>(), 0.5f);
  EXPECT_LT(x.max().item<float>(), 2.0f);
  EXPECT_NEAR(x.mean().item<double>(), 1.25, 0.005);
  EXPECT_TRUE(same_bits(x, fill_of(FillKind::kHuge).uniform("a", {1 << 18}, 0.5, 2.0)));
  EXPECT_THROW(kFill.uniform("a", {4}, 1.0, 1.0), std::invalid_argument);
}

TEST(Fills, IntegersAreEvenlySpread) {
  const at::Tensor counts = at::bincount(kFill.integers("a", {70000}, 0, 7));
  ASSERT_EQ(counts.size(0), 7);
  EXPECT_LT((counts - 10000).abs().max().item<std::int64_t>(), 500);  // sd 93
  EXPECT_THROW(kFill.integers("a", {4}, 3, 3), std::invalid_argument);
}

TEST(Fills, ZerosHaveBothSigns) {
  const at::Tensor x = fill_of(FillKind::kZeros).normal("a", {5});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(bits(x, i), i % 2 == 0 ? 0u : 0x80000000u);
}

TEST(Fills, SubnormalsAreSubnormalInFp16) {
  const at::Tensor x = fill_of(FillKind::kSubnormal).normal("a", {10000});
  EXPECT_GT(x.abs().min().item<double>(), 0.0);
  EXPECT_LT(x.abs().max().item<double>(), 0x1p-14);
  const double in_fp32 = (x.abs() < 0x1p-126).to(at::kDouble).mean().item<double>();
  EXPECT_NEAR(in_fp32, 1.0 / 8, 0.02);
  EXPECT_EQ(((x.abs() >= 0x1p-126) & (x.abs() < 0x1p-24)).sum().item<std::int64_t>(), 0);
}

TEST(Fills, LargeIsFiniteInFp16AndHugeOnlyInBf16) {
  const at::Tensor large = fill_of(FillKind::kLarge).normal("a", {10000});
  EXPECT_TRUE(large.to(at::kHalf).isfinite().all().item<bool>());
  EXPECT_TRUE((large * 2).to(at::kHalf).isinf().all().item<bool>());
  const at::Tensor huge = fill_of(FillKind::kHuge).normal("a", {10000});
  EXPECT_TRUE(huge.to(at::kBFloat16).isfinite().all().item<bool>());
  EXPECT_TRUE(huge.to(at::kHalf).isinf().all().item<bool>());
  EXPECT_TRUE((huge * 2).isinf().all().item<bool>());
  EXPECT_NEAR((huge > 0).to(at::kDouble).mean().item<double>(), 0.5, 0.03);
}

TEST(Fills, NotFiniteAtSeededPlacesAndOrdinaryElsewhere) {
  const at::Tensor ordinary = kFill.normal("a", {24});
  const at::Tensor nan = fill_of(FillKind::kNaN).normal("a", {4, 6}).flatten();
  EXPECT_TRUE(nan[19].isnan().item<bool>());
  EXPECT_EQ(nan.ne(ordinary).sum().item<std::int64_t>(), 1);
  const at::Tensor infinite = fill_of(FillKind::kInfinite).normal("a", {4, 6}).flatten();
  EXPECT_EQ(infinite[19].item<float>(), HUGE_VALF);
  EXPECT_EQ(infinite[(19 + 12) % 24].item<float>(), -HUGE_VALF);
  EXPECT_EQ(infinite.ne(ordinary).sum().item<std::int64_t>(), 2);
}

TEST(Fills, NamesAreDistinct) {
  std::set<std::string_view> names{fill_name(FillKind::kOrdinary)};
  for (const FillKind kind : edge_fills()) names.insert(fill_name(kind));
  EXPECT_EQ(names.size(), 7u);
}

// 4 TB and 8 TB: nothing of it is allocated.
TEST(Fill, OfNoneHasSizesAndTypesAlone) {
  const Fill none = fill_of(FillKind::kNone);
  const at::Tensor values = none.normal("a", {1'000'000, 1'000'000});
  EXPECT_TRUE(values.is_meta());
  EXPECT_EQ(values.sizes(), (std::vector<std::int64_t>{1'000'000, 1'000'000}));
  EXPECT_EQ(values.scalar_type(), at::kFloat);
  EXPECT_TRUE(none.uniform("b", {7}, 0.0, 1.0).is_meta());
  EXPECT_EQ(none.integers("c", {1'000'000, 1'000'000}, 0, 9).scalar_type(), at::kLong);
}

}  // namespace
}  // namespace ampgate::cases
