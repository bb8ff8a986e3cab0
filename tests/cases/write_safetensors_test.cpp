#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

#include "cases/safetensors.h"
#include "tests/results/temporary_file.h"

namespace ampgate::cases {
namespace {

using Tensors = std::map<std::string, at::Tensor>;

std::string bytes_of(const Tensors& tensors) {
  std::string bytes;
  write_safetensors(tensors, [&](std::string_view piece) { bytes += piece; });
  return bytes;
}

Tensors read_back(const Tensors& tensors) {
  const results::TemporaryFile file(bytes_of(tensors));
  return read_safetensors(file.path(), "");
}

std::string data_of(const at::Tensor& tensor) {
  const at::Tensor dense = tensor.contiguous();
  return {static_cast<const char*>(dense.const_data_ptr()), dense.nbytes()};
}

std::string refusal(const std::string& name, const at::Tensor& tensor) {
  bool written = false;
  try {
    write_safetensors({{"good", at::zeros({1})}, {name, tensor}}, [&](std::string_view) { written = true; });
  } catch (const std::invalid_argument& error) {
    EXPECT_FALSE(written);
    return error.what();
  }
  return "";
}

// From safetensors.torch.save of the Python package safetensors 0.8.0, for the same tensors.
TEST(WriteSafetensors, WritesTheBytesOfTheFormatsOwnLibrary) {
  const Tensors tensors{
      {"b", at::tensor({1, 2, 3}, at::kByte)}, {"a", at::tensor({1.5f, -0.0f}).view({1, 2})},
      {"s", at::scalar_tensor(7, at::kLong)},  {"e", at::empty({0, 4}, at::kDouble)},
      {"h", at::tensor({1.0f}).to(at::kHalf)}, {"g", at::tensor({1.0f}).to(at::kBFloat16)},
      {"f", at::tensor({1, 0}).to(at::kBool)}, {"i", at::tensor({5}, at::kInt)},
      {"c", at::tensor({-5}, at::kChar)},      {"d", at::tensor({-5}, at::kShort)},
      {"q\"\xc3\xa9\x01", at::tensor({2.0f})}};
  const std::string header =
      R"({"s":{"dtype":"I64","shape":[],"data_offsets":[0,8]},"e":{"dtype":"F64","shape":[0,4],"data_offsets":[8,8]},)"
      R"("a":{"dtype":"F32","shape":[1,2],"data_offsets":[8,16]},)"
      "\"q\\\"\xc3\xa9\\u0001\""
      R"(:{"dtype":"F32","shape":[1],"data_offsets":[16,20]},"i":{"dtype":"I32","shape":[1],"data_offsets":[20,24]},)"
      R"("g":{"dtype":"BF16","shape":[1],"data_offsets":[24,26]},"h":{"dtype":"F16","shape":[1],"data_offsets":[26,28]},)"
      R"("d":{"dtype":"I16","shape":[1],"data_offsets":[28,30]},"c":{"dtype":"I8","shape":[1],"data_offsets":[30,31]},)"
      R"("b":{"dtype":"U8","shape":[3],"data_offsets":[31,34]},"f":{"dtype":"BOOL","shape":[2],"data_offsets":[34,36]}}  )";
  const std::string expected = std::string("\x68\x02\0\0\0\0\0\0", 8) + header +
                               std::string(
                                   "\x07\0\0\0\0\0\0\0"
                                   "\0\0\xc0\x3f\0\0\0\x80"
                                   "\0\0\0\x40"
                                   "\x05\0\0\0"
                                   "\x80\x3f"
                                   "\0\x3c"
                                   "\xfb\xff"
                                   "\xfb"
                                   "\x01\x02\x03"
                                   "\x01\0",
                                   36);
  EXPECT_EQ(bytes_of(tensors), expected);
}

TEST(WriteSafetensors, KeepsEveryBit) {
  // Signalling and quiet NaN with payloads, -0, subnormals, infinities.
  const at::Tensor floats =
      at::tensor({0x7f800001, 0x7fc12345, static_cast<int>(0xffabcdef), static_cast<int>(0x80000000), 1,
                  static_cast<int>(0x807fffff), 0x7f800000, static_cast<int>(0xff800000)},
                 at::kInt);
  const at::Tensor halves = at::arange(0, 65536, at::kInt).to(at::kShort);  // every pattern of 16 bits
  const at::Tensor doubles = at::tensor(
      std::vector<std::int64_t>{0x7ff0000000000001, std::numeric_limits<std::int64_t>::min(), 1}, at::kLong);
  const Tensors tensors{{"f", floats.view(at::kFloat)},
                        {"h", halves.view(at::kHalf)},
                        {"b", halves.view(at::kBFloat16)},
                        {"d", doubles.view(at::kDouble)}};
  const Tensors back = read_back(tensors);
  EXPECT_TRUE(at::equal(back.at("f").view(at::kInt), floats));
  EXPECT_TRUE(at::equal(back.at("h").view(at::kShort), halves));
  EXPECT_TRUE(at::equal(back.at("b").view(at::kShort), halves));
  EXPECT_TRUE(at::equal(back.at("d").view(at::kLong), doubles));
}

TEST(WriteSafetensors, WritesLogicalOrderWhateverTheStrides) {
  const at::Tensor patterns = at::arange(0, 65536, at::kInt).to(at::kShort).view({256, 256});
  const at::Tensor image = at::arange(120, at::kInt).view({2, 3, 4, 5});
  const Tensors odd{{"transposed", patterns.view(at::kBFloat16).t()},
                    {"part", patterns.view(at::kHalf).slice(0, 3, 200, 7).select(1, 9)},
                    {"expanded", at::scalar_tensor(3, at::kInt).expand({2, 2})},
                    {"channels_last", image.contiguous(at::MemoryFormat::ChannelsLast)},
                    {"empty", at::empty({3, 0, 2}, at::kBool)},
                    {"leaf", at::ones({2}).requires_grad_(true)}};
  Tensors even;
  for (const auto& [name, tensor] : odd)
    even.emplace(name, tensor.detach().clone(at::MemoryFormat::Contiguous));
  EXPECT_EQ(bytes_of(odd), bytes_of(even));
  const Tensors back = read_back(odd);
  for (const auto& [name, tensor] : even) {
    EXPECT_EQ(back.at(name).sizes(), tensor.sizes()) << name;
    EXPECT_EQ(back.at(name).scalar_type(), tensor.scalar_type()) << name;
    EXPECT_EQ(data_of(back.at(name)), data_of(tensor)) << name;
  }
}

TEST(WriteSafetensors, WritesNoTensorsAtAll) {
  EXPECT_EQ(bytes_of({}), std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
  EXPECT_TRUE(read_back({}).empty());
}

TEST(WriteSafetensors, WritesANegatedView) {
  const at::Tensor negated = at::_neg_view(at::tensor({1.0f, -2.0f}));
  EXPECT_TRUE(at::equal(read_back({{"n", negated}}).at("n"), at::tensor({-1.0f, 2.0f})));
}

TEST(WriteSafetensors, RefusesWhatTheFormatCannotHold) {
  EXPECT_EQ(refusal("x", at::zeros({1})), "");
  EXPECT_NE(refusal("x", at::Tensor()).find("'x'"), std::string::npos);
  EXPECT_NE(refusal("x", at::zeros({1}, at::kComplexFloat)).find("ComplexFloat"), std::string::npos);
  EXPECT_NE(refusal("x", at::eye(2).to_sparse()).find("not dense"), std::string::npos);
  EXPECT_NE(refusal("x", at::empty({2}, at::TensorOptions().device(at::kMeta))).find("not dense"),
            std::string::npos);
  EXPECT_NE(refusal("__metadata__", at::zeros({1})), "");
  EXPECT_NE(refusal("\xff", at::zeros({1})), "");
}

}  // namespace
}  // namespace ampgate::cases
