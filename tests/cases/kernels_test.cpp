// Operators that have a kernel for a device, and operators for which something else would be called.
#include "cases/files/kernels.h"

#include <ATen/ATen.h>
#include <ATen/native/CPUFallback.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include "cases/files/operator_case.h"

namespace {

at::Tensor twice(const at::Tensor& x) { return x * 2; }

void on_the_cpu_instead(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  at::native::cpu_fallback(op, stack);
}

}  // namespace

TORCH_LIBRARY(ampgate_kernels_test, library) {
  library.def("on_cpu(Tensor x) -> Tensor");
  library.def("on_cuda(Tensor x) -> Tensor");
  library.def("derived(Tensor x) -> Tensor");
  library.def("anywhere(Tensor x) -> Tensor", twice);
}
TORCH_LIBRARY_IMPL(ampgate_kernels_test, CPU, library) {
  library.impl("on_cpu", twice);
  library.impl("derived", twice);
}
TORCH_LIBRARY_IMPL(ampgate_kernels_test, CUDA, library) { library.impl("on_cuda", twice); }
TORCH_LIBRARY_IMPL(ampgate_kernels_test, Autograd, library) { library.impl("derived", twice); }
// As some back ends have it for whatever they lack: copy to the CPU, compute there, copy back.
TORCH_LIBRARY_IMPL(_, CUDA, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&on_the_cpu_instead>());
}

namespace ampgate::cases::files {
namespace {

std::string missing(const std::string& op, bool backward, c10::DeviceType device) {
  const results::Json json{{"ampgate_case", 1},
                           {"name", "mine"},
                           {"operator", op},
                           {"backward", backward},
                           {"arguments", {{{"tensor", {{"shape", {3}}, {"fill", "normal"}}}}}}};
  std::vector<std::filesystem::path> used;
  const Document document(json, "mine.json", used);
  return operator_cases(document).front().missing_kernel(device);
}

TEST(Kernels, OfTheDevice) {
  EXPECT_EQ(missing("ampgate_kernels_test::on_cpu", false, c10::kCPU), "");
  EXPECT_EQ(missing("ampgate_kernels_test::on_cuda", false, c10::kCUDA), "");
  EXPECT_EQ(missing("ampgate_kernels_test::on_cuda", false, c10::kCPU),
            "ampgate_kernels_test::on_cuda has no kernel for device type cpu");
}

TEST(Kernels, AFallbackToTheCpuIsNone) {
  EXPECT_EQ(missing("ampgate_kernels_test::on_cpu", false, c10::kCUDA),
            "ampgate_kernels_test::on_cpu has no kernel for device type cuda");
}

TEST(Kernels, OfOtherOperators) {
  for (const auto device : {c10::kCPU, c10::kCUDA}) {
    EXPECT_EQ(missing("ampgate_kernels_test::anywhere", false, device), "");
    EXPECT_EQ(missing("ampgate_kernels_test::anywhere", true, device), "");
  }
  for (const char* op : {"aten::relu", "aten::silu", "aten::gelu"})
    EXPECT_EQ(missing(op, true, c10::kCPU), "") << op;
}

TEST(Kernels, ForGradients) {
  EXPECT_EQ(missing("ampgate_kernels_test::derived", true, c10::kCPU), "");
  EXPECT_EQ(missing("ampgate_kernels_test::on_cpu", true, c10::kCPU),
            "ampgate_kernels_test::on_cpu has no derivative here");
}

}  // namespace
}  // namespace ampgate::cases::files
