// Weights and datasets that ship with the program, as safetensors files in share/ampgate/data.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <string>

namespace ampgate::cases {

// Tensors by name, on the CPU, each with its own memory. Throws as read_safetensors does.
std::map<std::string, at::Tensor> load_safetensors(const std::filesystem::path& file);

// share/ampgate/data next to the running program (build tree and install tree are alike), or $AMPGATE_DATA.
std::filesystem::path data_file(const std::string& name);

}  // namespace ampgate::cases
