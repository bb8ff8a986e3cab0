// An AOTInductor package: a model compiled to machine code for one device and one type.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace torch::inductor {
class AOTIModelPackageLoader;
}

namespace ampgate::cases::files {

// Compiled packages ask for libtorch.so, which this program need not load: an empty library that depends on
// all of LibTorch, the part for GPUs included. Before anything looks at what is loaded. Throws c10::Error.
void load_libtorch();

class Package {
 public:
  // Reads what the package says of itself; no code of it is loaded. Throws results::FileError for what is no
  // such package.
  explicit Package(std::filesystem::path path);
  ~Package();

  // Loads the code at the first call. Throws what it throws: also for inputs of other sizes or types than it
  // was compiled for.
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs);

  // "cpu", "cuda": what it was compiled for.
  const std::string& device() const { return device_; }

 private:
  std::filesystem::path path_;
  std::string device_;
  std::unique_ptr<torch::inductor::AOTIModelPackageLoader> loader_;
};

}  // namespace ampgate::cases::files
