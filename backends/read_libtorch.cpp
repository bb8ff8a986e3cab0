#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <dlfcn.h>
#include <torch/version.h>

#include <string>

#include "backends/settings.h"

namespace ampgate::backends {
namespace {

// The value of "NAME=value" in show_config's list of build settings; empty when it is not there.
std::string build_setting(const std::string& config, const std::string& name) {
  const std::string key = " " + name + "=";
  const std::size_t found = config.find(key);
  if (found == std::string::npos) return {};
  const std::size_t begin = found + key.size();
  return config.substr(begin, config.find_first_of(",\n", begin) - begin);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Not at::hasCUDA(): asked before the module is loaded, it would settle for "no" in the whole process.
bool cuda_loaded() { return dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD) != nullptr; }

}  // namespace

Fields read_libtorch() {
  const std::string config = at::show_config();
  Fields fields{
      {"version", TORCH_VERSION},
      {"mkl", first_line(at::get_mkl_version())},
      {"onednn", first_line(at::get_mkldnn_version())},
      {"openmp", first_line(at::get_openmp_version())},
      {"parallel_backend", std::string(AT_PARALLEL_OPENMP ? "OpenMP" : "native")},
      {"cuda_loaded", cuda_loaded() ? "yes" : "no"},
  };
  for (const char* name :
       {"BLAS_INFO", "LAPACK_INFO", "BUILD_TYPE", "CUDA_VERSION", "CUDNN_VERSION", "COMMIT_SHA",
        "CXX_COMPILER", "PERF_WITH_AVX512", "USE_CUDA", "USE_ROCM", "USE_MKL", "USE_MKLDNN"}) {
    if (std::string value = build_setting(config, name); !value.empty())
      fields.emplace_back(name, std::move(value));
  }
  return fields;
}

}  // namespace ampgate::backends
