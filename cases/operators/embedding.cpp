#include <ATen/ops/embedding.h>

#include "cases/case.h"
#include "cases/fills.h"

namespace ampgate::cases {
namespace {

enum : std::size_t { kWeight, kIndex };

const Registration registration{{
    .name = "embedding",
    .dims = {"tokens", "vocabulary", "width"},
    .suites = {{"smoke", {{13, 101, 33}}},
               {"standard", {{2048, 16384, 512}}},
               {"large", {{32768, 131072, 4096}}}},
    .outputs = {"out"},
    .setup = [](const Shape& shape, const Fill& fill) -> State {
      return {{{"weight", fill.normal("weight", {shape["vocabulary"], shape["width"]}), Role::kWeight},
               {"index", fill.integers("index", {shape["tokens"]}, 0, shape["vocabulary"])}}};
    },
    .run = [](State& state) -> Outputs { return {at::embedding(state[kWeight], state[kIndex])}; },
    .facts = [](const Shape& shape) -> Facts {
      // One row for each token; the few tokens that come twice are counted twice.
      return {.bound = {.family = Family::kExact},
              .elements_read = {{kWeight, shape.product({"tokens", "width"})}},
              .independent = {{0, {{kIndex, 0}}}, {1, {{kWeight, 1}}}}};
    },
}};

}  // namespace
}  // namespace ampgate::cases
