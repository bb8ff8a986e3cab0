#include "backends/modules.h"

#include <dlfcn.h>
#include <torch/version.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "backends/build_id.h"

namespace ampgate::backends {
namespace {

std::filesystem::path module_folder() {
  if (const char* folder = std::getenv("AMPGATE_MODULE_DIR"); folder != nullptr && *folder != '\0')
    return folder;
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

const Module* open_library(const std::string& kind) {
  const std::filesystem::path path = module_folder() / ("libampgate-" + kind + ".so");
  if (!std::filesystem::exists(path)) {
    throw DeviceError(kind + ": this build has no " + kind + " module (" + path.string() +
                      "); build with -DAMPGATE_" + (kind == "cuda" ? "CUDA" : "ROCM") +
                      "=ON and a LibTorch for it, or use --device cpu");
  }
  // Global, since LibTorch's device libraries come with it and user libraries may need their symbols.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    throw DeviceError(kind + ": " + path.string() + " cannot be loaded (" + dlerror() +
                      "); install the libraries of LibTorch's " + kind + " build, or use --device cpu");
  }
  const auto entry = reinterpret_cast<const Module* (*)()>(dlsym(library, kModuleSymbol));
  const Module* const module = entry == nullptr ? nullptr : entry();
  if (module == nullptr || module->abi != module_abi()) {
    throw DeviceError(kind + ": " + path.string() +
                      " is of another build; build and install all of ampgate again");
  }
  return module;
}

}  // namespace

std::string module_abi() { return std::string(build_id()) + " LibTorch " + TORCH_VERSION; }

const Module& load_module(const std::string& kind) {
  static std::map<std::string, const Module*> loaded;
  const Module*& module = loaded[kind];
  if (module == nullptr) module = open_library(kind);
  return *module;
}

std::unique_ptr<Backend> open_device(const std::string& kind, std::int64_t index) {
  const Module& module = load_module(kind);
  const std::int64_t count = module.device_count();
  if (count == 0) {
    throw DeviceError(kind + ": no device, or no driver that LibTorch can use; check with " +
                      (kind == "cuda" ? "nvidia-smi" : "rocm-smi") + ", or use --device cpu");
  }
  if (index >= count) {
    throw DeviceError(kind + ":" + std::to_string(index) + ": there are only " + std::to_string(count) +
                      " devices; numbers start at 0");
  }
  return module.open(index);
}

}  // namespace ampgate::backends
