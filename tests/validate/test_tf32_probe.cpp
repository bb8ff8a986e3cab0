// The probe finds lowered FP32 products whatever way they are lowered, and nothing where there is none.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "session.h"
#include "validate/tf32_probe.h"

namespace ampgate::validate {
namespace {

at::Tensor matmul(const at::Tensor& a, const at::Tensor& b) { return at::matmul(a, b); }
at::Tensor conv(const at::Tensor& x, const at::Tensor& w) { return at::conv2d(x, w); }

// TF32 keeps 10 of 23 fraction bits: the lower 13 are cut off, after half of their range was added to round.
at::Tensor tf32(const at::Tensor& x, bool round) {
  at::Tensor bits = x.contiguous().view(at::kInt);
  if (round) bits = bits + (1 << 12);
  return bits.bitwise_and(~((1 << 13) - 1)).view(at::kFloat);
}

TEST(Tf32Probe, FindsNothingInFp32) {
  EXPECT_EQ(find_lowered_fp32({matmul, conv}, at::kCPU), "");
  EXPECT_EQ(find_lowered_fp32(CpuSession().session.backend), "");
}

TEST(Tf32Probe, FindsTruncationAndRounding) {
  const auto lowered = [](bool round) {
    return find_lowered_fp32(
        {[=](const at::Tensor& a, const at::Tensor& b) { return at::matmul(tf32(a, round), tf32(b, round)); },
         conv},
        at::kCPU);
  };
  EXPECT_NE(lowered(false).find("truncated to TF32"), std::string::npos) << lowered(false);
  EXPECT_NE(lowered(true).find("rounded to TF32"), std::string::npos) << lowered(true);
  EXPECT_NE(lowered(true).find("matmul of 1 x 1"), std::string::npos) << lowered(true);
}

TEST(Tf32Probe, FindsBf16InConvolutionsAlone) {
  const auto found = find_lowered_fp32(
      {matmul, [](const at::Tensor& x,
                  const at::Tensor& w) { return at::conv2d(x.to(at::kBFloat16).to(at::kFloat), w); }},
      at::kCPU);
  EXPECT_NE(found.find("conv2d of 1 channels"), std::string::npos) << found;
  EXPECT_NE(found.find("to BF16"), std::string::npos) << found;
}

TEST(Tf32Probe, FindsAKernelThatIsChosenForOneSizeAndLayout) {
  const auto found = find_lowered_fp32({[](const at::Tensor& a, const at::Tensor& b) {
                                          const bool chosen = a.size(0) == 512 && !b.is_contiguous();
                                          return at::matmul(chosen ? tf32(a, false) : a, b);
                                        },
                                        conv},
                                       at::kCPU);
  EXPECT_NE(found.find("matmul of 512 x 512, b transposed"), std::string::npos) << found;
}

}  // namespace
}  // namespace ampgate::validate
