// Two scores of 1.0000 and 1.0003: FP32 tells them apart, and in FP16 and BF16 both are 1.
#include <ATen/ops/linear.h>
#include <ATen/ops/tensor.h>

#include "cases/case.h"
#include "cases/fills.h"
#include "cases/models/layers.h"
#include "precision/region.h"

namespace ampgate::cases {
namespace {

enum : std::size_t { kX, kLabels, kWeight };

// Rows in turn: a near tie for class 1, the same for class 0, and two clear decisions.
State setup(const Shape& shape, const Fill&) {
  const at::Tensor rows = at::tensor({1.0, 1.0003, 1.0003, 1.0, 0.25, 0.75, 0.875, 0.125}).view({4, 2});
  const std::int64_t batch = shape["batch"];
  const at::Tensor turn = at::arange(batch, at::kLong).remainder(4);
  return {{{"x", rows.to(at::kFloat).index_select(0, turn)},
           {"labels", at::tensor({1, 0, 1, 0}, at::kLong).index_select(0, turn)},
           {"weight", at::eye(2), Role::kWeight}}};
}

at::Tensor scores(const at::Tensor& x, const at::Tensor& weight) { return at::linear(x, weight); }

Outputs run(State& state) { return {precision::region("scores", scores, state[kX], state[kWeight])}; }

Facts facts(const Shape& shape) { return classifier_facts(8.0 * static_cast<double>(shape["batch"])); }

const Registration registration{{
    .name = "tie_scores",
    .dims = {"batch"},
    .suites = {{"examples", {{8}}}},
    .outputs = {"scores"},
    .setup = setup,
    .run = run,
    .facts = facts,
    .model = true,
    .shape_prefix = "batch",
}};

}  // namespace
}  // namespace ampgate::cases
