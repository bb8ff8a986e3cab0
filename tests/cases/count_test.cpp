// What every case declares of its work, against a count of the operators that it calls: operations by the
// formula of each operator and the sizes that it was called with, bytes by the tensors that it was given.
#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <set>

#include "cases/execute.h"
#include "cases/fills.h"

namespace ampgate::cases {
namespace {

using at::Tensor;
using Arguments = const std::vector<c10::IValue>&;

// 2 m n k for each of (m, k) x (k, n); a bias is not counted.
double product(const Tensor& first, const Tensor& out) {
  return 2.0 * static_cast<double>(out.numel()) * static_cast<double>(first.size(-1));
}

// Each weight of one filter meets one element of `places`; taps in the padding are counted.
double convolution(const Tensor& weight, const Tensor& places) {
  return 2.0 * static_cast<double>(places.numel()) * static_cast<double>(weight[0].numel());
}

// Scores, and the weighted values.
double attention(const Tensor& query, const Tensor& key, const Tensor& value) {
  const double scores =
      static_cast<double>(query.numel() / query.size(-1)) * static_cast<double>(key.size(-2));
  return 2.0 * scores * static_cast<double>(query.size(-1) + value.size(-1));
}

using Formula = double (*)(Arguments in, const Tensor& out);
constexpr auto kProduct = [](Arguments in, const Tensor& out) { return product(in[0].toTensor(), out); };
constexpr auto kAdded = [](Arguments in, const Tensor& out) { return product(in[1].toTensor(), out); };
const std::map<std::string, Formula> kFormulas{
    {"aten::mm", kProduct},
    {"aten::bmm", kProduct},
    {"aten::matmul", kProduct},
    {"aten::linear", kProduct},
    {"aten::addmm", kAdded},
    {"aten::baddbmm", kAdded},
    {"aten::conv2d", [](Arguments in, const Tensor& out) { return convolution(in[1].toTensor(), out); }},
    {"aten::conv_transpose2d",
     [](Arguments in, const Tensor&) { return convolution(in[1].toTensor(), in[0].toTensor()); }},
    {"aten::scaled_dot_product_attention", [](Arguments in, const Tensor&) {
       return attention(in[0].toTensor(), in[1].toTensor(), in[2].toTensor());
     }}};

struct Count {
  double flops = 0.0;
  std::set<const void*> read;          // memory that any operator was given
  std::map<const void*, double> rows;  // of tables: bytes of the rows that were taken
  int inside = 0;  // operators with a formula that have not returned: their parts are not counted again
};
thread_local Count count;

// Kernels may take their arguments away.
struct Counted : at::ObserverContext {
  std::vector<c10::IValue> in;
  bool outermost = false;  // of the operators with a formula
};

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) {
  for (const auto& input : function.inputs()) {
    if (input.isTensor() && input.toTensor().defined()) count.read.insert(input.toTensor().storage().data());
  }
  const std::string_view name = function.name();
  const bool has_formula = kFormulas.contains(function.name());
  if (!has_formula && name != "aten::embedding") return nullptr;
  auto context = std::make_unique<Counted>();
  context->in.assign(function.inputs().begin(), function.inputs().end());
  context->outermost = has_formula && count.inside++ == 0;
  return context;
}

void on_end(const at::RecordFunction& function, at::ObserverContext* context) {
  if (context == nullptr) return;
  const auto& call = *static_cast<Counted*>(context);
  const Tensor out = function.outputs()[0].toTensor();
  const auto formula = kFormulas.find(function.name());
  if (formula == kFormulas.end()) {
    count.rows[call.in[0].toTensor().storage().data()] += static_cast<double>(out.nbytes());
    return;
  }
  --count.inside;
  if (call.outermost) count.flops += formula->second(call.in, out);
}

Outputs counted(const Case& definition, State& state, const precision::Precision& precision) {
  const at::NoGradGuard no_grad;
  count = {};
  const auto handle = at::addThreadLocalCallback(at::RecordFunctionCallback(on_start, on_end)
                                                     .needsInputs(true)
                                                     .needsOutputs(true)
                                                     .scopes({at::RecordScope::FUNCTION}));
  Outputs outputs = execute(definition, state, precision, at::kCPU);
  at::removeCallback(handle);
  return outputs;
}

class Work : public testing::TestWithParam<std::string> {
 protected:
  const Case& definition() const { return registry().find(GetParam())->second; }
  Shape shape() const { return definition().shape(definition().suites.at(0).shapes.at(0)); }
  State prepared(const precision::Precision& precision) const {
    return prepare(definition().setup(shape(), Fill(1, GetParam(), shape().name)), precision, at::kCPU);
  }
};

TEST_P(Work, OperationsAreThoseOfItsOperators) {
  for (const auto& precision : precision::all()) {
    State state = prepared(precision);
    counted(definition(), state, precision);
    EXPECT_EQ(definition().facts(shape()).flops, count.flops) << precision.name;
  }
}

// A tensor that no operator was given is not read; a table in rows; anything else whole, once.
TEST_P(Work, BytesAreThoseOfWhatItReadsAndGives) {
  for (const auto& precision : precision::all()) {
    State state = prepared(precision);
    const Outputs outputs = counted(definition(), state, precision);
    double bytes = 0.0;
    for (const auto& output : outputs)
      bytes += static_cast<double>(output.numel()) * static_cast<double>(output.element_size());
    for (const auto& entry : state.tensors) {
      const void* memory = entry.tensor.storage().data();
      if (const auto rows = count.rows.find(memory); rows != count.rows.end()) {
        bytes += rows->second;
      } else if (count.read.contains(memory)) {
        bytes += static_cast<double>(entry.tensor.numel()) * static_cast<double>(entry.tensor.element_size());
      }
    }
    EXPECT_EQ(least_bytes(definition().facts(shape()), state, outputs), bytes) << precision.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, Work, testing::ValuesIn([] {
                           std::vector<std::string> names;
                           // The facts of a training are those of a step, not of one run.
                           for (const auto& [name, definition] : registry())
                             if (!definition.training) names.push_back(name);
                           return names;
                         }()),
                         [](const auto& one) { return one.param; });

// By hand, so that the count itself is known to be right.
TEST(Count, OfOneProductByHand) {
  const Case& matmul = registry().find("matmul")->second;
  const Shape shape = matmul.shape({3, 5, 7});
  State state =
      prepare(matmul.setup(shape, Fill(1, "matmul", shape.name)), precision::find("cast-bf16"), at::kCPU);
  const Outputs outputs = counted(matmul, state, precision::find("cast-bf16"));
  EXPECT_EQ(count.flops, 210);
  EXPECT_EQ(least_bytes(matmul.facts(shape), state, outputs), 2 * (21 + 35 + 15));
}

}  // namespace
}  // namespace ampgate::cases
