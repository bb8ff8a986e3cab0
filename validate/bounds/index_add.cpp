// index_add adds rows one after another into a tensor of its own type: its contract is that type's
// accumulation, so u is the unit roundoff of the tensor. E = min(λ·u·T, γ_K·S), K the number of rows that
// reach an element, plus its own.
#include "precision/precision.h"
#include "validate/bounds/common.h"
#include "validate/bounds/families.h"

namespace ampgate::validate::bounds {

Bound index_add(const BoundContext& context, std::size_t /*output*/) {
  const at::Tensor& self = operand(context, "self");
  const std::int64_t dim = dimensions(context, self.dim()).front();
  const at::Tensor source = operand(context, "source").movedim(dim, 0);
  const at::Tensor index = operand(context, "index").to(at::kLong).contiguous();

  // In the order of the index, with the rows first: a row and all that is added to it, one below the other.
  const at::Tensor rows = self.movedim(dim, 0);
  at::Tensor y = at::empty(rows.sizes(), at::kDouble);
  at::Tensor absolute = at::empty_like(y);
  at::Tensor squares = at::empty_like(y);
  at::Tensor prefix_squares = at::empty_like(y);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(y.dim()), 1);
  sizes[0] = y.size(0);
  at::Tensor length = at::ones(sizes, at::kDouble);
  std::vector<std::vector<std::int64_t>> met(static_cast<std::size_t>(y.size(0)));
  for (std::int64_t i = 0; i < index.numel(); ++i) {
    met[static_cast<std::size_t>(index.const_data_ptr<std::int64_t>()[i])].push_back(i);
  }
  for (std::int64_t row = 0; row < y.size(0); ++row) {
    const at::Tensor which = at::tensor(met[static_cast<std::size_t>(row)], at::kLong);
    const at::Tensor terms = at::cat({rows.narrow(0, row, 1), source.index_select(0, which)});
    const at::Tensor partial = terms.cumsum(0);
    y[row].copy_(partial[-1]);
    absolute[row].copy_(terms.abs().sum(0));
    squares[row].copy_(terms.square().sum(0));
    prefix_squares[row].copy_(partial.square().sum(0));
    length[row].fill_(static_cast<double>(terms.size(0)));
  }
  const Sums sums{y, absolute, squares, prefix_squares};

  const double unit = unit_of(context.output_type);
  Bound bound;
  const at::Tensor certain = certain_error(sums, length, unit);
  bound.hard = explaining(certain, length, unit);
  bound.hard_source = "another order of summation";
  bound.error = at::minimum(probable_error(sums, length, unit, context.rules.bounds.lambda, false), certain);
  bound.error = bound.error.movedim(0, dim);
  bound.hard = bound.hard.movedim(0, dim);
  bound.criterion = "index_add bound";
  bound.source = "min(lambda u T, gamma_K S), u of the tensor's own type";
  if (is_16_bit(context.output_type)) {
    bound.finding = "index_add accumulates in " + precision::type_name(context.output_type) +
                    ": its error grows with the number of rows that meet";
  }
  return bound;
}

}  // namespace ampgate::validate::bounds
