// Operators of the user's own, from a shared library that the command line names.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <filesystem>
#include <string>
#include <vector>

namespace ampgate::cases::files {

struct LoadedLibrary {
  std::vector<std::string> operators;             // that it registers, or adds kernels to: "example::norm.out"
  std::vector<std::filesystem::path> companions;  // libraries that it brought along, but LibTorch's and the system's
};

// Throws results::FileError for one that cannot be loaded (another LibTorch, a missing symbol, an operator that
// there is already), registers no operator, or replaces kernels of LibTorch's own. What cannot be caught (a
// crash of its initialisation) ends the process.
LoadedLibrary load_library(const std::filesystem::path& path);

// Is it none of LibTorch's own?
bool is_foreign(const c10::OperatorHandle& op);

}  // namespace ampgate::cases::files
