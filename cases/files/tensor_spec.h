// A tensor of a case file: sizes, type, values and layout, known before anything is allocated.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cases/files/tensor_values.h"
#include "cases/layouts.h"

namespace ampgate::cases::files {

// What a case file's tensors are read with.
struct Surroundings {
  std::filesystem::path folder;              // of the case file: data files are named from there
  std::vector<std::filesystem::path>* used;  // every other file that it names
  // Programs that the command line names (packages, modules), and folders that it names for all that is in
  // them.
  std::set<std::filesystem::path> code{};
  std::set<std::filesystem::path> folders{};

  // Machine code.
  bool may_run(const std::filesystem::path& file) const {
    return code.contains(std::filesystem::weakly_canonical(file));
  }
  // TorchScript.
  bool may_interpret(const std::filesystem::path& file) const {
    return may_run(file) || folders.contains(std::filesystem::weakly_canonical(file).parent_path());
  }
};

struct TensorSpec {
  std::string name{};  // empty: the file gives none
  std::vector<std::int64_t> sizes;
  // FP32 for floating tensors, FP64 held whole; FP16 and BF16 in the file mean values that those types hold.
  at::ScalarType type = at::kFloat;
  Values values;        // of `sizes` and `type`
  bool seeded = false;  // the values are drawn
  std::optional<Layout> layout{};
  bool weight = false;
  bool requires_grad = false;
};

// {"shape", "fill"}, {"values"} or {"file", "tensor"}, with "name", "type", "layout", "role",
// "requires_grad": docs/case-files.md. Throws results::FileError, and results::EnvironmentError for a data
// file that is not there. No tensor is made yet.
TensorSpec read_tensor(const Node& node, const Surroundings& surroundings, Holding holding = Holding::kFp32);

// The tensor; of kind kNone sizes and type alone.
at::Tensor make(const TensorSpec& spec, const std::string& name, const Fill& fill);

// "8x1024", "scalar": as it stands in trial ids.
std::string shape_name(const std::vector<std::int64_t>& sizes);

// None: contiguous. Throws what `node` throws.
std::optional<Layout> read_layout(const Node& node);

// "float16" and the like, as the files write types. Throws what `node` throws.
at::ScalarType read_type(const Node& node);

}  // namespace ampgate::cases::files
