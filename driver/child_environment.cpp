#include "driver/child_environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace ampgate::driver {
namespace {

// Variables by which OpenMP, MKL, oneDNN, ATen, cuBLAS, MIOpen and glibc change threads, kernels, numerics or
// memory.
constexpr std::array<std::string_view, 17> kNeutralised{"OMP_",
                                                        "GOMP_",
                                                        "KMP_",
                                                        "MKL_",
                                                        "ONEDNN_",
                                                        "DNNL_",
                                                        "ATEN_",
                                                        "MALLOC_",
                                                        "GLIBC_TUNABLES",
                                                        "CUBLAS_",
                                                        "CUDNN_",
                                                        "MIOPEN_",
                                                        "NVIDIA_TF32_OVERRIDE",
                                                        "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
                                                        "TORCH_BLAS_PREFER_",
                                                        "HIPBLASLT_",
                                                        "PYTORCH_TUNABLEOP_"};

bool is_neutralised(std::string_view name) {
  return std::any_of(kNeutralised.begin(), kNeutralised.end(),
                     [&](std::string_view prefix) { return name.substr(0, prefix.size()) == prefix; });
}

}  // namespace

ChildEnvironment child_environment(int threads) {
  ChildEnvironment result;
  result.removed = results::Json::object();
  const auto count = std::to_string(threads);
  // Passive waiting: two OpenMP threads beside a competing process slow down 10 to 200 times when they spin.
  result.set = {{"OMP_NUM_THREADS", count},
                {"OMP_DYNAMIC", "false"},
                {"OMP_WAIT_POLICY", "passive"},
                {"MKL_NUM_THREADS", count},
                {"MKL_DYNAMIC", "false"}};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const auto name = text.substr(0, text.find('='));
    if (!is_neutralised(name)) {
      result.variables.emplace_back(text);
    } else if (text.size() > name.size()) {
      result.removed[std::string(name)] = std::string(text.substr(name.size() + 1));
    }
  }
  for (const auto& [name, value] : result.set.items())
    result.variables.push_back(name + "=" + value.get<std::string>());
  return result;
}

}  // namespace ampgate::driver
