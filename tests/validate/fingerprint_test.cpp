#include "validate/fingerprint/fingerprint.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "validate/fingerprint/products.h"
#include "validate/fingerprint/values.h"

namespace ampgate::validate::fingerprint {
namespace {

using results::Json;

TEST(FingerprintText, ReadsBackToTheSameBits) {
  EXPECT_EQ(text(0.0625F), "0.0625");
  EXPECT_EQ(text(-0.0F), "-0");
  EXPECT_EQ(text(std::numeric_limits<float>::infinity()), "inf");
  EXPECT_EQ(text(std::nanf("7")), "nan");
  EXPECT_EQ(text(std::ldexp(1.0F, -130)), "7.34684e-40");
  EXPECT_EQ(text(std::ldexp(1.0F, -14)), "6.1035156e-05");
}

TEST(FingerprintText, Bits) {
  const at::Tensor values = from_bits({0x3F808000, 0xFF7FFFFF});
  EXPECT_EQ(bits(values), (std::vector<std::string>{"3F808000", "FF7FFFFF"}));
  EXPECT_EQ(bits(values.to(c10::kBFloat16)), (std::vector<std::string>{"3F80", "FF80"}));
}

TEST(FingerprintText, Ranges) {
  EXPECT_EQ(in_ranges({}), "none");
  EXPECT_EQ(in_ranges({3}), "3");
  EXPECT_EQ(in_ranges({2, 3, 4, 9, 11, 12}), "2 to 4, 9, 11 to 12");
}

TEST(FingerprintText, ValuesThatMeanTheSameAreOne) {
  const Meanings meanings{{"inf", "overflows"}, {"nan", "overflows"}, {"1", "fits"}};
  EXPECT_EQ(in_words(meanings, {{"inf", 3}, {"nan", 1}}), "overflows");
  EXPECT_EQ(in_words(meanings, {{"1", 2}, {"nan", 6}}), "fits (2 of 8); overflows (6 of 8) layouts and sizes");
  EXPECT_EQ(in_words(meanings, {{"2", 1}}), "2, which is not among the values known of devices");
}

// 3 x 5 + 2 x 7 at two places, in every layout and size.
TEST(FingerprintProducts, EveryLayoutAndSizeComputesTheTerms) {
  const auto sizes = sizes_for(16);
  const auto outcomes = products(c10::kCPU, c10::kFloat, {{0, 3, 5}, {15, 2, 7}}, sizes);
  EXPECT_EQ(outcomes.seen, (std::map<std::string, int>{{"29", 4 * static_cast<int>(sizes.size())}}));
  for (const char* layout : {"NN", "NT", "TN", "TT"})
    EXPECT_EQ(outcomes.raw.at(layout), std::string(sizes.size(), '0'));
}

class FingerprintTest : public ::testing::Test {
 protected:
  static const Json& probes() {
    static const Json taken = [] {
      const at::NoGradGuard no_grad;
      return take(*backends::open("cpu"));
    }();
    return taken.at("probes");
  }
  static std::string words(const std::string& name) {
    for (const auto& probe : probes()) {
      if (probe.at("name") == name) return probe.value("words", "absent");
    }
    return "no such probe";
  }
};

// What IEEE 754 and LibTorch's documentation say of any CPU.
TEST_F(FingerprintTest, WhatACpuMustDo) {
  EXPECT_EQ(words("product-fp32"), "FP32");
  EXPECT_EQ(words("convolution-fp32"), "FP32");
  EXPECT_EQ(words("product-tf32"), "absent");
  EXPECT_EQ(words("accumulator-fp32"), "FP32, rounded to nearest");
  EXPECT_EQ(words("rounding-to-bf16"), "to nearest, ties to even");
  EXPECT_EQ(words("overflow-to-fp16"), "infinity");
  EXPECT_EQ(words("overflow-to-bf16"), "infinity");
  EXPECT_EQ(words("operand-bits-fp16"), "FP16");
  EXPECT_EQ(words("partial-sums-fp16"), "wider than FP16");
  EXPECT_EQ(words("nan-to-bf16").rfind("a NaN, ", 0), 0U) << words("nan-to-bf16");
  EXPECT_NE(words("maxima-fp32").find("fmax(nan, 1), (1, nan): 1 1"), std::string::npos);
  EXPECT_NE(words("infinities-fp32").find("logsumexp [-inf, -inf]: -inf"), std::string::npos);
}

TEST_F(FingerprintTest, IsTheSameEachTimeAndItsNamesAreDistinct) {
  const at::NoGradGuard no_grad;
  EXPECT_EQ(take(*backends::open("cpu")).at("probes"), probes());
  std::set<std::string> names;
  for (const auto& probe : probes()) EXPECT_TRUE(names.insert(probe.at("name")).second) << probe;
}

}  // namespace
}  // namespace ampgate::validate::fingerprint
