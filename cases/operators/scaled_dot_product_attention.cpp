#include <ATen/ops/scaled_dot_product_attention.h>

#include "cases/attention.h"
#include "cases/case.h"
#include "cases/fills.h"

namespace ampgate::cases {
namespace {

enum : std::size_t { kQuery, kKey, kValue };

// Flops: the two products; the softmax between them is left out, as in published counts.
const Registration registration{{
    .name = "scaled_dot_product_attention",
    .dims = {"batch", "heads", "length", "width"},
    .suites = {{"smoke", {{2, 3, 37, 24}}}, {"standard", {{1, 8, 256, 64}}}, {"large", {{1, 16, 4096, 128}}}},
    .outputs = {"out"},
    .setup = [](const Shape& shape, const Fill& fill) -> State {
      const std::vector<std::int64_t> sizes{shape["batch"], shape["heads"], shape["length"], shape["width"]};
      return {{{"query", fill.normal("query", sizes)},
               {"key", fill.normal("key", sizes)},
               {"value", fill.normal("value", sizes)}}};
    },
    .run = [](State& state) -> Outputs {
      return {at::scaled_dot_product_attention(state[kQuery], state[kKey], state[kValue])};
    },
    .facts = [](const Shape& shape) -> Facts {
      return {.flops = 4.0 * shape.product({"batch", "heads", "length", "length", "width"}),
              .bound = {.family = Family::kAttention, .length = shape["length"]},
              .independent = {{0, {{kQuery, 0}, {kKey, 0}, {kValue, 0}}},
                              {1, {{kQuery, 1}, {kKey, 1}, {kValue, 1}}},
                              {2, {{kQuery, 2}}}}};
    },
    .reference_run = [](State& state) -> Outputs {
      return {attention_by_definition(state[kQuery], state[kKey], state[kValue])};
    },
}};

}  // namespace
}  // namespace ampgate::cases
