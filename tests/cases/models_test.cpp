// What the models are good for: quality on held-out data, and regions that can become FP32 islands.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "cases/attention.h"
#include "cases/data.h"
#include "cases/execute.h"
#include "cases/fills.h"
#include "precision/region.h"

namespace ampgate::cases {
namespace {

struct Answer {
  State state;
  at::Tensor output;
};

Answer answer(const std::string& name, const std::vector<std::int64_t>& sizes,
              std::string_view precision = "fp32") {
  const at::NoGradGuard no_grad;
  const Case& definition = registry().find(name)->second;
  const Shape shape = definition.shape(sizes);
  State state =
      prepare(definition.setup(shape, Fill(1, name, shape.name)), precision::find(precision), at::kCPU);
  Outputs outputs = execute(definition, state, precision::find(precision), at::kCPU);
  return {state, outputs[0]};
}

TEST(DigitsClassifier, IsRightOnHeldOutImages) {
  const auto [state, scores] = answer("digits_classifier", {512});
  const double accuracy = (scores.argmax(1) == *state.find("labels")).to(at::kDouble).mean().item<double>();
  EXPECT_GE(accuracy, 0.97);
}

TEST(DigitsClassifier, RepeatsTheHeldOutImagesInALargeBatch) {
  const auto [state, scores] = answer("digits_classifier", {520});
  EXPECT_TRUE(at::equal(state[0].slice(0, 0, 8), state[0].slice(0, 512)));
  EXPECT_FALSE(at::equal(state[0].slice(0, 0, 8), state[0].slice(0, 8, 16)));
}

TEST(DigitsClassifier, DataAreTheImagesOfTheSource) {
  const auto data = load_safetensors(data_file("digits.safetensors"));
  EXPECT_EQ(data.at("images").sizes(), (at::IntArrayRef{1797, 8, 8}));
  EXPECT_EQ(data.at("images").max().item<int>(), 16);
  // The first image as the dataset's own file prints it, and the first labels: 0, 1, 2...
  const auto row = at::tensor({0, 0, 5, 13, 9, 1, 0, 0}, at::kByte);
  EXPECT_TRUE(at::equal(data.at("images")[0][0], row));
  EXPECT_TRUE(at::equal(data.at("labels").slice(0, 0, 10), at::arange(10, at::kLong)));
}

// Predicting the mean alone gives 76.
TEST(MlpRegressor, PredictsHeldOutPatients) {
  const auto [state, prediction] = answer("mlp_regressor", {128});
  const double rmse = std::sqrt((prediction - *state.find("targets")).square().mean().item<double>());
  EXPECT_LT(rmse, 62.0);
}

TEST(Regions, OfModelsCanBeIslands) {
  EXPECT_EQ(answer("digits_classifier", {3}, "autocast-fp16").output.scalar_type(), at::kHalf);
  const precision::IslandScope islands({"fc2"});
  EXPECT_EQ(answer("digits_classifier", {3}, "autocast-fp16").output.scalar_type(), at::kFloat);
}

TEST(Attention, ByDefinitionIsTheFusedOperatorOnFiniteInputs) {
  const Fill fill(1, "attention", "test");
  const auto part = [&](const char* name) { return fill.normal(name, {2, 3, 17, 8}).to(at::kDouble); };
  const at::Tensor expected = at::scaled_dot_product_attention(part("q"), part("k"), part("v"));
  const at::Tensor actual = attention_by_definition(part("q"), part("k"), part("v"));
  EXPECT_LT((actual - expected).abs().max().item<double>(), 1e-13);
}

TEST(Attention, ByDefinitionKeepsNaN) {
  const at::Tensor key = at::ones({1, 1, 4, 8}, at::kDouble);
  at::Tensor query = key.clone();
  query[0][0][2][3] = std::nan("");
  const at::Tensor nan = attention_by_definition(query, key, key).isnan();
  EXPECT_TRUE(nan[0][0][2].all().item<bool>());
  EXPECT_EQ(nan.sum().item<std::int64_t>(), 8);
}

}  // namespace
}  // namespace ampgate::cases
