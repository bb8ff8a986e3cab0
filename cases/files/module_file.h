// A TorchScript file: checked before any of it is loaded, and loaded as often as a module of its own is
// needed.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <filesystem>
#include <memory>
#include <string>

namespace ampgate::cases::files {

class ModuleFile {
 public:
  // Reads the whole file. Throws results::FileError for one that is no TorchScript archive, that is larger
  // than this machine could use, or whose code would do anything while it is loaded, or to other files.
  explicit ModuleFile(std::filesystem::path path);

  // With types and functions of its own, on the CPU. Throws results::FileError: for operators that nobody
  // registered, with their name.
  torch::jit::Module load() const;

  const std::filesystem::path& path() const { return path_; }

  // Throws results::FileError about this file.
  [[noreturn]] void fail(const std::string& problem, const std::string& action) const;

 private:
  std::filesystem::path path_;
  std::shared_ptr<const std::string> bytes_;
};

}  // namespace ampgate::cases::files
