// What the evidence lets two right outputs differ by, over all positions.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "validate/compare.h"
#include "validate/evidence.h"

namespace ampgate::validate {
namespace {

using results::Json;

constexpr std::int64_t kElements = 2000;

at::Tensor oracle() {
  at::Tensor y = at::linspace(-300.0, 300.0, kElements, at::kDouble);
  y[17] = 0.0;
  return y;
}

Json check_of(const at::Tensor& y, const Bound& bound, c10::ScalarType type, const Sample& sample = {}) {
  return output_check("out", y, bound, y.to(type), sample, 64, 1, /*hard=*/false);
}

TEST(Allowance, HoldsForTheFarthestOutputsThatTheBoundAccepts) {
  const at::Tensor y = oracle();
  Bound bound;
  bound.error = y.abs() * 1e-4 + 1e-5;
  std::vector<std::int64_t> all(kElements);
  std::iota(all.begin(), all.end(), 0);
  for (const auto type : {at::kFloat, at::kHalf, at::kBFloat16}) {
    const double ulp = type == at::kFloat ? 0x1p-23 : type == at::kHalf ? 0x1p-10 : 0x1p-7;
    const Limits ends = limits(y, bound, type, all, /*hard=*/false);
    double largest = 0.0;
    double squares = 0.0;
    double reach = 0.0;  // and a step further, since limits that round to one number hide what they allow
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double width = ends.high[i] - ends.low[i];
      largest = std::max(largest, width);
      squares += width * width;
      const double step = std::ldexp(ulp, std::ilogb(std::max(std::abs(ends.high[i]), 1e-6)));
      reach += (width + step) * (width + step);
    }
    const Json check = check_of(y, bound, type);
    EXPECT_GE(check.at("max_difference").get<double>(), largest);
    EXPECT_LE(check.at("max_difference").get<double>(), 2.5 * largest) << "and is not much wider";
    const double rms = std::sqrt(squares / kElements);
    EXPECT_GE(check.at("rms_difference").get<double>(), rms);
    EXPECT_LE(check.at("rms_difference").get<double>(), 2.5 * std::sqrt(reach / kElements));
  }
}

TEST(Allowance, ElementsThatMasksDecideAllowNothing) {
  at::Tensor y = oracle();
  Bound bound;
  bound.error = at::full({kElements}, 1e-3, at::kDouble);
  const auto before = check_of(y, bound, at::kFloat).at("max_difference").get<double>();
  y[5] = std::numeric_limits<double>::infinity();
  y[6] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(check_of(y, bound, at::kFloat).at("max_difference"), before);
}

TEST(Allowance, AnUnknownErrorAllowsEverything) {
  const at::Tensor y = oracle();
  Bound bound;
  bound.error = at::full({kElements}, 1e-3, at::kDouble);
  bound.error[9] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(check_of(y, bound, at::kFloat).at("max_difference"), "inf");
}

TEST(Allowance, AnRmsLimitHoldsForTheRms) {
  const at::Tensor y = oracle();
  Bound bound;
  bound.error = at::full({kElements}, 1.0, at::kDouble);
  bound.rms_limit = 0.01;
  EXPECT_DOUBLE_EQ(check_of(y, bound, at::kFloat).at("rms_difference").get<double>(), 0.02);
}

TEST(Allowance, IntegersMustBeTheSame) {
  const at::Tensor y = at::arange(kElements);
  const Json check = output_check("out", y, {}, y, {}, 64, 1, /*hard=*/false);
  EXPECT_EQ(check.at("max_difference"), 0.0);
  EXPECT_EQ(check.at("rms_difference"), 0.0);
}

}  // namespace
}  // namespace ampgate::validate
