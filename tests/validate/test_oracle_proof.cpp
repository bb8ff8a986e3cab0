// FP64 kernels that are none.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "validate/case_fault.h"
#include "validate/oracle_proof.h"

namespace ampgate::validate {
namespace {

using cases::Outputs;
using cases::State;

constexpr std::int64_t kRows = 20, kColumns = 300;

at::Tensor ordinary(at::IntArrayRef sizes) {
  return at::sin(at::arange(at::empty(sizes).numel(), at::kDouble).mul_(1.7).add_(0.3))
      .view(sizes)
      .to(at::kFloat);
}

// What is thrown; empty: nothing.
std::string complaint(std::function<Outputs(State&)> unproven,
                      const std::function<Outputs(State&)>& reference = nullptr) {
  const at::NoGradGuard no_grad;
  cases::Case definition;
  definition.name = "mine";
  definition.outputs = {"out"};
  definition.unproven = std::move(unproven);
  State state{{{"x", ordinary({kRows, kColumns})}}};
  State fp64{{{"x", state[0].to(at::kDouble)}}};
  try {
    check_fp64(definition, state, (reference ? reference : definition.unproven)(fp64));
  } catch (const CaseFault& fault) {
    return fault.what();
  }
  return {};
}

at::Tensor sum_of_exp(const at::Tensor& x) { return x.exp().sum(1); }

// Adds up in the type, one after the other.
template <typename T>
Outputs added_in(State& state) {
  const at::Tensor terms = state[0].exp();
  at::Tensor out = at::empty({kRows}, at::kDouble);
  for (std::int64_t i = 0; i < kRows; ++i) {
    T sum = 0;
    for (std::int64_t j = 0; j < kColumns; ++j)
      sum = static_cast<T>(static_cast<double>(sum) + terms.const_data_ptr<double>()[i * kColumns + j]);
    out.mutable_data_ptr<double>()[i] = static_cast<double>(sum);
  }
  return {out};
}

TEST(OracleProof, AFunctionInFp64) {
  EXPECT_EQ(complaint([](State& state) -> Outputs { return {sum_of_exp(state[0])}; }), "");
  EXPECT_EQ(complaint(added_in<double>), "");
  // Kinks, and elements that do not answer at all.
  EXPECT_EQ(complaint([](State& state) -> Outputs { return {state[0].relu()}; }), "");
  EXPECT_EQ(complaint([](State& state) -> Outputs { return {state[0].softmax(1)}; }), "");
  // Steps of the function itself are far apart.
  EXPECT_EQ(complaint([](State& state) -> Outputs { return {state[0].round()}; }), "");
  EXPECT_EQ(complaint([](State& state) -> Outputs { return {state[0].sign()}; }), "");
  // Steep, and flat.
  EXPECT_EQ(complaint([](State& state) -> Outputs { return {(state[0] * 1e4).cos()}; }), "");
  EXPECT_EQ(complaint([](State& state) -> Outputs { return {(state[0] * 1e-6).exp()}; }), "");
  EXPECT_EQ(complaint([](State& state) -> Outputs { return {(state[0] * 50).sigmoid()}; }), "");
}

TEST(OracleProof, FewerDigits) {
  for (const auto& run : {std::function<Outputs(State&)>(added_in<c10::BFloat16>),
                          std::function<Outputs(State&)>(added_in<c10::Half>),
                          std::function<Outputs(State&)>(added_in<float>)}) {
    EXPECT_NE(complaint(run).find("moves in steps"), std::string::npos) << complaint(run);
  }
  const auto in_fp32 = [](State& state) -> Outputs {
    return {sum_of_exp(state[0].to(at::kFloat)).to(at::kDouble)};
  };
  EXPECT_NE(complaint(in_fp32).find("moves in steps"), std::string::npos);
}

TEST(OracleProof, AnotherFunctionThanItsReference) {
  const auto own = [](State& state) -> Outputs {
    at::Tensor out = sum_of_exp(state[0]);
    out[3].add_(0.01);
    return {out};
  };
  const std::string words = complaint(own, [](State& state) -> Outputs { return {sum_of_exp(state[0])}; });
  EXPECT_NE(words.find("out[3]"), std::string::npos) << words;
  EXPECT_NE(words.find("1 of 20 elements differ"), std::string::npos) << words;
}

// y = x * w, with gradients that `by_x` scales.
std::string gradient_complaint(double by_x) {
  const at::NoGradGuard no_grad;
  cases::Case definition;
  definition.name = "mine";
  definition.outputs = {"out", "grad.x", "grad.w"};
  definition.differentiates = true;
  definition.unproven = [by_x](State& state) -> Outputs {
    return {state[0] * state[1], state[2] * state[1] * by_x, state[2] * state[0]};
  };
  const at::Tensor x = ordinary({50});
  State state{{{"x", x}, {"w", x + 1.0}, {"cotangent.out", x.flip(0).contiguous()}}};
  State fp64 = state;
  for (auto& entry : fp64.tensors) entry.tensor = entry.tensor.to(at::kDouble);
  try {
    check_fp64(definition, state, definition.unproven(fp64));
  } catch (const CaseFault& fault) {
    return fault.what();
  }
  return {};
}

TEST(OracleProof, Gradients) {
  EXPECT_EQ(gradient_complaint(1.0), "");
  EXPECT_NE(gradient_complaint(1.02).find("gradient by 'x' is not that of its results"), std::string::npos);
  EXPECT_NE(gradient_complaint(0.0).find("gradient by 'x'"), std::string::npos);
}

}  // namespace
}  // namespace ampgate::validate
