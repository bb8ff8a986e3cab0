#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "backends/poison_allocator.h"
#include "validate/finite.h"

namespace ampgate::validate {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The poison is counted apart, the NaN that arithmetic makes is not.
TEST(Finite, MemoryThatWasNeverWritten) {
  for (const auto type : {at::kHalf, at::kBFloat16, at::kFloat, at::kDouble}) {
    at::Tensor x = at::zeros({4, 300}, type);
    x[0][7] = kNan;
    {
      const backends::PoisonScope poisoned;
      x[2][5].copy_(at::empty({}, type));
      x[3][299].copy_(at::empty({}, type));
    }
    std::memset(x[0][8].data_ptr(), 0xFF, x.element_size());  // as vectorised maxima make it
    const FiniteScan scan = scan_finite(x);
    EXPECT_EQ(scan.nans, 4);
    EXPECT_EQ(scan.unwritten, 2) << type;
    EXPECT_EQ(scan.first_unwritten, 605);
    EXPECT_EQ(scan_finite(x.t()).first_unwritten, 5 * 4 + 2);
    EXPECT_EQ(scan_finite(x[2].sub(x[2])).nans, 1);
  }
  EXPECT_EQ(scan_finite(at::full({3}, -1, at::kLong)).unwritten, 0);
}

class FiniteOfType : public testing::TestWithParam<c10::ScalarType> {};

// 1000 elements: whole chunks and a rest.
TEST_P(FiniteOfType, CountsAndFindsTheFirst) {
  at::Tensor x = at::linspace(-3, 2, 1000).to(GetParam());
  FiniteScan scan = scan_finite(x);
  EXPECT_TRUE(scan.finite());
  EXPECT_EQ(scan.elements, 1000);
  EXPECT_EQ(scan.first, -1);
  EXPECT_EQ(scan.largest, 3.0);
  x[999] = -kInf;
  x[700] = kNan;
  x[301] = kInf;
  x[300] = -17.0;
  scan = scan_finite(x);
  EXPECT_FALSE(scan.finite());
  EXPECT_EQ(scan.nans, 1);
  EXPECT_EQ(scan.infinities, 2);
  EXPECT_EQ(scan.first, 301);
  EXPECT_EQ(scan.largest, 17.0);
}

TEST_P(FiniteOfType, LargestFiniteAndSubnormalAreFinite) {
  const double max = GetParam() == at::kHalf ? 65504.0 : 0x1.fep127;
  const at::Tensor x = at::tensor({-max, 0.0, -0.0}, at::kDouble).to(GetParam());
  EXPECT_TRUE(scan_finite(x).finite());
  EXPECT_EQ(scan_finite(x).largest, max);
  const at::Tensor small = at::full({3}, 0x1p-24, at::kDouble).to(GetParam());
  EXPECT_EQ(scan_finite(small).largest, 0x1p-24);
}

TEST_P(FiniteOfType, PositionsAreLogicalWhateverTheStrides) {
  at::Tensor base = at::zeros({6, 5, 7}, GetParam());
  base[4][2][3] = kInf;
  base[1][3][6] = kNan;
  const at::Tensor permuted = base.permute({2, 0, 1});  // dense
  EXPECT_EQ(scan_finite(permuted).first, (3 * 6 + 4) * 5 + 2);
  EXPECT_EQ(scan_finite(permuted).nans, 1);
  const at::Tensor sliced = base.slice(2, 0, 7, 3);  // columns 0, 3 and 6: not dense
  EXPECT_EQ(scan_finite(sliced).first, (1 * 5 + 3) * 3 + 2);
  EXPECT_EQ(scan_finite(sliced).infinities, 1);
  const at::Tensor expanded = base[4][2].expand({3, 7});
  EXPECT_EQ(scan_finite(expanded).infinities, 3);
  EXPECT_EQ(scan_finite(expanded).first, 3);
}

INSTANTIATE_TEST_SUITE_P(Types, FiniteOfType,
                         testing::Values(at::kHalf, at::kBFloat16, at::kFloat, at::kDouble),
                         [](const auto& type) { return std::string(c10::toString(type.param)); });

TEST(Finite, WhatHasNoInfinityIsFinite) {
  EXPECT_TRUE(scan_finite({}).finite());
  EXPECT_EQ(scan_finite(at::ones({3}, at::kLong)).elements, 3);
  EXPECT_TRUE(scan_finite(at::ones({3}, at::kBool)).finite());
  EXPECT_EQ(scan_finite(at::empty({0, 4})).elements, 0);
  EXPECT_EQ(scan_finite(at::scalar_tensor(kNan)).first, 0);
}

}  // namespace
}  // namespace ampgate::validate
