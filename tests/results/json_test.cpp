#include "results/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "tests/results/error_of.h"
#include "tests/results/temporary_file.h"

namespace ampgate::results {
namespace {

std::string parse_error(const std::string& text) {
  return error_of([&] { parse_strict(text, "f.json"); });
}

TEST(Json, ParsesEveryKindAndKeepsOrder) {
  const std::string text = R"({"z":[1,-2,2.5,"é\n",true,null,{}],"a":18446744073709551615,"m":[]})";
  EXPECT_EQ(parse_strict(text, "f").dump(), text);
  EXPECT_EQ(parse_strict(" 3 \n", "f"), 3);
}

TEST(Json, NamesLineAndColumnOfASyntaxError) {
  EXPECT_TRUE(parse_error("{\"a\": 1,\n \"b\": }").starts_with("f.json:2:7: "))
      << parse_error("{\"a\": 1,\n \"b\": }");
  EXPECT_NE(parse_error("[1,"), "");
  EXPECT_NE(parse_error("[NaN]"), "");
  EXPECT_NE(parse_error("[1e999]"), "");
  EXPECT_NE(parse_error("// c\n1"), "");
  EXPECT_NE(parse_error(" \n").find("empty"), std::string::npos);
}

TEST(Json, RefusesDuplicateKeysAtAnyDepth) {
  const std::string message = parse_error("{\"a\":{\"b\":1,\n\"c\":2,\"b\":3}}");
  EXPECT_TRUE(message.starts_with("f.json:2:9: ")) << message;
  EXPECT_NE(message.find("duplicate key \"b\""), std::string::npos) << message;
  EXPECT_NE(parse_error(R"({"a":1,"\u0061":2})"), "");
  EXPECT_EQ(parse_error(R"([{"a":1},{"a":1}])"), "");
}

TEST(Json, RefusesNestingDeeperThan64) {
  EXPECT_EQ(parse_error(std::string(64, '[') + std::string(64, ']')), "");
  EXPECT_NE(parse_error(std::string(65, '[') + std::string(65, ']')).find("deeper than 64"),
            std::string::npos);
}

TEST(Json, RefusesInvalidUtf8AndTrailingText) {
  EXPECT_NE(parse_error("[\"\xff\"]"), "");
  EXPECT_NE(parse_error("[\"\xc0\xaf\"]"), "");
  EXPECT_TRUE(parse_error("{}\n{}").starts_with("f.json:2:1: ")) << parse_error("{}\n{}");
}

TEST(Json, WritesNumbersThatAreNotFiniteAsWords) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(to_text({{"a", {inf, -inf, std::nan(""), 1.5}}}), R"({"a":["inf","-inf","nan",1.5]})");
  EXPECT_TRUE(std::isnan(number_from(number(std::nan("")))));
  EXPECT_EQ(number_from(number(inf)), inf);
  EXPECT_EQ(number_from(number(-inf)), -inf);
  EXPECT_EQ(number_from(number(0.1)), 0.1);
  EXPECT_THROW(number_from("1"), std::invalid_argument);
  EXPECT_THROW(number_from(nullptr), std::invalid_argument);
}

TEST(Json, ReplacesBytesThatAreNotUtf8) { EXPECT_EQ(to_text("a\xff"), "\"a\xEF\xBF\xBD\""); }

TEST(Json, ReadsFilesAndNamesThemInErrors) {
  const TemporaryFile good("{\"a\":1}");
  EXPECT_EQ(read_json_file(good.path())["a"], 1);
  const TemporaryFile empty("");
  EXPECT_TRUE(error_of([&] { read_json_file(empty.path()); }).starts_with(empty.path()));
  EXPECT_NE(error_of([] { read_json_file("/no/such/file"); }).find("No such file"), std::string::npos);
  EXPECT_NE(error_of([] { read_json_file("/tmp"); }), "");
}

}  // namespace
}  // namespace ampgate::results
