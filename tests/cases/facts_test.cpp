// Flops against a count of the products: operators run in FP64 on ones add up one for each product.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "cases/case.h"
#include "cases/fills.h"

namespace ampgate::cases {
namespace {

const std::vector<std::string> kOperators{"matmul",
                                          "batched_matmul",
                                          "linear",
                                          "conv2d",
                                          "conv_transpose2d",
                                          "layer_norm",
                                          "rms_norm",
                                          "group_norm",
                                          "batch_norm",
                                          "softmax",
                                          "log_softmax",
                                          "cross_entropy",
                                          "gelu_erf",
                                          "gelu_tanh",
                                          "silu",
                                          "exp",
                                          "sum",
                                          "mean",
                                          "cumsum",
                                          "embedding",
                                          "index_add",
                                          "scaled_dot_product_attention"};

Facts facts_of(const std::string& name, const std::vector<std::int64_t>& sizes) {
  const Case& definition = registry().find(name)->second;
  return definition.facts(definition.shape(sizes));
}

at::Tensor ones(at::IntArrayRef sizes) { return at::ones(sizes, at::kDouble); }

double total(const at::Tensor& products) { return products.sum().item<double>(); }

TEST(Registry, HoldsTheOperatorsAndTheModels) {
  for (const std::string& name : kOperators) EXPECT_TRUE(registry().contains(name)) << name;
  for (const char* name : {"digits_classifier", "mlp_regressor", "transformer_block"}) {
    EXPECT_TRUE(registry().contains(name)) << name;
  }
}

TEST(Flops, OfMatrixProducts) {
  EXPECT_EQ(facts_of("matmul", {5, 7, 3}).flops, 2 * total(at::matmul(ones({5, 3}), ones({3, 7}))));
  EXPECT_EQ(facts_of("batched_matmul", {2, 5, 7, 3}).flops,
            2 * total(at::bmm(ones({2, 5, 3}), ones({2, 3, 7}))));
  EXPECT_EQ(facts_of("linear", {4, 6, 9}).flops, 2 * total(at::linear(ones({4, 6}), ones({9, 6}))));
}

// With the padding as data of its own, all taps are counted.
TEST(Flops, OfConvolutions) {
  const at::Tensor padded = ones({2, 3, 7 + 2, 9 + 2});
  EXPECT_EQ(facts_of("conv2d", {2, 3, 4, 7, 9, 3}).flops, 2 * total(at::conv2d(padded, ones({4, 3, 3, 3}))));
  const at::Tensor uncropped = at::conv_transpose2d(ones({2, 3, 7, 9}), ones({3, 5, 4, 4}), {}, 2);
  EXPECT_EQ(facts_of("conv_transpose2d", {2, 3, 5, 7, 9, 4}).flops, 2 * total(uncropped));
}

TEST(Flops, OfAttention) {
  const at::Tensor parts = ones({2, 3, 11, 5});
  const at::Tensor scores = at::matmul(parts, parts.transpose(-2, -1));
  const double products = total(scores) + total(at::matmul(at::ones_like(scores), parts));
  EXPECT_EQ(facts_of("scaled_dot_product_attention", {2, 3, 11, 5}).flops, 2 * products);
}

// By hand for one batch: convolutions 16 x 9 and 32 x 16 x 9 products at 64 places; layers of 512 x 64 and 64
// x 10.
TEST(Flops, OfModels) {
  EXPECT_EQ(facts_of("digits_classifier", {1}).flops, 2.0 * (9216 + 294912 + 32768 + 640));
  EXPECT_EQ(facts_of("mlp_regressor", {3}).flops, 3 * 2.0 * (640 + 4096 + 64));
  // 22 positions; 3072 + 1024 + 2 * 4096 weights; 2 x 11 x 11 scores of width 32 (heads split it), twice.
  EXPECT_EQ(facts_of("transformer_block", {2, 11, 32}).flops, 2.0 * (22 * 12288 + 2 * 242 * 32));
}

TEST(Facts, EmbeddingReadsOneRowForEachToken) {
  EXPECT_EQ(facts_of("embedding", {13, 101, 33}).elements_read.at(0), 13 * 33);
}

}  // namespace
}  // namespace ampgate::cases
