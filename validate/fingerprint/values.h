// Values of probes as text, so that a fingerprint is the same on every machine.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "validate/fingerprint/probe.h"

namespace ampgate::validate::fingerprint {

// The shortest text that reads back to the same FP32 value; "nan" whatever its payload, "-0" with its sign.
std::string text(float value);
// Of every element, in logical order; floating tensors of any type and device.
std::vector<std::string> texts(const at::Tensor& tensor);

// Bits of the elements in hexadecimal: of 16-bit types four digits, of FP32 eight.
std::vector<std::string> bits(const at::Tensor& tensor);

// FP32 tensor with these bits on the CPU.
at::Tensor from_bits(const std::vector<std::uint32_t>& bits);

// What a value means; what is not in the list is named as it is.
using Meanings = std::vector<std::pair<std::string, std::string>>;
std::string meaning(const Meanings& meanings, const std::string& value);

// "kept" where all values that were seen mean the same, else "flushed (4 of 36); kept (32 of 36) layouts and
// sizes".
std::string in_words(const Meanings& meanings, const std::map<std::string, int>& seen);

// Ascending numbers: "2 to 5, 9"; "none" without any.
std::string in_ranges(const std::vector<int>& numbers);

}  // namespace ampgate::validate::fingerprint
