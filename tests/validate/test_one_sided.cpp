// Rounding to one side: truncation is told from stored intermediates and from rounding to nearest.
#include "validate/one_sided.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "cases/fills.h"
#include "local_cases.h"
#include "precision/formats.h"
#include "session.h"
#include "validate/case_run.h"

namespace ampgate::validate {
namespace {

using cases::Outputs;
using cases::State;

at::Tensor truncated(const at::Tensor& fp64, c10::ScalarType type) {
  const at::Tensor rounded = precision::round_tensor(fp64, type);
  const at::Tensor too_far = rounded.to(at::kDouble).abs().gt(fp64.abs());
  return at::where(too_far, rounded.view(at::kShort).sub(1).view(type), rounded);
}

const at::Tensor& exact_values() {
  static const at::Tensor values =
      cases::Fill(1, "one-sided", "4096").uniform("x", {4096}, 1.0, 2.0).to(at::kDouble).rsqrt();
  return values;
}

TEST(OneSided, TruncationIsFoundInBothFormats) {
  for (const auto type : {at::kHalf, at::kBFloat16}) {
    EXPECT_EQ(one_sided_rounding(precision::round_tensor(exact_values(), type), exact_values()), "");
    EXPECT_NE(one_sided_rounding(truncated(exact_values(), type), exact_values()), "");
    EXPECT_NE(one_sided_rounding(truncated(-exact_values(), type), -exact_values()), "");
    // A root that is stored in 16 bit errs by more, but to both sides.
    const at::Tensor root = precision::round_tensor(exact_values().reciprocal(), type).to(at::kDouble);
    EXPECT_EQ(one_sided_rounding(precision::round_tensor(root.reciprocal(), type), exact_values()), "");
  }
}

TEST(OneSided, EqualResultsAreOneToss) {
  const at::Tensor same = at::full({4096}, 0.3, at::kDouble);
  EXPECT_EQ(one_sided_rounding(truncated(same, at::kHalf), same), "");
  const at::Tensor few = exact_values().narrow(0, 0, 127).repeat({8});
  EXPECT_EQ(one_sided_rounding(truncated(few, at::kHalf), few), "");
}

TEST(OneSided, Fp32AndNonFiniteResultsSayNothing) {
  EXPECT_EQ(one_sided_rounding(exact_values().to(at::kFloat), exact_values()), "");
  const at::Tensor infinite = at::full({4096}, INFINITY, at::kHalf);
  EXPECT_EQ(one_sided_rounding(infinite, exact_values()), "");
}

// The bound of rsqrt allows a root stored in 16 bit, within which truncation fits.
TEST(OneSided, TruncatingRsqrtIsRefused) {
  CpuSession cpu;
  cases::Case definition = cases::registry().at("rsqrt");
  definition.run = [](State& state) -> Outputs {
    const at::Tensor exact = state[0].to(at::kDouble).rsqrt();
    if (state[0].scalar_type() == at::kDouble) return {exact};
    return {state[0].scalar_type() == at::kFloat ? exact.to(at::kFloat)
                                                 : truncated(exact, state[0].scalar_type())};
  };
  const auto shape = definition.shape({1001});
  CaseRun run(cpu.session, definition, shape, /*with_edges=*/false);
  for (const char* name : {"cast-fp16", "cast-bf16"}) {
    const auto body = run.judge(precision::find(name));
    EXPECT_EQ(body.at("verdict"), "inaccurate") << name << ' ' << body.at("reason");
    EXPECT_NE(body.at("reason").get<std::string>().find("nearer to zero"), std::string::npos)
        << body.at("reason");
  }
}

}  // namespace
}  // namespace ampgate::validate
