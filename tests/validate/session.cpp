#include "session.h"

#include <ATen/ATen.h>

#include "cases/fills.h"

namespace ampgate::validate {

using cases::Facts;
using cases::Fill;
using cases::Outputs;
using cases::Shape;
using cases::State;

cases::Case matmul_case(Outputs (*run)(State&)) {
  return {
      .name = "test-matmul",
      .dims = {"m", "n", "k"},
      .suites = {{"smoke", {{8, 8, 8}}}},
      .outputs = {"out"},
      .setup = [](const Shape& shape, const Fill& fill) -> State {
        return {{{"a", fill.normal("a", {shape["m"], shape["k"]})},
                 {"b", fill.normal("b", {shape["k"], shape["n"]})}}};
      },
      .run = run,
      .facts = [](const Shape& shape) -> Facts {
        return {.bound = {.family = cases::Family::kInnerProduct,
                          .length = shape["k"],
                          .reduced = {{0, 1}, {1, 0}}},
                .independent = {{0, {{0, 0}}}, {1, {{1, 1}}}}};
      },
  };
}

}  // namespace ampgate::validate
