// What a sequence file may hold, and what is said about what it may not.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "results/error.h"
#include "validate/scaler_trace/replay.h"
#include "validate/scaler_trace/sequence.h"

namespace ampgate::validate::scaler_trace {
namespace {

using results::Json;

// Two optimizers, the second with a parameter of two dimensions.
Json document(const std::string& ops) {
  return Json::parse(
      R"({"parameters": [[{"shape": [2], "dtype": "float32"}], [{"shape": [3, 2], "dtype": "bfloat16"}]], "ops": )" +
      ops + "}");
}

Json with(const std::string& key, const std::string& value) {
  Json made = document("[]");
  made[key] = Json::parse(value);
  return made;
}

std::string error_of(const Json& made) {
  try {
    read_sequence(made, "file.json");
  } catch (const results::FileError& error) {
    EXPECT_FALSE(error.action().empty());
    EXPECT_EQ(error.code(), results::ExitCode::kUsage);
    return error.what();
  }
  return "";
}

Json replayed(const std::string& ops) {
  std::ostringstream out;
  replay(read_sequence(document(ops), "file.json"), out);
  return Json::parse(out.str());
}

Json last_entry(const std::string& ops) { return replayed(ops)["trace"].back(); }

struct Bad {
  std::string name;
  Json document;
  std::string place;  // JSON pointer
  std::string words;
};

std::string name_of(const testing::TestParamInfo<Bad>& info) { return info.param.name; }

class BadSequence : public testing::TestWithParam<Bad> {};

TEST_P(BadSequence, IsRefusedWithItsPlace) {
  const std::string error = error_of(GetParam().document);
  EXPECT_TRUE(error.starts_with("file.json#" + GetParam().place + ": ")) << error;
  EXPECT_NE(error.find(GetParam().words), std::string::npos) << error;
}

INSTANTIATE_TEST_SUITE_P(
    Structure, BadSequence,
    testing::Values(
        Bad{"NoObject", Json::array(), "", "must be an object"},
        Bad{"NoOps", Json{{"parameters", Json::array()}}, "/ops", "is missing"},
        Bad{"NoParameters", Json{{"ops", Json::array()}}, "/parameters", "is missing"},
        Bad{"UnknownKey", with("opps", "[]"), "/opps", "did you mean ops?"},
        Bad{"UnknownOption", with("scaler", R"({"init_scal": 1})"), "/scaler/init_scal", "init_scale"},
        Bad{"FractionalInterval", with("scaler", R"({"growth_interval": 1.5})"), "/scaler/growth_interval",
            "must be an integer"},
        Bad{"EnabledAsNumber", with("scaler", R"({"enabled": 1})"), "/scaler/enabled", "true or false"},
        Bad{"RefusedFactor", with("scaler", R"({"growth_factor": 1})"), "/scaler",
            "The growth factor must be > 1.0."},
        Bad{"ParametersFlat", with("parameters", R"([{"shape": [2], "dtype": "float32"}])"), "/parameters/0",
            "must be an array"},
        Bad{"UnknownType", with("parameters", R"([[{"shape": [2], "dtype": "half"}]])"),
            "/parameters/0/0/dtype", "float16"},
        Bad{"NegativeSize", with("parameters", R"([[{"shape": [-2], "dtype": "float32"}]])"),
            "/parameters/0/0/shape/0", "must be an integer"},
        Bad{"NoShape", with("parameters", R"([[{"dtype": "float32"}]])"), "/parameters/0/0/shape",
            "is missing"},
        Bad{"OpsAsObject", with("ops", "{}"), "/ops", "must be an array"},
        Bad{"OpAsString", with("ops", R"(["scale"])"), "/ops/0", "must be an array"},
        Bad{"EmptyOp", with("ops", R"([["scale"], []])"), "/ops/1", "is empty"},
        Bad{"NamelessOp", with("ops", "[[1]]"), "/ops/0/0", "must be a string"},
        Bad{"UnknownOp", with("ops", R"([["unscal", 0]])"), "/ops/0/0", "did you mean unscale"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Operations, BadSequence,
    testing::Values(
        Bad{"TooManyArguments", with("ops", R"([["scale", 0]])"), "/ops/0", "takes no argument, has 1"},
        Bad{"NoOptimizer", with("ops", R"([["unscale"]])"), "/ops/0", "the optimizer's number"},
        Bad{"OptimizerOutOfRange", with("ops", R"([["step", 2]])"), "/ops/0/1", "between 0 and 1"},
        Bad{"NegativeOptimizer", with("ops", R"([["unscale", -1]])"), "/ops/0/1", "between 0 and 1"},
        Bad{"OptimizerByName", with("ops", R"([["unscale", "first"]])"), "/ops/0/1", "must be an integer"},
        Bad{"NotAClosure", with("ops", R"([["step", 0, "fused"]])"), "/ops/0/2", "closure"},
        Bad{"LoadBeforeSave", with("ops", R"([["load"], ["save"]])"), "/ops/0", "no \"save\" came before"},
        Bad{"UnknownStateKey", with("ops", R"([["load", {"tracker": 1}]])"), "/ops/0/1/tracker",
            "_growth_tracker"},
        Bad{"ScaleAsBoolean", with("ops", R"([["update", true]])"), "/ops/0/1", "must be a number"},
        Bad{"ScaleAsWord", with("ops", R"([["update", "big"]])"), "/ops/0/1", "\"big\""},
        Bad{"ScaleAsBoth", with("ops", R"([["update", {"int": 1, "tensor": {"values": [1]}}]])"), "/ops/0/1",
            "either"},
        Bad{"ScaleAsNeither", with("ops", R"([["update", {}]])"), "/ops/0/1", "either"},
        Bad{"TensorWithoutValues", with("ops", R"([["update", {"tensor": {"shape": []}}]])"),
            "/ops/0/1/tensor/values", "is missing"},
        Bad{"TensorOfWrongLength", with("ops", R"([["update", {"tensor": {"shape": [2], "values": [1]}}]])"),
            "/ops/0/1/tensor/values", "do not fill the shape [2]"},
        Bad{"FractionalInterval", with("ops", R"([["set_growth_interval", 0.5]])"), "/ops/0/1", "integer"}),
    name_of);

// The gradient of the first optimizer's parameter, [2], or of the second's, [3, 2].
Json first(const std::string& gradient) {
  return document(R"([["gradients", [[)" + gradient + "], [null]]]]");
}
Json second(const std::string& gradient) {
  return document(R"([["gradients", [[null], [)" + gradient + "]]]]");
}

INSTANTIATE_TEST_SUITE_P(
    Gradients, BadSequence,
    testing::Values(
        Bad{"OfOneOptimizer", document(R"([["gradients", [[null]]]])"), "/ops/0/1", "for 1 optimizers"},
        Bad{"OfTwoParameters", first("null, null"), "/ops/0/1/0", "for 2 parameters"},
        Bad{"AsNumbers", first("[1, 2]"), "/ops/0/1/0/0", "must be an object"},
        Bad{"UnknownKey", first(R"({"value": [1, 2], "values": [1, 2]})"), "/ops/0/1/0/0/value", "values"},
        Bad{"TooShort", first(R"({"values": [1]})"), "/ops/0/1/0/0/values", "has 1 values"},
        Bad{"TooLong", second(R"({"values": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]})"),
            "/ops/0/1/1/0/values", "has 12 values"},
        Bad{"NullValue", first(R"({"values": [1, null]})"), "/ops/0/1/0/0/values/1", "must be a number"},
        Bad{"EmptyValue", first(R"({"values": [1, ""]})"), "/ops/0/1/0/0/values/1", "must be a number"},
        Bad{"SpaceInValue", first(R"({"values": [1, " 1"]})"), "/ops/0/1/0/0/values/1", "must be a number"},
        Bad{"TextAfterValue", first(R"({"values": ["1.0f", 1]})"), "/ops/0/1/0/0/values/0",
            "must be a number"},
        Bad{"CapitalNan", first(R"({"values": ["NaN", 1]})"), "/ops/0/1/0/0/values/0", "\"nan\""},
        Bad{"BeyondFloat64", first(R"({"values": ["1e999", 1]})"), "/ops/0/1/0/0/values/0", "within float64"},
        Bad{"UnknownType", first(R"({"values": [1, 2], "dtype": "int32"})"), "/ops/0/1/0/0/dtype", "int32"},
        Bad{"RowOutOfRange", second(R"({"values": [1, 2], "indices": [3]})"), "/ops/0/1/1/0/indices/0",
            "between 0 and 2"},
        Bad{"RowsTooShort", second(R"({"values": [1, 2], "indices": [0, 0]})"), "/ops/0/1/1/0/values",
            "do not fill the shape [2,2]"},
        Bad{"RowsWithoutDimensions", Json::parse(R"({"parameters": [[{"shape": [], "dtype": "float32"}]],
                            "ops": [["gradients", [[{"values": [1], "indices": [0]}]]]]})"),
            "/ops/0/1/0/0/indices", "no rows"},
        Bad{"SizesThatOverflow",
            Json::parse(R"({"parameters": [[{"shape": [4294967296, 4294967296], "dtype": "float32"}]],
                            "ops": [["gradients", [[{"values": []}]]]]})"),
            "/ops/0/1/0/0/values", "has 0 values"}),
    name_of);

TEST(ScalerSequence, NoScalerMeansPyTorchsDefaults) {
  const Json state = replayed("[]")["state"];
  const Json expected = {{"scale", "65536"},
                         {"growth_factor", "2"},
                         {"backoff_factor", "0.5"},
                         {"growth_interval", "2000"},
                         {"_growth_tracker", "0"}};
  EXPECT_EQ(state, expected);
}

TEST(ScalerSequence, EveryWayToWriteANumber) {
  const Json entry = last_entry(
      R"([["scale"], ["update", 1], ["gradients", [[{"values": ["0x1.8p+1", -0.0]}],
          [{"values": ["-inf", "nan", ".5", "1E-3", "-0X.8", "5."]}]]], ["unscale", 0]])");
  EXPECT_EQ(entry["gradients"][0][0]["values"], Json({"3", "-0"}));
  EXPECT_EQ(entry["gradients"][1][0]["values"],
            Json({"-inf", "nan", "0.5", "0.00099945068359375", "-0.5", "5"}));
}

TEST(ScalerSequence, SparseGradientsKeepDuplicatesAndOrder) {
  const Json entry = last_entry(
      R"([["scale"], ["update", 0.5], ["gradients", [[null], [{"values": [1, 2, 3, 4, 5, 6], "indices": [2, 0, 2],
          "dtype": "float32"}]]], ["step", 1]])");
  EXPECT_EQ(entry["gradients"][1][0]["values"], Json({"2", "4", "6", "8", "10", "12"}));
  EXPECT_EQ(entry["gradients"][1][0]["indices"], Json({2, 0, 2}));
  EXPECT_EQ(entry["gradients"][1][0]["dtype"], "float32");
  EXPECT_EQ(entry["stepped"], true);
}

TEST(ScalerSequence, ScaleAndTrackerAreNullBeforeTheFirstScale) {
  EXPECT_TRUE(last_entry(R"([["save"]])")["scale"].is_null());
  EXPECT_TRUE(last_entry(R"([["load", {"scale": 4}]])")["growth_tracker"].is_null());
  EXPECT_EQ(last_entry(R"([["scale"]])")["growth_tracker"], "0");
}

TEST(ScalerSequence, AnErrorDoesNotEndTheReplay) {
  const Json trace = replayed(R"([["update"], ["scale"]])")["trace"];
  EXPECT_TRUE(trace[0].contains("error"));
  EXPECT_FALSE(trace[1].contains("error"));
  EXPECT_EQ(trace[1]["scale"], "65536");
}

TEST(ScalerSequence, ATraceTellsOnlyWhatItsOperationIsAbout) {
  const Json entry = last_entry(R"([["scale"], ["step", 0]])");
  EXPECT_EQ(entry["stepped"], false);
  EXPECT_EQ(entry["error"], "No inf checks were recorded for this optimizer.");
  EXPECT_EQ(entry["gradients"], Json::parse("[[null], [null]]"));
  const Json update = last_entry(R"([["scale"], ["update", 8]])");
  EXPECT_FALSE(update.contains("stepped"));
  EXPECT_FALSE(update.contains("gradients"));
  EXPECT_FALSE(update.contains("error"));
}

}  // namespace
}  // namespace ampgate::validate::scaler_trace
