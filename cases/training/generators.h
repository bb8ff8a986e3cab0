// The random generators that operators draw from where they are given none, as dropout does: the CPU's, and
// the device's own.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <map>
#include <string>

namespace ampgate::cases {

// By type of device: "cpu", "cuda". Bytes on the CPU.
using GeneratorStates = std::map<std::string, at::Tensor>;

void seed_generators(std::uint64_t seed, c10::Device device);

GeneratorStates generator_states(c10::Device device);

// Throws std::invalid_argument, with nothing changed, for states that these generators cannot take.
void check_generator_states(const GeneratorStates& states, c10::Device device);

// States that were checked.
void set_generator_states(const GeneratorStates& states, c10::Device device);

}  // namespace ampgate::cases
