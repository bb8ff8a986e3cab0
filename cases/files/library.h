// Operators of the user's own, from a shared library that the command line names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ampgate::cases::files {

// Loads the library and gives the names of the operators that it registers. Throws results::FileError for one
// that cannot be loaded (another LibTorch, a missing symbol) or registers none.
std::vector<std::string> load_library(const std::filesystem::path& path);

}  // namespace ampgate::cases::files
