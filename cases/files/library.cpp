#include "cases/files/library.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <dlfcn.h>
#include <torch/headeronly/version.h>

#include <set>

#include "results/error.h"

namespace ampgate::cases::files {
namespace {

std::set<std::string> operators() {
  std::set<std::string> names;
  for (const auto& op : c10::Dispatcher::singleton().getAllOpNames()) names.insert(op.name);
  return names;
}

std::string libtorch() {
  return "LibTorch " + std::to_string(TORCH_VERSION_MAJOR) + '.' + std::to_string(TORCH_VERSION_MINOR);
}

}  // namespace

std::vector<std::string> load_library(const std::filesystem::path& path) {
  const auto before = operators();
  // Absolute: a bare name would be looked for elsewhere.
  if (dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
    throw results::FileError(path.string(), std::string("cannot be loaded: ") + dlerror(),
                             "build it against " + libtorch() + ", which this worker has");
  }
  std::vector<std::string> added;
  for (const std::string& name : operators()) {
    if (!before.contains(name)) added.push_back(name);
  }
  if (added.empty()) {
    throw results::FileError(path.string(), "registers no operator that LibTorch has not already",
                             "register them with TORCH_LIBRARY");
  }
  return added;
}

}  // namespace ampgate::cases::files
