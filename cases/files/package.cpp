#include "cases/files/package.h"

#include <c10/util/Exception.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

#include "precision/precision.h"
#include "results/error.h"
#include "results/json.h"

namespace ampgate::cases::files {
namespace {

using torch::inductor::AOTIModelPackageLoader;

constexpr auto kName = "model";  // as aoti_compile_and_package calls it
constexpr auto kAction =
    "make it with torch._inductor.aoti_compile_and_package(torch.export.export(model, inputs))";

// "float32 [128, 12], int64 [4]"
std::string described(const std::vector<at::Tensor>& tensors) {
  std::string text;
  for (const at::Tensor& tensor : tensors) {
    text += (text.empty() ? "" : ", ") + precision::type_name(tensor.scalar_type()) + " " +
            results::Json(tensor.sizes().vec()).dump();
  }
  return text;
}

}  // namespace

void load_libtorch() {
  Dl_info info{};
  const auto* known = reinterpret_cast<const void*>(&AOTIModelPackageLoader::load_metadata_from_package);
  TORCH_CHECK(::dladdr(known, &info) != 0, "LibTorch is in no shared library");
  const auto file = std::filesystem::path(info.dli_fname).parent_path() / "libtorch.so";
  TORCH_CHECK(::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr, ::dlerror());
}

Package::Package(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path_, error))
    throw results::FileError(path_.string(), "is no file that can be read", kAction);
  try {
    const auto metadata = AOTIModelPackageLoader::load_metadata_from_package(path_.string(), kName);
    const auto found = metadata.find("AOTI_DEVICE_KEY");
    TORCH_CHECK(found != metadata.end(), "it does not say for which device it was compiled");
    device_ = found->second;
  } catch (const c10::Error& problem) {
    throw results::FileError(path_.string(),
                             std::string("is no AOTInductor package: ") + problem.what_without_backtrace(),
                             kAction);
  } catch (const std::exception& problem) {
    throw results::FileError(path_.string(), std::string("is no AOTInductor package: ") + problem.what(),
                             kAction);
  }
}

Package::~Package() = default;

std::vector<at::Tensor> Package::run(const std::vector<at::Tensor>& inputs) {
  for (const at::Tensor& input : inputs) {
    const auto device = c10::DeviceTypeName(input.device().type(), /*lower_case=*/true);
    TORCH_CHECK(device == device_, path_.string(), " was compiled for ", device_, ", not for ", device);
  }
  if (!loader_) {
    // Without it, tensors of other sizes or types are read as if they were the right ones. Its code asks
    // once.
    ::setenv("AOTI_RUNTIME_CHECK_INPUTS", "1", 1);
    loader_ = std::make_unique<AOTIModelPackageLoader>(path_.string(), kName);
  }
  try {
    return loader_->run(inputs);
  } catch (const std::exception& problem) {
    const auto* ours = dynamic_cast<const c10::Error*>(&problem);
    const std::string said = ours != nullptr ? ours->what_without_backtrace() : problem.what();
    C10_THROW_ERROR(NotImplementedError, path_.string() + " takes no inputs as it is given here (" +
                                             described(inputs) +
                                             "), or fails on them: " + said.substr(0, said.find('\n')));
  }
}

}  // namespace ampgate::cases::files
