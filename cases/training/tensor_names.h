// How a trainer's checkpoint names its tensors: each by one of these and the name of the case's tensor.
#pragma once

#include <string>

namespace ampgate::cases::tensor_names {

constexpr const char* kWeights = "weights.";
constexpr const char* kBuffers = "buffers.";
constexpr const char* kGenerators = "generators.";
inline std::string optimizer(std::size_t number) { return "optimizers." + std::to_string(number) + "."; }

}  // namespace ampgate::cases::tensor_names
