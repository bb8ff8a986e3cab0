#include <ATen/ops/matmul.h>

#include "cases/case.h"
#include "cases/fills.h"

namespace ampgate::cases {
namespace {

enum : std::size_t { kA, kB };

// N: stored row by row. T: the transposed matrix is stored so, and the operand is a view of it.
enum class Order { kN, kT };

at::Tensor matrix(const Fill& fill, const char* name, std::int64_t rows, std::int64_t columns, Order order) {
  return order == Order::kN ? fill.normal(name, {rows, columns}) : fill.normal(name, {columns, rows}).t();
}

Case matmul(const char* name, Order a, Order b, std::vector<SuiteShapes> suites) {
  return {
      .name = name,
      .dims = {"m", "n", "k"},
      .suites = std::move(suites),
      .outputs = {"out"},
      .setup = [a, b](const Shape& shape, const Fill& fill) -> State {
        return {{{"a", matrix(fill, "a", shape["m"], shape["k"], a)},
                 {"b", matrix(fill, "b", shape["k"], shape["n"], b)}}};
      },
      .run = [](State& state) -> Outputs { return {at::matmul(state[kA], state[kB])}; },
      .facts = [](const Shape& shape) -> Facts {
        return {
            .flops = 2.0 * shape.product({"m", "n", "k"}),
            .bound = {.family = Family::kInnerProduct, .length = shape["k"], .reduced = {{kA, 1}, {kB, 0}}},
            .independent = {{0, {{kA, 0}}}, {1, {{kB, 1}}}}};
      },
  };
}

// The other layouts are measured at one size: what matters is how they compare with NN.
std::vector<SuiteShapes> one_size() {
  return {{"smoke", {{65, 33, 100}}}, {"standard", {{256, 256, 256}}}, {"large", {{4096, 4096, 4096}}}};
}

const Registration nn{matmul("matmul", Order::kN, Order::kN,
                             {{"smoke", {{65, 33, 100}}},
                              {"standard", {{256, 256, 256}, {512, 512, 512}}},
                              {"large", {{1024, 1024, 1024}, {4096, 4096, 4096}, {8192, 8192, 8192}}}})};
const Registration nt{matmul("matmul_nt", Order::kN, Order::kT, one_size())};
const Registration tn{matmul("matmul_tn", Order::kT, Order::kN, one_size())};
const Registration tt{matmul("matmul_tt", Order::kT, Order::kT, one_size())};

}  // namespace
}  // namespace ampgate::cases
