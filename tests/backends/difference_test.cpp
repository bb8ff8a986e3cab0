#include "backends/difference.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

namespace ampgate::backends {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Difference, OfEqualTensorsIsNone) {
  for (const auto type : {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble, at::kLong, at::kBool}) {
    const at::Tensor values = at::arange(100'000).remainder(7).to(type);
    const auto found = difference(values, values.clone(), 0.0);
    EXPECT_EQ(found.elements, 100'000);
    EXPECT_EQ(found.masks, 0);
    EXPECT_EQ(found.largest, 0.0);
    EXPECT_EQ(found.largest_at, -1);
    EXPECT_EQ(found.rms, 0.0);
  }
}

TEST(Difference, OneElementAnywhereIsFound) {
  for (const std::int64_t at : {0L, 511L, 512L, 32'767L, 32'768L, 99'999L}) {
    at::Tensor now = at::zeros({100'000});
    now[at] = -3.0;
    const auto found = difference(now, at::zeros({100'000}), 0.0);
    EXPECT_EQ(found.largest, 3.0);
    EXPECT_EQ(found.largest_at, at);
    EXPECT_DOUBLE_EQ(found.rms, 3.0 / std::sqrt(100'000.0));
  }
}

TEST(Difference, PositionsAreLogicalInAnyLayout) {
  at::Tensor now = at::zeros({300, 400});
  now[7][9] = 1.0;
  const auto found = difference(now.t(), at::zeros({400, 300}), 0.0);
  EXPECT_EQ(found.largest_at, 9 * 300 + 7);
}

TEST(Difference, MasksComeFirst) {
  const auto of = [](double a, double b, c10::ScalarType type = at::kFloat, double slack = 0.0) {
    at::Tensor now = at::ones({2000}, type);
    at::Tensor before = at::ones({2000}, type);
    now[1234] = a;
    before[1234] = b;
    return difference(now, before, slack);
  };
  EXPECT_EQ(of(kNan, kNan).masks, 0);
  EXPECT_EQ(of(kInf, kInf).masks, 0);
  EXPECT_EQ(of(kNan, 1.0).masks, 1);
  EXPECT_EQ(of(1.0, kNan).mask_at, 1234);
  EXPECT_EQ(of(kInf, -kInf).masks, 1);
  EXPECT_EQ(of(kInf, kNan).masks, 1);
  EXPECT_EQ(of(1.0, kInf).masks, 1);
  EXPECT_EQ(of(kInf, 65504.0, at::kHalf, 16.0).masks, 0) << "the two lie on both sides of the overflow";
  EXPECT_EQ(of(kInf, 60000.0, at::kHalf, 16.0).masks, 1);
  EXPECT_EQ(of(kInf, -65504.0, at::kHalf, 16.0).masks, 1);
}

TEST(Difference, OtherSizesOrTypesAreRefused) {
  EXPECT_THROW(difference(at::zeros({3}), at::zeros({4}), 0.0), std::invalid_argument);
  EXPECT_THROW(difference(at::zeros({3}), at::zeros({3}, at::kHalf), 0.0), std::invalid_argument);
}

}  // namespace
}  // namespace ampgate::backends
