// The optimizers are torch.optim's, bit for bit. The numbers are what this program prints under PyTorch 2.11:
//
//   import torch
//   def train(make):
//       w = torch.nn.Parameter((torch.arange(8) - 3) / 8)
//       b = torch.nn.Parameter((torch.arange(3) + 1) / 4)
//       optimizer = make([w, b])
//       for step in range(24):
//           w.grad = (torch.arange(8) * 37 + step * 11) % 64 / 64 - 0.5
//           b.grad = None if step % 3 == 0 else (torch.arange(3) * 29 + step * 7) % 32 / 32 - 0.5
//           optimizer.step()
//       print([hex(v & 0xFFFFFFFF) for p in (w, b) for v in p.detach().view(torch.int32).tolist()])
//   off = {"foreach": False, "fused": False}
//   train(lambda p: torch.optim.SGD(p, lr=0.05, **off))
//   train(lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.01, **off))
//   train(lambda p: torch.optim.AdamW(p, lr=0.003, weight_decay=0.01, **off))
//   train(lambda p: torch.optim.AdamW(p, lr=0.1, betas=(0.8, 0.95), eps=1e-4, weight_decay=0, **off))
#include "cases/training/optimizer.h"

#include <ATen/ATen.h>
#include <ATen/Version.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace ampgate::cases {
namespace {

using Bits = std::vector<std::uint32_t>;

at::Tensor ramp(std::int64_t size) { return at::arange(size, at::kLong); }

Bits bits_of(const std::vector<at::Tensor>& parameters) {
  Bits bits;
  for (const auto& parameter : parameters) {
    const at::Tensor words = parameter.detach().view(at::kInt);
    for (std::int64_t i = 0; i < words.numel(); ++i)
      bits.push_back(static_cast<std::uint32_t>(words[i].item<std::int32_t>()));
  }
  return bits;
}

Bits train(const OptimizerSpec& spec) {
  const at::Tensor w = ((ramp(8) - 3).to(at::kFloat) / 8).requires_grad_();
  const at::Tensor b = ((ramp(3) + 1).to(at::kFloat) / 4).requires_grad_();
  Optimizer optimizer(spec, {{"w", w}, {"b", b}});
  for (std::int64_t step = 0; step < 24; ++step) {
    w.mutable_grad() = (ramp(8) * 37 + step * 11).remainder(64).to(at::kFloat) / 64 - 0.5;
    b.mutable_grad() =
        step % 3 == 0 ? at::Tensor() : (ramp(3) * 29 + step * 7).remainder(32).to(at::kFloat) / 32 - 0.5;
    optimizer.step();
  }
  EXPECT_EQ(optimizer.updates(), 24);
  return bits_of({w, b});
}

// Without fused multiply-adds PyTorch's own numbers are others.
class OptimizerTest : public testing::Test {
 protected:
  void SetUp() override {
    if (at::get_cpu_capability() == "DEFAULT") GTEST_SKIP() << "the numbers are of vector kernels";
  }
};

TEST_F(OptimizerTest, Sgd) {
  EXPECT_EQ(train({.kind = OptimizerKind::kSgd, .learning_rate = 0.05}),
            (Bits{0xbeb1999a, 0xbe880000, 0xbdaccccd, 0xbb4ccccf, 0x3e366667, 0x3e566666, 0x3ec80000,
                  0x3f059999, 0x3e999999, 0x3f066665, 0x3f400000}));
}

TEST_F(OptimizerTest, SgdWithMomentumAndDecay) {
  EXPECT_EQ(
      train({.kind = OptimizerKind::kSgd, .learning_rate = 0.05, .momentum = 0.9, .weight_decay = 0.01}),
      (Bits{0x3e02adcb, 0xbefd3d52, 0x3e81c17f, 0xbdda553f, 0x3eede102, 0x3dd703ac, 0x3ea51e60, 0x3f1feb5d,
            0x3eea4e1e, 0x3f4a0c58, 0x3f642d7b}));
}

TEST_F(OptimizerTest, AdamW) {
  EXPECT_EQ(train({.kind = OptimizerKind::kAdamW, .learning_rate = 0.003, .weight_decay = 0.01}),
            (Bits{0xbeb4fb8b, 0xbe879246, 0xbdda7b1f, 0xbc054889, 0x3e0f463e, 0x3e7c058a, 0x3ebdbdc8,
                  0x3f033387, 0x3e85f95b, 0x3f040dc9, 0x3f42a8a7}));
}

TEST_F(OptimizerTest, AdamWWithOtherConstants) {
  EXPECT_EQ(
      train({.kind = OptimizerKind::kAdamW, .learning_rate = 0.1, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-4}),
      (Bits{0x3e366d32, 0xbf2c7d1f, 0x3ec0bfe8, 0xbe4c4796, 0x3f12785c, 0x3d994d5c, 0x3ea615a1, 0x3f4bf519,
            0x3f20ad9f, 0x3f741ed2, 0x3f824f27}));
}

TEST(Optimizer, NeedsAParameter) { EXPECT_THROW(Optimizer({.learning_rate = 1}, {}), std::invalid_argument); }

}  // namespace
}  // namespace ampgate::cases
