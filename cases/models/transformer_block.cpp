// One encoder block with random weights.
#include "cases/case.h"
#include "cases/fills.h"
#include "cases/models/transformer.h"

namespace ampgate::cases {
namespace {

State setup(const Shape& shape, const Fill& fill) {
  State state{{{"x", fill.normal("x", {shape["batch"], shape["length"], shape["width"]})}}};
  transformer::add_weights(state, fill, shape["width"]);
  return state;
}

Facts facts(const Shape& shape) {
  return {.flops = 2.0 * transformer::products(shape),
          .bound = {.family = Family::kModel},
          .meaning = Meaning::kRegression,
          .independent = {{0, {{transformer::kX, 0}}}}};
}

const Registration registration{{
    .name = "transformer_block",
    .dims = {"batch", "length", "width"},
    .suites = {{"smoke", {{2, 11, 32}}}, {"standard", {{2, 64, 256}}}, {"large", {{16, 2048, 1024}}}},
    .outputs = {"out"},
    .setup = setup,
    .run = transformer::block<transformer::fused_attention>,
    .facts = facts,
    .reference_run = transformer::block<attention_by_definition>,
    .model = true,
    .misfit = transformer::misfit,
}};

}  // namespace
}  // namespace ampgate::cases
