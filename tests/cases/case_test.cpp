#include "cases/case.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace ampgate::cases {
namespace {

Case two_dimensional() {
  Case definition;
  definition.name = "matrix";
  definition.dims = {"rows", "width"};
  return definition;
}

TEST(Case, NamesShapesByTheirSizes) {
  const Shape shape = two_dimensional().shape({512, 7});
  EXPECT_EQ(shape.name, "512x7");
  EXPECT_EQ(shape["rows"], 512);
  EXPECT_EQ(shape["width"], 7);
  EXPECT_THROW(shape["height"], std::out_of_range);
}

TEST(Case, MultipliesSizesBeyond64Bits) {
  const Shape shape = two_dimensional().shape({3'000'000'000, 5'000'000'000});
  EXPECT_EQ(shape.product({"rows", "width"}), 1.5e19);
  EXPECT_EQ(shape.product({"rows", "rows"}), 9e18);
  EXPECT_EQ(shape.product({}), 1.0);
  EXPECT_THROW(shape.product({"rows", "height"}), std::out_of_range);
}

TEST(Case, PutsThePrefixBeforeTheSizes) {
  Case definition = two_dimensional();
  definition.dims = {"batch"};
  definition.shape_prefix = "batch";
  EXPECT_EQ(definition.shape({64}).name, "batch64");
}

TEST(Case, RefusesWrongSizes) {
  const Case definition = two_dimensional();
  EXPECT_THROW(definition.shape({}), std::invalid_argument);
  EXPECT_THROW(definition.shape({1}), std::invalid_argument);
  EXPECT_THROW(definition.shape({1, 2, 3}), std::invalid_argument);
  EXPECT_THROW(definition.shape({1, 0}), std::invalid_argument);
  EXPECT_THROW(definition.shape({-1, 4}), std::invalid_argument);
}

TEST(Case, RefusesASecondCaseOfOneName) {
  Case definition = two_dimensional();
  definition.name = registry().begin()->first;
  EXPECT_THROW(Registration{definition}, std::logic_error);
}

TEST(State, FindsTensorsByName) {
  const State state{{{"a", at::Tensor()}, {"b", at::Tensor()}}};
  EXPECT_EQ(state.find("b"), &state.tensors[1].tensor);
  EXPECT_EQ(state.find("c"), nullptr);
}

}  // namespace
}  // namespace ampgate::cases
