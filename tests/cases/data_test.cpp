#include "cases/data.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>

#include "tests/results/temporary_file.h"

namespace ampgate::cases {
namespace {

using results::TemporaryFile;

std::string with_length(std::uint64_t length, const std::string& rest) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + rest;
}

std::string safetensors(const std::string& header, const std::string& data) {
  return with_length(header.size(), header + data);
}

std::map<std::string, at::Tensor> load(const std::string& bytes) {
  const TemporaryFile file(bytes);
  return load_safetensors(file.path());
}

// The message with which the file is refused; empty when it is accepted.
std::string refusal(const std::string& bytes) {
  const TemporaryFile file(bytes);
  try {
    load_safetensors(file.path());
  } catch (const std::runtime_error& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find(file.path()), std::string::npos) << "names no file: " << message;
    return message;
  }
  return "";
}

std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"a":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

TEST(Safetensors, ReadsTypesSizesAndValues) {
  const std::string header =
      R"({"__metadata__":{"k":"v"},"b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]},)"
      R"("a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"s":{"dtype":"U8","shape":[],"data_offsets":[11,12]},)"
      R"("e":{"dtype":"I64","shape":[0,4],"data_offsets":[12,12]}}   )";
  const float values[] = {1.5f, -0.0f};
  const auto tensors =
      load(safetensors(header, std::string(reinterpret_cast<const char*>(values), 8) + "\1\2\377\7"));
  ASSERT_EQ(tensors.size(), 4u);
  EXPECT_TRUE(at::equal(tensors.at("a"), at::tensor({1.5f, 0.0f}).view({1, 2})));
  EXPECT_TRUE(std::signbit(tensors.at("a")[0][1].item<float>()));
  EXPECT_TRUE(at::equal(tensors.at("b"), at::tensor({1, 2, 255}, at::kByte)));
  EXPECT_EQ(tensors.at("s").dim(), 0);
  EXPECT_EQ(tensors.at("s").item<int>(), 7);
  EXPECT_EQ(tensors.at("e").sizes(), (at::IntArrayRef{0, 4}));
  EXPECT_EQ(tensors.at("e").scalar_type(), at::kLong);
}

TEST(Safetensors, ReadsAllTypes) {
  const std::pair<const char*, at::ScalarType> types[] = {
      {"F64", at::kDouble}, {"F32", at::kFloat}, {"F16", at::kHalf},  {"BF16", at::kBFloat16},
      {"I64", at::kLong},   {"I32", at::kInt},   {"I16", at::kShort}, {"I8", at::kChar},
      {"U8", at::kByte},    {"BOOL", at::kBool}};
  for (const auto& [name, type] : types) {
    const std::size_t size = c10::elementSize(type);
    const auto header = one('"' + std::string(name) + '"', "[1]", "[0," + std::to_string(size) + "]");
    EXPECT_EQ(load(safetensors(header, std::string(size, '\0'))).at("a").scalar_type(), type) << name;
  }
}

TEST(Safetensors, RefusesABrokenHeader) {
  EXPECT_NE(refusal(""), "");
  EXPECT_NE(refusal("1234567"), "");
  EXPECT_NE(refusal(with_length(0, "")), "");
  EXPECT_NE(refusal(with_length(3, "{}")), "");
  EXPECT_NE(refusal(with_length(~std::uint64_t{0}, "{}")), "");
  EXPECT_NE(refusal(with_length(1, "{}")), "");
  EXPECT_NE(refusal(safetensors("[]", "")), "");
  EXPECT_NE(refusal(safetensors(R"({"a":1})", "")), "");
  EXPECT_NE(refusal(safetensors(std::string(100000, '['), "")), "");
  const std::string a = R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  EXPECT_NE(refusal(safetensors("{" + a + "," + a + "}", "x")), "");
}

TEST(Safetensors, RefusesAFileThatIsNotThere) {
  EXPECT_THROW(load_safetensors("/nonexistent/file.safetensors"), std::runtime_error);
  EXPECT_THROW(load_safetensors("/tmp"), std::runtime_error);
}

TEST(Safetensors, RefusesWrongDescriptions) {
  const auto refused = [](const char* dtype, const char* shape, const char* offsets) {
    return refusal(safetensors(one(dtype, shape, offsets), "12345678")) != "";
  };
  EXPECT_FALSE(refused(R"("F32")", "[2]", "[0,8]"));
  EXPECT_TRUE(refused(R"("F8")", "[2]", "[0,8]"));
  EXPECT_TRUE(refused("32", "[2]", "[0,8]"));
  EXPECT_TRUE(refused(R"("F32")", "2", "[0,8]"));
  EXPECT_TRUE(refused(R"("F32")", "[-2]", "[0,8]"));
  EXPECT_TRUE(refused(R"("F32")", "[2.0]", "[0,8]"));
  EXPECT_TRUE(refused(R"("F32")", R"(["2"])", "[0,8]"));
  EXPECT_TRUE(refused(R"("F32")", "[3]", "[0,8]"));
  EXPECT_TRUE(refused(R"("F32")", "[2]", "[0,8,8]"));
  EXPECT_TRUE(refused(R"("F32")", "[2]", "[8,0]"));
  EXPECT_TRUE(refused(R"("F32")", "[2]", "[-8,0]"));
  EXPECT_TRUE(refused(R"("F32")", "[2]", R"({"0":0,"1":8})"));
  EXPECT_NE(refusal(safetensors(R"({"a":{"dtype":"U8","shape":[0]}})", "")), "");
}

TEST(Safetensors, RefusesShapesThatOverflow) {
  // 2^62 * 4 bytes is 2^64, which wraps to 0; so does 2^32 * 2^32.
  EXPECT_NE(refusal(safetensors(one(R"("F32")", "[4611686018427387904]", "[0,0]"), "")), "");
  EXPECT_NE(refusal(safetensors(one(R"("U8")", "[4294967296,4294967296]", "[0,0]"), "")), "");
  EXPECT_NE(refusal(safetensors(one(R"("U8")", "[0,4294967296,4294967296]", "[0,0]"), "")), "");
  EXPECT_NE(refusal(safetensors(one(R"("U8")", "[18446744073709551615]", "[0,18446744073709551615]"), "")),
            "");
  EXPECT_NE(refusal(safetensors(one(R"("U8")", "[18446744073709551616]", "[0,1]"), "x")), "");
}

TEST(Safetensors, RefusesOverlapsHolesAndWrongLengths) {
  const auto two = [](const std::string& a, const std::string& b) {
    return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + a +
           R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + b + "}}";
  };
  EXPECT_EQ(refusal(safetensors(two("[4,8]", "[0,4]"), "12345678")), "");
  EXPECT_NE(refusal(safetensors(two("[0,4]", "[3,7]"), "1234567")).find("overlaps"), std::string::npos);
  EXPECT_NE(refusal(safetensors(two("[0,4]", "[0,4]"), "1234")).find("overlaps"), std::string::npos);
  EXPECT_NE(refusal(safetensors(two("[0,4]", "[5,9]"), "123456789")).find("hole"), std::string::npos);
  EXPECT_NE(refusal(safetensors(two("[1,5]", "[5,9]"), "123456789")).find("hole"), std::string::npos);
  EXPECT_NE(refusal(safetensors(two("[0,4]", "[4,8]"), "1234567")).find("truncated"), std::string::npos);
  EXPECT_NE(refusal(safetensors(two("[0,4]", "[4,8]"), "123456789")).find("after the last"),
            std::string::npos);
}

TEST(DataFile, FollowsTheEnvironmentElseTheProgram) {
  const char* before = std::getenv("AMPGATE_DATA");
  const auto restored = before == nullptr ? std::nullopt : std::optional<std::string>(before);
  ::setenv("AMPGATE_DATA", "/somewhere", 1);
  EXPECT_EQ(data_file("x.safetensors"), "/somewhere/x.safetensors");
  ::unsetenv("AMPGATE_DATA");
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  const auto root = program.parent_path().parent_path().parent_path().parent_path();
  EXPECT_EQ(data_file("x.safetensors"), root / "share/ampgate/data/x.safetensors");
  if (restored) ::setenv("AMPGATE_DATA", restored->c_str(), 1);
}

}  // namespace
}  // namespace ampgate::cases
