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
  // Threads that sleep at once (OMP_WAIT_POLICY=passive) made small operators up to 24 times slower than
  // users see them; threads that spin on for long (the default) made them up to three times slower beside
  // other processes. Spinning for some tens of microseconds is as fast as the default where nothing competes,
  // and gives way else. Bound, threads of one process do not meet on one CPU, which made times of small
  // operators differ by ten percent.
  result.set = {{"OMP_NUM_THREADS", count}, {"OMP_DYNAMIC", "false"},   {"GOMP_SPINCOUNT", "10000"},
                {"OMP_PROC_BIND", "true"},  {"MKL_NUM_THREADS", count}, {"MKL_DYNAMIC", "false"}};
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
