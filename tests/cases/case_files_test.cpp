#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "cases/execute.h"
#include "cases/files/operator_case.h"
#include "cases/safetensors.h"
#include "results/error.h"
#include "temporary_folder.h"

namespace ampgate::cases::files {
namespace {

using results::Json;

std::vector<Case> read(const std::string& members) {
  static std::vector<Json> kept;  // documents must outlive what reads them
  kept.push_back(results::parse_strict(R"({"ampgate_case": 1, "name": "mine", )" + members + "}", "test"));
  std::vector<std::filesystem::path> used;
  const Document document(kept.back(), "folder/mine.json", used);
  auto cases = operator_cases(document);
  document.refuse_unknown();
  return cases;
}

State set_up(const Case& definition, FillKind kind = FillKind::kOrdinary) {
  return definition.setup(definition.shape({}), Fill(1, definition.name, "", kind));
}

Outputs run(const Case& definition) {
  const at::NoGradGuard no_grad;
  State state = set_up(definition);
  return definition.run(state);
}

at::Tensor tensor_of(const std::string& description) {
  return set_up(
      read(R"("operator": "aten::relu", "arguments": [{"tensor": )" + description + "}]").front())[0];
}

std::string complaint(const std::string& members) {
  try {
    read(members);
  } catch (const results::FileError& error) {
    return error.what();
  }
  return "";
}

TEST(CaseFiles, ValuesAreThoseOfTheFile) {
  const at::Tensor values = tensor_of(R"({"values": [["inf", "-inf", "nan"], ["0x1.8p-3", "-0.0", 0.1]]})");
  EXPECT_EQ(values.sizes(), at::IntArrayRef({2, 3}));
  EXPECT_EQ(values.scalar_type(), at::kFloat);
  const float* v = values.const_data_ptr<float>();
  EXPECT_EQ(v[0], std::numeric_limits<float>::infinity());
  EXPECT_EQ(v[1], -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(v[2]));
  EXPECT_EQ(v[3], 0.1875f);
  EXPECT_TRUE(v[4] == 0.0f && std::signbit(v[4]));
  EXPECT_EQ(v[5], 0.1f);
}

TEST(CaseFiles, TypesOfTheFileRoundItsValues) {
  // 0.1 in FP16 is 0x2E66, 0.0999755859375; 2^53 + 1 is no float64.
  const at::Tensor half = tensor_of(R"({"values": [0.1], "type": "float16"})");
  EXPECT_EQ(half.scalar_type(), at::kFloat);
  EXPECT_EQ(half.item<float>(), 0.0999755859375f);
  const at::Tensor whole = tensor_of(R"({"values": [9007199254740993], "type": "int64"})");
  EXPECT_EQ(whole.item<std::int64_t>(), 9007199254740993);
  EXPECT_EQ(tensor_of(R"({"shape": [2, 3], "fill": "arange", "type": "int32"})").scalar_type(), at::kInt);
}

TEST(CaseFiles, NoValueIsChangedSilently) {
  for (const char* values :
       {R"([300], "type": "int8")", R"([-1], "type": "uint8")", R"([70000], "type": "float16")", R"([1e300])",
        R"([1e300], "type": "float64")"}) {
    const std::string words = complaint(R"("operator": "aten::neg", "arguments": [{"tensor": {"values": )" +
                                        std::string(values) + "}}]");
    EXPECT_NE(words.find("#/arguments/0/tensor/values: its values are beyond those of type"),
              std::string::npos)
        << values << words;
  }
  EXPECT_THROW(tensor_of(R"({"shape": [300], "fill": "arange", "type": "int8"})"), std::out_of_range);
  EXPECT_THROW(tensor_of(R"({"shape": [9], "fill": {"normal": {"scale": 1e39}}})"), std::out_of_range);
  EXPECT_NO_THROW(tensor_of(R"({"values": ["inf", "nan", 65504], "type": "float16"})"));
}

TEST(CaseFiles, FillsAreDrawnByNameAndScaled) {
  const at::Tensor x = tensor_of(R"({"shape": [100000], "fill": {"normal": {"scale": 3, "mean": 2}}})");
  EXPECT_NEAR(x.mean().item<double>(), 2.0, 0.05);
  EXPECT_NEAR(x.std().item<double>(), 3.0, 0.05);
  const at::Tensor n = tensor_of(R"({"shape": [1000], "fill": {"integers": {"low": -2, "high": 3}}})");
  EXPECT_EQ(n.scalar_type(), at::kLong);
  EXPECT_EQ(n.min().item<std::int64_t>(), -2);
  EXPECT_EQ(n.max().item<std::int64_t>(), 2);
  const at::Tensor u = tensor_of(R"({"shape": [1000], "fill": {"uniform": {"low": 5, "high": 6}}})");
  EXPECT_TRUE(u.ge(5).logical_and_(u.lt(6)).all().item<bool>());
}

TEST(CaseFiles, TensorsFromSafetensors) {
  const TemporaryFolder folder;
  const at::Tensor x = at::arange(12, at::kFloat).view({4, 3}).to(at::kBFloat16);
  std::ofstream stored(folder.path() / "data.safetensors", std::ios::binary);
  write_safetensors({{"x", x}, {"labels", at::arange(4, at::kLong)}},
                    [&](std::string_view piece) { stored.write(piece.data(), std::ssize(piece)); });
  stored.close();
  const auto from = [&](const std::string& more) {
    return tensor_of(R"({"file": ")" + (folder.path() / "data.safetensors").string() + "\", " + more + "}");
  };
  EXPECT_TRUE(at::equal(from(R"("tensor": "x")"), x.to(at::kFloat)));
  EXPECT_TRUE(at::equal(from(R"("tensor": "x", "rows": 2, "layout": "transposed")"),
                        x.to(at::kFloat).narrow(0, 0, 2)));
  EXPECT_TRUE(at::equal(from(R"("tensor": "labels")"), at::arange(4, at::kLong)));
  EXPECT_THROW(from(R"("tensor": "y")"), results::FileError);
  EXPECT_THROW(from(R"("tensor": "x", "rows": 5)"), results::FileError);
}

TEST(CaseFiles, SizesAloneAllocateNothing) {
  const auto definition = read(
      R"("operator": "aten::relu", "arguments": [{"tensor": {"shape": [1099511627776], "fill": "ones"}}])");
  EXPECT_TRUE(set_up(definition.front(), FillKind::kNone)[0].is_meta());
}

TEST(CaseFiles, ArgumentsOfEveryKind) {
  const std::string x = R"({"tensor": {"values": [[1, 2, 3], [4, 5, 6]]}})";
  const auto sum =
      run(read(R"("operator": "aten::sum.dim_IntList", "arguments": [)" + x + ", [1], true]").front());
  EXPECT_TRUE(at::equal(sum[0], at::tensor({6.f, 15.f}).view({2, 1})));
  // int[1]? takes a number, ScalarType? a name.
  const auto one = run(read(R"("operator": "aten::sum.dim_IntList", "arguments": [)" + x +
                            R"(, 0], "keywords": {"dtype": "float64"})")
                           .front());
  EXPECT_EQ(one[0].scalar_type(), at::kDouble);
  EXPECT_TRUE(at::equal(one[0], at::tensor({5.0, 7.0, 9.0}, at::kDouble)));
  const auto stack =
      run(read(R"("operator": "aten::stack", "arguments": [[)" + x + ", " + x + "], 1]").front());
  EXPECT_EQ(stack[0].sizes(), at::IntArrayRef({2, 2, 3}));
  const auto index = run(read(R"("operator": "aten::index.Tensor", "arguments": [)" + x +
                              R"(, [null, {"tensor": {"values": [2, 0], "type": "int64"}}]])")
                             .front());
  EXPECT_TRUE(at::equal(index[0], at::tensor({3.f, 1.f, 6.f, 4.f}).view({2, 2})));
  const auto conv = run(read(R"("operator": "aten::conv2d", "arguments": [
      {"tensor": {"shape": [1, 1, 4, 4], "fill": "ones"}}, {"tensor": {"shape": [1, 1, 3, 3], "fill": "ones"}}],
      "keywords": {"padding": 1})")
                            .front());
  EXPECT_EQ(conv[0][0][0][1][1].item<float>(), 9.0f);
}

TEST(CaseFiles, SequencesFeedResultsOn) {
  const auto definition = read(R"("tensors": {"x": {"values": [3, 1, 2]}},
      "operators": [
        {"operator": "aten::sort", "arguments": [{"ref": "x"}], "results": ["sorted", null]},
        {"operator": "aten::chunk", "arguments": [{"ref": "sorted"}, 3], "result": "parts"},
        {"operator": "aten::mul.Tensor", "arguments": [{"ref": "parts", "item": 2}, {"ref": "sorted"}], "result": "y"}],
      "outputs": ["y", {"name": "first", "value": {"ref": "parts", "item": 0}}])")
                              .front();
  EXPECT_EQ(definition.outputs, (std::vector<std::string>{"y", "first"}));
  const auto outputs = run(definition);
  EXPECT_TRUE(at::equal(outputs[0], at::tensor({3.f, 6.f, 9.f})));
  EXPECT_TRUE(at::equal(outputs[1], at::tensor({1.f})));
}

TEST(CaseFiles, TheOracleIsFp64WhateverTypeTheFileAsksFor) {
  const auto definition = read(R"("tensors": {"x": {"values": [0.1]}},
      "operators": [
        {"operator": "aten::to.dtype", "arguments": [{"ref": "x"}, "float16"], "result": "h"},
        {"operator": "aten::mul.Scalar", "arguments": [{"ref": "h"}, 3], "result": "y"}],
      "outputs": ["y"])")
                              .front();
  EXPECT_EQ(run(definition)[0].scalar_type(), at::kHalf);
  EXPECT_EQ(definition.own_types, std::vector<at::ScalarType>{at::kHalf});
  State fp64 = converted(set_up(definition), at::kDouble);
  const at::NoGradGuard no_grad;
  EXPECT_EQ(definition.reference_run(fp64)[0].item<double>(), static_cast<double>(0.1f) * 3);
}

TEST(CaseFiles, AReferenceIsTheOracle) {
  const auto cases = read(R"("operator": "aten::relu", "arguments": [{"tensor": {"values": [-2, 3]}}],
    "reference": {"operators": [{"operator": "aten::neg", "arguments": [{"ref": "self"}], "result": "y"}],
                  "outputs": ["y"]})");
  const at::NoGradGuard no_grad;
  State state = converted(set_up(cases.front()), at::kDouble);
  EXPECT_TRUE(at::equal(cases.front().reference_run(state)[0], at::tensor({2.0, -3.0}, at::kDouble)));
  EXPECT_TRUE(at::equal(cases.front().run(state)[0], at::tensor({0.0, 3.0}, at::kDouble)));
  EXPECT_FALSE(cases.front().foreign);
  EXPECT_FALSE(cases.front().unproven);
}

// d(g . (x W^T + b)): x gets g W, W gets g^T x, b the columns' sums of g.
TEST(CaseFiles, GradientsOfALinearLayer) {
  const auto definition = read(R"("operator": "aten::linear", "arguments": [
      {"tensor": {"shape": [4, 3], "fill": "normal"}}, {"tensor": {"shape": [2, 3], "fill": "normal"}},
      {"tensor": {"shape": [2], "fill": "normal"}}], "backward": true)")
                              .front();
  EXPECT_EQ(definition.outputs, (std::vector<std::string>{"out", "grad.input", "grad.weight", "grad.bias"}));
  const at::NoGradGuard no_grad;
  State state = converted(set_up(definition), at::kDouble);
  const at::Tensor& g = *state.find("cotangent.out");
  const auto outputs = definition.run(state);
  EXPECT_TRUE(at::allclose(outputs[1], g.matmul(state[1]), 1e-12, 1e-12));
  EXPECT_TRUE(at::allclose(outputs[2], g.t().matmul(state[0]), 1e-12, 1e-12));
  EXPECT_TRUE(at::allclose(outputs[3], g.sum(0), 1e-12, 1e-12));
  EXPECT_FALSE(outputs[0].requires_grad());
}

TEST(CaseFiles, VariantsOfLayoutsAndThreads) {
  const auto cases =
      read(R"("operator": "aten::relu", "arguments": [{"tensor": {"shape": [2, 3, 4, 5], "fill": "normal"}}],
      "layouts": ["contiguous", "transposed"], "threads": [1, 2])");
  std::vector<std::string> names;
  for (const auto& definition : cases) names.push_back(definition.name);
  EXPECT_EQ(names, (std::vector<std::string>{"mine.threads1", "mine.transposed.threads1", "mine.threads2",
                                             "mine.transposed.threads2"}));
  EXPECT_EQ(cases[1].threads, 1);
  EXPECT_TRUE(set_up(cases[0])[0].is_contiguous());
  EXPECT_EQ(set_up(cases[1])[0].strides(), at::IntArrayRef({60, 20, 1, 4}));
}

TEST(CaseFiles, SizesMustFit) {
  const std::string product = complaint(R"("operator": "aten::mm", "arguments": [
      {"tensor": {"shape": [8, 4], "fill": "normal"}}, {"tensor": {"shape": [5, 6], "fill": "normal"}}])");
  EXPECT_NE(product.find("folder/mine.json#/operator: aten::mm refuses its arguments"), std::string::npos)
      << product;
  EXPECT_NE(product.find("8x4 and 5x6"), std::string::npos) << product;
  const std::string second = complaint(R"("tensors": {"x": {"shape": [8, 4], "fill": "normal"}},
      "operators": [
        {"operator": "aten::neg", "arguments": [{"ref": "x"}], "result": "h"},
        {"operator": "aten::view", "arguments": [{"ref": "h"}, [5, 7]], "result": "y"}],
      "outputs": ["y"])");
  EXPECT_NE(second.find("folder/mine.json#/operators/1: aten::view"), std::string::npos) << second;
  // Tensors without values cannot tell how many elements are not zero.
  EXPECT_NO_THROW(read(R"("operator": "aten::nonzero", "arguments": [{"tensor": {"values": [0, 1, 2]}}])"));
}

TEST(CaseFiles, NothingReachesBeyondTheCase) {
  const std::string words =
      complaint(R"("operator": "aten::from_file", "arguments": ["made.bin", true, 16])");
  EXPECT_NE(words.find("#/operator: aten::from_file reaches beyond the case"), std::string::npos) << words;
}

TEST(CaseFiles, ItemsThatAListHasNotAreRefused) {
  const std::string words = complaint(R"("tensors": {"x": {"shape": [4], "fill": "normal"}},
      "operators": [
        {"operator": "aten::chunk", "arguments": [{"ref": "x"}, 2], "result": "parts"},
        {"operator": "aten::neg", "arguments": [{"ref": "parts", "item": 7}], "result": "y"}],
      "outputs": ["y"])");
  EXPECT_NE(words.find("#/operators/1"), std::string::npos) << words;
  EXPECT_NE(words.find("item 7 of a list of 2 tensors"), std::string::npos) << words;
}

TEST(CaseFiles, ExpectedIntegersHaveTheOperatorsType) {
  const auto definition =
      read(R"("operator": "aten::argmax", "arguments": [{"tensor": {"values": [1, 5, 3]}}],
      "expected": {"out": {"values": 1, "shape": []}})")
          .front();
  const at::NoGradGuard no_grad;
  const State state = converted(set_up(definition), at::kDouble);
  const at::Tensor expected = definition.expected(state)[0];
  EXPECT_EQ(expected.scalar_type(), at::kLong);
  EXPECT_EQ(expected.item<std::int64_t>(), 1);
  const auto compared =
      read(R"("operator": "aten::gt.Scalar", "arguments": [{"tensor": {"values": [1, "nan", 3]}}, 2],
      "expected": {"out": {"values": [false, false, true]}})")
          .front();
  const at::Tensor flags = compared.expected(converted(set_up(compared), at::kDouble))[0];
  EXPECT_TRUE(at::equal(flags, at::tensor({0, 0, 1}).to(at::kBool)));
}

TEST(CaseFiles, AReductionLengthIsWhatTheFileSays) {
  const auto length_of = [](const std::string& members) {
    const auto definition = read(members).front();
    return definition.facts(definition.shape({})).bound.length;
  };
  const std::string sequence = R"("tensors": {"x": {"values": [1, 2]}}, "outputs": ["y"],
      "operators": [{"operator": "aten::relu", "arguments": [{"ref": "x"}], "result": "h"},
                    {"operator": "aten::relu", "arguments": [{"ref": "h"}], "result": "y"}])";
  EXPECT_EQ(length_of(sequence), 0);
  EXPECT_EQ(length_of(sequence + R"(, "reduction_length": 7)"), 7);
  EXPECT_NE(complaint(sequence + R"(, "reduction_length": 0)").find("#/reduction_length"), std::string::npos);
}

TEST(CaseFiles, WhatIsWrongIsSaidBeforeAnythingRuns) {
  const std::vector<std::pair<std::string, std::string>> wrong{
      // The name of a dimension fits an overload that no case file can call.
      {R"("operator": "aten::softmax", "arguments": [{"tensor": {"shape": [2, 3], "fill": "normal"}}, "one"])",
       "argument 1 'dim' of aten::softmax.int must be int"},
      // Only values make gelu look at the word.
      {R"("operator": "aten::gelu", "arguments": [{"tensor": {"shape": [2, 3], "fill": "normal"}}],
          "keywords": {"approximate": "tanhh"})",
       "#/operator: aten::gelu refuses its arguments"},
      {R"("operator": "aten::relu", "arguments": [{"tensor": {"values": [1, -1]}}],
          "expected": {"out": {"values": [1, 0, 0]}})",
       "#/expected/out: has sizes [3], and the operators give [2]"},
      {R"("operator": "aten::relu", "arguments": [{"tensor": {"shape": [7], "fill": "normal"}}],
          "layouts": ["contiguous", "channels_last"])",
       "#/layouts/1: no floating tensor has the dimensions for it"},
      {R"("tensors": {"x": {"values": [1, 2]}, "other": {"values": [3]}}, "operator": "aten::relu",
          "arguments": [{"ref": "x"}])",
       "#/tensors/other: is given to no operator"},
      {R"("tensors": {"x": {"shape": [4, 4], "fill": "normal"}}, "outputs": ["y"], "operators": [
          {"operator": "aten::t", "arguments": [{"ref": "x"}], "result": "turned"},
          {"operator": "aten::mul_.Scalar", "arguments": [{"ref": "turned"}, 2], "result": "y"}])",
       "#/operators/1: aten::mul_ writes to the memory of 'x'"}};
  for (const auto& [members, words] : wrong) {
    const std::string said = complaint(members);
    EXPECT_NE(said.find(words), std::string::npos) << members << ": " << said;
  }
  // A tensor that only the reference takes is used.
  EXPECT_NO_THROW(read(R"("tensors": {"x": {"shape": [4], "fill": "normal"}}, "operators": [
      {"operator": "aten::clone", "arguments": [{"ref": "x"}], "result": "own"},
      {"operator": "aten::mul_.Scalar", "arguments": [{"ref": "own"}, 2], "result": "y"}], "outputs": ["y"])"));
}

TEST(CaseFiles, AGradientThatThereIsNotIsNoAnswer) {
  const auto definition = read(R"("operator": "aten::where.self", "arguments": [
      {"tensor": {"shape": [4], "fill": {"integers": {"high": 2}}, "type": "bool"}},
      {"tensor": {"shape": [4], "fill": "normal"}}, {"tensor": {"shape": [4], "fill": "normal"}}],
      "backward": true)")
                              .front();
  EXPECT_EQ(run(definition).size(), 3);
  const auto unused =
      read(R"("tensors": {"x": {"shape": [4], "fill": "normal"}, "like": {"shape": [4], "fill": "normal"}},
      "operators": [{"operator": "aten::zeros_like", "arguments": [{"ref": "like"}], "result": "z"},
                    {"operator": "aten::add.Tensor", "arguments": [{"ref": "x"}, {"ref": "z"}], "result": "y"}],
      "outputs": ["y"], "backward": true)")
          .front();
  try {
    run(unused);
    FAIL();
  } catch (const c10::NotImplementedError& error) {
    EXPECT_NE(std::string(error.what_without_backtrace()).find("no gradient by 'like'"), std::string::npos);
  }
}

TEST(CaseFiles, ComplaintsSayWhere) {
  EXPECT_NE(
      complaint(R"("operator": "aten::relu", "arguments": [{"tensor": {"shape": [2], "fill": "gauss"}}])")
          .find("folder/mine.json#/arguments/0/tensor/fill"),
      std::string::npos);
  EXPECT_NE(complaint(R"("operator": "relu", "arguments": [])").find("did you mean aten::relu"),
            std::string::npos);
}

}  // namespace
}  // namespace ampgate::cases::files
