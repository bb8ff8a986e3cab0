// Matrix products: linear, matmul and its relatives, and those that add to a matrix.
#include <ATen/ATen.h>

#include "validate/local/adapter.h"

namespace ampgate::validate::local {
namespace {

using cases::Family;

std::optional<LocalProblem> linear(const LocalCall& call) {
  const at::Tensor& x = call.tensor(0);
  if (call.tensor(1).dim() != 2) return {};
  LocalProblem problem = call.of_itself(
      {.family = Family::kInnerProduct, .length = x.size(-1), .reduced = {{0, x.dim() - 1}, {1, 1}}},
      {{"x", 0}, {"weight", 1}, {"bias", 2}});
  if (x.dim() > 1) problem.independent = {0, {{0, 0}}};
  return problem;
}

// Slices of the output's first dimension: rows of `a`, or matrices of a batch.
std::optional<cases::IndependentAxis> rows_of(const at::Tensor& a, const at::Tensor& b) {
  if (a.dim() < 2) return {};
  if (b.dim() <= 2) return cases::IndependentAxis{0, {{0, 0}}};
  if (a.dim() == b.dim() && a.size(0) == b.size(0)) return cases::IndependentAxis{0, {{0, 0}, {1, 0}}};
  return {};
}

cases::BoundSpec product_of(const at::Tensor& a, const at::Tensor& b) {
  return {.family = Family::kInnerProduct,
          .length = a.size(-1),
          .reduced = {{0, a.dim() - 1}, {1, b.dim() == 1 ? 0 : b.dim() - 2}}};
}

std::optional<LocalProblem> product(const LocalCall& call) {
  const at::Tensor& a = call.tensor(0);
  const at::Tensor& b = call.tensor(1);
  LocalProblem problem = call.of_itself(product_of(a, b), {{"a", 0}, {"b", 1}});
  problem.independent = rows_of(a, b);
  return problem;
}

// beta self + alpha a b. The factors are put into the operands, which are FP64.
std::optional<LocalProblem> added_product(const LocalCall& call) {
  const auto factor = [&](std::string_view name) {
    const auto position = call.find(name);
    return position ? call.number(*position).value_or(1.0) : 1.0;
  };
  const at::Tensor a = call.tensor(1) * factor("alpha");
  const at::Tensor& b = call.tensor(2);
  LocalProblem problem{product_of(a, b), {{{"a", a}, {"b", b}}}, {}, {call.view.outputs.at(0)}};
  problem.independent = rows_of(a, b);
  const double beta = factor("beta");
  if (beta != 0.0) {
    const at::Tensor added = call.tensor(0) * beta;
    problem.state.tensors.push_back({"added", added});
    const bool by_row = added.dim() == call.view.outputs[0].dim() && added.size(0) > 1;
    if (problem.independent && by_row) problem.independent->operands.push_back({2, 0});
  }
  problem.evaluate = [beta](const cases::State& state) -> cases::Outputs {
    const at::Tensor y = at::matmul(state[0], state[1]);
    return {beta == 0.0 ? y : y + state[2]};
  };
  return problem;
}

}  // namespace

void add_products(Adapters& adapters) {
  adapters["linear"] = linear;
  for (const char* name : {"matmul", "mm", "bmm", "mv", "dot", "vdot"}) adapters[name] = product;
  for (const char* name : {"addmm", "addmv", "baddbmm"}) adapters[name] = added_product;
}

}  // namespace ampgate::validate::local
