// The layouts that cases promise are those that kernels are called with, in every precision and in both
// phases, which run by prepare() and execute().
#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include "cases/execute.h"
#include "cases/fills.h"
#include "cases/independent.h"

namespace ampgate::cases {
namespace {

struct Called {
  c10::ScalarType type = c10::ScalarType::Undefined;
  std::string layouts;  // of its tensors, in words
};

// Of the last call of the operator: autocast calls it again with what it converted.
thread_local std::string watched;
thread_local Called last;

std::string layout_of(const at::Tensor& tensor) {
  if (tensor.dim() == 4) {
    if (tensor.is_contiguous()) return "first";
    return tensor.is_contiguous(at::MemoryFormat::ChannelsLast) ? "last" : "other";
  }
  return tensor.is_contiguous() ? "N" : tensor.t().is_contiguous() ? "T" : "?";
}

std::unique_ptr<at::ObserverContext> note(const at::RecordFunction& function) {
  if (function.name() != watched) return nullptr;
  last = {};
  for (const auto& input : function.inputs()) {
    if (!input.isTensor() || !input.toTensor().defined()) continue;
    last.type = input.toTensor().scalar_type();
    last.layouts += (last.layouts.empty() ? "" : " ") + layout_of(input.toTensor());
  }
  return nullptr;
}

struct Layout {
  const char* case_name;
  const char* op;
  const char* layouts;
};

class Layouts : public testing::TestWithParam<Layout> {
 protected:
  const Case& definition() const { return registry().find(GetParam().case_name)->second; }
  State setup() const {
    const Shape shape = definition().shape(definition().suites.at(0).shapes.at(0));
    return definition().setup(shape, Fill(1, definition().name, shape.name));
  }
  Called executed(State state, const precision::Precision& precision) const {
    const at::NoGradGuard no_grad;
    watched = GetParam().op;
    last = {};
    const auto handle = at::addThreadLocalCallback(
        at::RecordFunctionCallback(note).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
    execute(definition(), state, precision, at::kCPU);
    at::removeCallback(handle);
    return last;
  }
};

TEST_P(Layouts, AreThoseOfTheKernelsCall) {
  for (const auto& precision : precision::all()) {
    if (precision.islands) continue;
    const Called called = executed(prepare(setup(), precision, at::kCPU), precision);
    EXPECT_EQ(called.type, precision.type) << precision.name;
    EXPECT_EQ(called.layouts, GetParam().layouts) << precision.name;
  }
}

TEST_P(Layouts, OfTheOracleAndOfRowsAlone) {
  EXPECT_EQ(executed(converted(setup(), at::kDouble), precision::baseline()).layouts, GetParam().layouts);
  const State state = setup();
  for (const auto& axis :
       definition().facts(definition().shape(definition().suites[0].shapes[0])).independent) {
    const at::Tensor rows =
        at::tensor({3, 1, 2}, at::kLong).remainder(state[axis.operands[0].tensor].size(axis.operands[0].dim));
    const State some = select(state, axis, rows);
    for (std::size_t i = 0; i < state.tensors.size(); ++i) EXPECT_EQ(layout_of(some[i]), layout_of(state[i]));
    for (const auto& [tensor, dim] : axis.operands)
      EXPECT_TRUE(at::equal(some[tensor], state[tensor].index_select(dim, rows)));
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, Layouts,
                         testing::Values(Layout{"matmul", "aten::mm", "N N"},
                                         Layout{"matmul_nt", "aten::mm", "N T"},
                                         Layout{"matmul_tn", "aten::mm", "T N"},
                                         Layout{"matmul_tt", "aten::mm", "T T"},
                                         Layout{"conv2d", "aten::conv2d", "first first"},
                                         Layout{"conv2d_channels_last", "aten::conv2d", "last last"}),
                         [](const auto& one) { return std::string(one.param.case_name); });

}  // namespace
}  // namespace ampgate::cases
