// o = softmax(q·kᵀ/√D + mask)·v. E = λ·u_P·‖p∘v‖₂ + u32·λ√n·A + Σ_k p_k δ_k (|v_k| + |o|):
// - rounding of the probabilities, in the type in which the second product takes them (u_P): errors of about
// 0.42·u_P·p,
//   independent of each other, hence the 2-norm. A form A·u_P would hide a dropped key; half of this one was
//   exceeded by one output in 17 million of a correct BF16 kernel.
// - the sums over n keys, A = Σ p|v|,
// - what an error δ_k of a score does to its probability and to the sum that they are divided by.
#include <cmath>

#include "validate/bounds/common.h"
#include "validate/bounds/families.h"

namespace ampgate::validate::bounds {
namespace {

// Error of the scaled scores q (rows, D) times k (n, D): their inner-product E over D, and a few roundings of
// the scaling and of the exponent's argument.
at::Tensor score_error(const BoundContext& context, const at::Tensor& query, const at::Tensor& key,
                       double scale, const at::Tensor& scores) {
  const auto& rules = context.rules.bounds;
  const std::int64_t depth = query.size(-1);
  Sums sums{at::matmul(query, key.t()), {}, at::matmul(query.square(), key.square().t()), {}};
  at::Tensor partial = at::zeros_like(sums.y);
  sums.prefix_squares = at::zeros_like(sums.y);
  const std::int64_t step = std::max<std::int64_t>(1, depth / 8);
  for (std::int64_t start = 0; start < depth; start += step) {
    const std::int64_t count = std::min(step, depth - start);
    partial.add_(at::matmul(query.narrow(-1, start, count), key.narrow(-1, start, count).t()));
    sums.prefix_squares.addcmul_(partial, partial, static_cast<double>(count));
  }
  // Scaled operands are rounded whatever their type.
  at::Tensor error =
      probable_error(sums, scalar(static_cast<double>(depth)), kUnitFp32, rules.lambda, true).mul_(scale);
  at::Tensor rounded = (scores.amax(-1, true) - scores).add_(scores.abs()).add_(1.0);
  // A masked key (-inf) has p = 0 exactly, and a row without any key gives 0.
  rounded.masked_fill_(rounded.isfinite().logical_not_(), 0.0);
  return error.add_(rounded, rules.c * kUnitFp32);
}

// E for rows of queries (rows, D) against keys and values (n, D); `mask` (rows, n) may be undefined.
at::Tensor rows_error(const BoundContext& context, const at::Tensor& query, const at::Tensor& key,
                      const at::Tensor& value, const at::Tensor& mask) {
  const auto& rules = context.rules.bounds;
  const double scale = 1.0 / std::sqrt(static_cast<double>(query.size(-1)));
  at::Tensor scores = at::matmul(query, key.t()).mul_(scale);
  if (mask.defined()) scores.add_(mask);
  at::Tensor p = scores.softmax(-1);
  if (mask.defined()) p.masked_fill_(scores.amax(-1, true).eq(-INFINITY), 0.0);
  const at::Tensor magnitude = value.abs();
  const at::Tensor output = at::matmul(p, value).abs_();
  const at::Tensor weighted = p * score_error(context, query, key, scale, scores);

  const double unit_p = is_16_bit(context.output_type) ? unit_of(context.output_type) : kUnitFp32;
  const double sums = kUnitFp32 * rules.lambda * std::sqrt(static_cast<double>(key.size(0)));
  at::Tensor error = at::matmul(p.square(), value.square()).sqrt_().mul_(rules.lambda * unit_p);
  error.add_(at::matmul(p, magnitude), sums);
  return error.add_(at::matmul(weighted, magnitude)).add_(output.mul_(weighted.sum(-1, true)));
}

// The matrices of a (..., L, S) tensor in order, as views.
std::vector<at::Tensor> heads_of(const at::Tensor& tensor) {
  if (tensor.dim() == 2) return {tensor};
  std::vector<at::Tensor> heads;
  for (const at::Tensor& part : tensor.unbind(0)) {
    const auto inner = heads_of(part);
    heads.insert(heads.end(), inner.begin(), inner.end());
  }
  return heads;
}

}  // namespace

Bound attention(const BoundContext& context, std::size_t output) {
  const auto heads = [&](std::string_view name) {
    const at::Tensor& tensor = operand(context, name);
    return tensor.reshape({-1, tensor.size(-2), tensor.size(-1)});
  };
  const at::Tensor query = heads("query");
  const at::Tensor key = heads("key");
  const at::Tensor value = heads("value");
  // (heads, L, S), without a copy for heads that share one.
  at::Tensor mask;
  if (const at::Tensor* given = optional_operand(context, "mask")) {
    std::vector<std::int64_t> sizes = operand(context, "query").sizes().vec();
    sizes.back() = key.size(1);
    mask = given->expand(sizes);
  }
  const std::vector<at::Tensor> masks = mask.defined() ? heads_of(mask) : std::vector<at::Tensor>();
  at::Tensor error = at::empty({query.size(0), query.size(1), value.size(2)}, at::kDouble);
  // A few matrices of (rows, n) live at once: keep each at about 32 MiB.
  const std::int64_t rows = std::max<std::int64_t>(1, (std::int64_t{1} << 22) / key.size(1));
  for (std::int64_t head = 0; head < query.size(0); ++head) {
    for (std::int64_t start = 0; start < query.size(1); start += rows) {
      const std::int64_t count = std::min(rows, query.size(1) - start);
      error[head]
          .narrow(0, start, count)
          .copy_(rows_error(
              context, query[head].narrow(0, start, count), key[head], value[head],
              masks.empty() ? at::Tensor() : masks[static_cast<std::size_t>(head)].narrow(0, start, count)));
    }
  }
  Bound bound;
  bound.error = error.view_as(context.oracle[output]);
  bound.criterion = "attention bound";
  bound.source = "lambda u_P ||p v||_2 + u32 lambda sqrt n sum p|v| + sum p delta (|v| + |o|)";
  return bound;
}

}  // namespace ampgate::validate::bounds
