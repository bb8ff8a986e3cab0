// Tensors by name in one file: the safetensors format, https://github.com/huggingface/safetensors. 8 bytes
// give the length of a JSON header that names types, sizes and places; the tensors' bytes follow,
// little-endian.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ampgate::cases {

// Tensors by name, on the CPU, each with its own memory. Checks header length, offsets, overlaps, types and
// sizes before it allocates. Throws EnvironmentError when the file cannot be opened and FileError when it is
// wrong, with the file, what is wrong and `action`.
std::map<std::string, at::Tensor> read_safetensors(const std::filesystem::path& file,
                                                   const std::string& action);

// What the header of such a file says of its tensors. Throws as above.
struct StoredTensor {
  at::ScalarType type;
  std::vector<std::int64_t> sizes;
};
std::map<std::string, StoredTensor> describe_safetensors(const std::filesystem::path& file,
                                                         const std::string& action);

// One of its tensors. Throws as above, also when there is none of that name.
at::Tensor read_safetensors(const std::filesystem::path& file, const std::string& name,
                            const std::string& action);

// Hands the bytes of such a file to `sink`, piece by piece: first the header, then each tensor. The same
// bytes for the same tensors, whatever their strides and device. Before the first piece it throws
// std::invalid_argument, with the name, for a tensor that the format cannot hold: undefined, not dense
// (sparse, quantized, meta), of a type that read_safetensors does not know, or named "__metadata__" or not in
// UTF-8.
void write_safetensors(const std::map<std::string, at::Tensor>& tensors,
                       const std::function<void(std::string_view)>& sink);

}  // namespace ampgate::cases
