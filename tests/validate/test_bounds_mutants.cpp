// Faults that the bounds must see: each is made from a correct trial and must not be accepted.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "local_cases.h"
#include "trial.h"

namespace ampgate::validate {
namespace {

const std::vector<std::string> kPrecisions{"fp32", "autocast-fp16", "autocast-bf16", "cast-fp16",
                                           "cast-bf16"};

void expect_refused(const Trial& trial, const at::Tensor& output, const std::string& what) {
  const Comparison c = trial.judge(output.to(trial.outputs[0].scalar_type()));
  EXPECT_TRUE(c.rejected > 0 || c.between > 0)
      << trial.definition.name << ", " << what << ": " << describe(c);
}

// Beyond every order of summation as well.
void expect_rejected(const Trial& trial, const at::Tensor& output, const std::string& what) {
  const Comparison c = trial.judge(output.to(trial.outputs[0].scalar_type()));
  EXPECT_GT(c.rejected, 0) << trial.definition.name << ", " << what << ": " << describe(c);
}

// FP64 inputs as the operator saw them, exactly representable in its type.
at::Tensor seen(const Trial& trial, std::size_t number, c10::ScalarType type) {
  return trial.inputs.state[number].to(type);
}

// Mutants of the output that fit every operator.
TEST(Mutants, OfTheOutputAreRejectedInEveryCase) {
  for (const auto& [name, definition] : cases::registry()) {
    if (definition.model || definition.suites[0].suite == "examples") continue;  // those go wrong on purpose
    const auto& sizes = definition.suites[0].shapes[0];
    if (!has_bound(definition.facts(definition.shape(sizes)).bound.family)) continue;
    for (const auto& precision : {"fp32", "cast-fp16", "cast-bf16"}) {
      SCOPED_TRACE(precision);
      const Trial trial(definition, sizes, precision);
      const at::Tensor good = trial.rounded_oracle();
      expect_rejected(trial, at::zeros_like(good), "zeros");
      expect_rejected(trial, -good, "other sign");
      expect_rejected(trial, good * 1.05, "five per cent larger");
      const auto changed = [&](double value) {
        at::Tensor mutant = good.clone();
        mutant.flatten()[mutant.numel() / 2] = value;
        return mutant;
      };
      for (const double value : {std::nan(""), std::numeric_limits<double>::infinity(), -1e4})
        expect_rejected(trial, changed(value), "one wrong");
      if (good.numel() == 1) continue;
      expect_rejected(trial, at::full_like(good, good.flatten()[0].item<double>()), "constant");
      expect_rejected(trial, good.flatten().roll(1).view_as(good), "shifted by one");
      if (good.dim() > 1 && good.size(0) > 1) expect_rejected(trial, good.roll(1, 0), "rows permuted");
      const Trial other(definition, sizes, precision, 77);
      expect_rejected(trial, other.rounded_oracle(), "of other inputs");
    }
  }
}

TEST(Mutants, SixteenBitResultsTruncatedInsteadOfRounded) {
  for (const auto& precision : {"cast-fp16", "cast-bf16"}) {
    for (const auto& [name, sizes] :
         std::map<std::string, std::vector<std::int64_t>>{{"matmul", {64, 64, 512}},
                                                          {"sum", {200, 100}},
                                                          {"exp", {2000}},
                                                          {"softmax", {50, 100}},
                                                          {"layer_norm", {50, 100}},
                                                          {"silu", {2000}}}) {
      const Trial trial(name, sizes, precision);
      const at::Tensor rounded = trial.rounded_oracle();
      // Towards zero: one value nearer to zero where rounding went away from it.
      const at::Tensor away = rounded.to(at::kDouble).abs().gt(trial.oracle[0].abs());
      const at::Tensor truncated =
          (rounded.view(at::kShort) - away.to(at::kShort)).view(rounded.scalar_type());
      expect_refused(trial, truncated, std::string("truncated, ") + precision);
    }
  }
}

// Adds up in the type of the operands, one product after another.
at::Tensor accumulated(const at::Tensor& a, const at::Tensor& b) {
  at::Tensor sum = at::zeros({a.size(0), b.size(1)}, a.options());
  for (std::int64_t k = 0; k < a.size(1); ++k) sum.add_(a.narrow(1, k, 1) * b.narrow(0, k, 1));
  return sum;
}

TEST(Mutants, OfMatmul) {
  for (const std::int64_t length : {512, 2048, 8192}) {
    const std::vector<std::int64_t> sizes{16, 32, length};
    for (const auto type : {at::kHalf, at::kBFloat16}) {
      const Trial trial("matmul", sizes, type == at::kHalf ? "cast-fp16" : "cast-bf16");
      const at::Tensor a = seen(trial, 0, type);
      const at::Tensor b = seen(trial, 1, type);
      expect_refused(trial, accumulated(a, b), "16-bit accumulation");
      at::Tensor split = at::zeros({16, 32}, a.options());
      for (std::int64_t k = 0; k < length; k += length / 4) {
        split.add_(at::matmul(a.narrow(1, k, length / 4), b.narrow(0, k, length / 4)));
      }
      expect_refused(trial, split, "16-bit split-K partials");
      expect_rejected(trial, at::matmul(a.narrow(1, 0, length - 16), b.narrow(0, 0, length - 16)),
                      "dropped K block");
    }

    const Trial trial("matmul", sizes, "fp32");
    const auto ten_bits = [&](std::size_t number, std::int32_t half) {
      // TF32 keeps 10 explicit bits: round to nearest, or truncate.
      return ((seen(trial, number, at::kFloat).view(at::kInt) + half).__and__(~0x1FFF)).view(at::kFloat);
    };
    expect_refused(trial, at::matmul(ten_bits(0, 0x1000), ten_bits(1, 0x1000)), "TF32");
    expect_refused(trial, at::matmul(ten_bits(0, 0), ten_bits(1, 0)), "truncated TF32");
    expect_refused(trial, at::matmul(seen(trial, 0, at::kBFloat16), seen(trial, 1, at::kBFloat16)),
                   "through BF16");
    const at::Tensor a = seen(trial, 0, at::kFloat);
    const at::Tensor b = seen(trial, 1, at::kFloat);
    expect_rejected(trial, at::matmul(a.narrow(1, 0, length - 16), b.narrow(0, 0, length - 16)),
                    "dropped K block");
    expect_rejected(trial, at::matmul(a.narrow(1, 0, length - 1), b.narrow(0, 0, length - 1)),
                    "dropped last term");
    if (length == 512) expect_rejected(trial, at::matmul(a, b).t().reshape({16, 32}), "transposed");
  }
}

TEST(Mutants, OfBiasedLinearAndConvolution) {
  const auto locals = local_cases();
  for (const auto& precision : kPrecisions) {
    const Trial linear(locals[0].definition, {5, 77, 11}, precision);
    const auto& x = linear.inputs.state;
    expect_rejected(linear, at::linear(x[0], x[1]), "missing bias");
    expect_rejected(linear, at::linear(x[0], x[1], x[2].roll(1)), "shifted bias");
    const Trial conv("conv2d", {2, 5, 7, 9, 11, 3}, precision);
    const auto& c = conv.inputs.state;
    expect_rejected(conv, at::conv2d(c[0], c[1].flip({2}), {}, 1, 1), "kernel upside down");
    expect_rejected(conv, at::conv2d(at::replication_pad2d(c[0], {1, 1, 1, 1}), c[1]), "wrong padding");
    at::Tensor no_corner = c[1].clone();
    no_corner.select(2, 0).select(2, 0).zero_();
    expect_rejected(conv, at::conv2d(c[0], no_corner, {}, 1, 1), "missing tap");
  }
}

TEST(Mutants, OfSums) {
  for (const auto& precision : kPrecisions) {
    const Trial sum("sum", {20, 300}, precision);
    const at::Tensor x = sum.inputs.state[0];
    expect_rejected(sum, x.narrow(1, 0, 299).sum(1), "dropped last term");
    const Trial mean("mean", {20, 300}, precision);
    expect_rejected(mean, x.sum(1) / 299, "divided by n - 1");
    const Trial cumsum("cumsum", {20, 300}, precision);
    expect_rejected(cumsum, x.cumsum(1) - x, "exclusive");
    at::Tensor restarted = x.cumsum(1);
    restarted.narrow(1, 256, 44).sub_(restarted.narrow(1, 255, 1).clone());
    expect_rejected(cumsum, restarted, "carry lost between blocks");
  }
  for (const auto type : {at::kHalf, at::kBFloat16}) {
    const Trial trial("sum", {40, 1000}, type == at::kHalf ? "cast-fp16" : "cast-bf16");
    const at::Tensor x = seen(trial, 0, type);
    expect_refused(trial, accumulated(x, at::ones({1000, 1}, x.options())).squeeze(1), "16-bit accumulation");
  }
}

TEST(Mutants, OfNormalisations) {
  for (const auto& precision : kPrecisions) {
    const Trial layer("layer_norm", {20, 300}, precision);
    const auto& l = layer.inputs.state;
    const double eps = layer.facts.bound.eps;
    expect_rejected(layer, at::layer_norm(l[0], {300}, l[1]), "missing bias");
    expect_rejected(layer, at::layer_norm(l[0], {300}, {}, l[2], eps), "missing weight");
    expect_rejected(layer, at::layer_norm(l[0], {300}, l[1], l[2], 0.01), "wrong eps");
    const at::Tensor centred = l[0] - l[0].mean(1, true);
    expect_rejected(layer, centred / (l[0].var(1, true, true) + eps).sqrt() * l[1] + l[2],
                    "variance over n - 1");
    const Trial rms("rms_norm", {20, 300}, precision);
    const auto& r = rms.inputs.state;
    expect_rejected(rms, at::rms_norm(r[0], {300}, r[1], 0.01), "wrong eps");
    expect_rejected(rms, at::layer_norm(r[0], {300}, r[1]), "mean taken off");
    const Trial group("group_norm", {2, 16, 9, 9}, precision);
    const auto& g = group.inputs.state;
    expect_rejected(group, at::group_norm(g[0], 1, g[1], g[2]), "wrong groups");
    const Trial batch("batch_norm", {4, 5, 9, 9}, precision);
    const auto& b = batch.inputs.state;
    expect_rejected(batch, at::batch_norm(b[0], b[3], b[4], b[1], b[2], false, 0.1, 0.02, false),
                    "wrong eps");
    expect_rejected(batch, at::batch_norm(b[0], b[3], b[4], b[1], b[2], true, 0.1, 1e-5, false),
                    "training mode");
  }
  const Trial layer("layer_norm", {20, 300}, "fp32");
  const auto& l = layer.inputs.state;
  expect_rejected(layer, at::layer_norm(l[0], {300}, l[1], l[2], 1e-4), "wrong eps, slightly");
}

TEST(Mutants, OfSoftmaxAndItsRelatives) {
  for (const auto& precision : kPrecisions) {
    const Trial softmax("softmax", {20, 300}, precision);
    const at::Tensor x = softmax.inputs.state[0];
    expect_rejected(softmax, x.softmax(0), "along the other dimension");
    expect_rejected(softmax, at::constant_pad_nd(x.narrow(1, 0, 292).softmax(1), {0, 8}), "dropped tail");
    expect_rejected(softmax, x.exp() / (x.exp().sum(1, true) + 1.0), "one term too many");
    const Trial log_softmax("log_softmax", {20, 300}, precision);
    expect_rejected(log_softmax, x - x.amax(1, true) - 5.5, "sum left out");
    expect_rejected(log_softmax, x.log_softmax(1) + 0.06, "shifted");
    const Trial loss("cross_entropy", {30, 100}, precision);
    const auto& c = loss.inputs.state;
    expect_rejected(loss, at::cross_entropy_loss(c[0], c[1], {}, at::Reduction::Sum), "sum instead of mean");
    expect_rejected(loss, at::cross_entropy_loss(c[0], (c[1] + 1).remainder(100)), "other targets");
    if (precision != "fp32") continue;
    expect_rejected(loss, at::cross_entropy_loss(c[0], c[1], {}, at::Reduction::Mean, -100, 0.3),
                    "smoothed labels");
  }
}

TEST(Mutants, OfPointwiseFunctions) {
  for (const auto& precision : kPrecisions) {
    const Trial erf("gelu_erf", {4000}, precision);
    expect_rejected(erf, at::gelu(erf.inputs.state[0], "tanh"), "tanh instead of erf");
    const Trial tanh("gelu_tanh", {4000}, precision);
    expect_rejected(tanh, at::gelu(tanh.inputs.state[0], "none"), "erf instead of tanh");
    const Trial silu("silu", {4000}, precision);
    expect_rejected(silu, silu.inputs.state[0] * (silu.inputs.state[0] * 1.01).sigmoid(), "wrong slope");
    const Trial exp("exp", {4000}, precision);
    expect_rejected(exp, exp.inputs.state[0].to(at::kBFloat16).exp() * 1.01, "in BF16");
  }
  const Trial exp("exp", {4000}, "fp32");
  expect_rejected(exp, exp.inputs.state[0].exp() * (1 + 0x1p-20), "an error of sixteen u");
}

TEST(Mutants, OfAttention) {
  for (const auto& precision : kPrecisions) {
    for (const std::int64_t length : {64, 512}) {
      const Trial trial("scaled_dot_product_attention", {1, 2, length, 32}, precision);
      const auto& s = trial.inputs.state;
      const auto attend = [&](const at::Tensor& scores) { return at::matmul(scores.softmax(-1), s[2]); };
      const at::Tensor products = at::matmul(s[0], s[1].transpose(-2, -1));
      const at::Tensor scores = products / std::sqrt(32.0);
      expect_rejected(trial, attend(products / 32.0), "scale 1/d");
      expect_rejected(trial, attend(scores * 1.01), "scale 1 per cent off");
      at::Tensor dropped = scores.clone();
      dropped.select(-1, length - 1).fill_(-INFINITY);
      expect_rejected(trial, attend(dropped), "dropped key");
      expect_rejected(trial,
                      attend(scores.masked_fill(at::ones({length, length}, at::kBool).triu(1), -INFINITY)),
                      "causal");
      at::Tensor p = scores.softmax(-1);
      p.select(-1, 0).zero_();
      expect_rejected(trial, at::matmul(p, s[2]), "value of a key lost");
    }
  }
}

TEST(Mutants, OfIndexAddAndEmbedding) {
  for (const auto& precision : kPrecisions) {
    const Trial trial("index_add", {7, 29, 13}, precision);
    const auto& s = trial.inputs.state;
    expect_rejected(trial, at::index_add(s[0], 0, s[1].narrow(0, 0, 28), s[2].narrow(0, 0, 28)),
                    "dropped row");
    expect_rejected(trial, at::index_copy(s[0], 0, s[1], s[2]), "copied, not added");
    expect_rejected(trial, at::index_add(at::zeros_like(s[0]), 0, s[1], s[2]), "own value lost");
    const Trial embedding("embedding", {13, 101, 33}, precision);
    expect_rejected(embedding, at::embedding(embedding.inputs.state[0], embedding.inputs.state[1].roll(1)),
                    "other rows");
  }
}

}  // namespace
}  // namespace ampgate::validate
