// One operator call again, in FP64 on the CPU, on the values that its kernel took.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "validate/trace.h"

namespace ampgate::validate {

// While it lives nothing that is called changes the run that is being looked at: no autograd, no autocast, no
// recording of operators.
class Aside {
 public:
  Aside();
  ~Aside();
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

 private:
  struct Guards;
  std::unique_ptr<Guards> guards_;
};

// Tensors in the order of the record's inputs: floating ones rounded to the type that the kernel took and
// widened to FP64, all on the CPU.
std::vector<at::Tensor> seen_inputs(const CallView& view);

// The call's arguments with those tensors; types that it asks for by name and defaults that depend on a type
// (nan_to_num, the eps of rms_norm) fitted.
torch::jit::Stack fp64_arguments(const CallView& view);

// The outputs in FP64, in the order of the record's. None where that is another function (random numbers) or
// LibTorch cannot say (no FP64 kernel).
std::optional<std::vector<at::Tensor>> evaluate_fp64(const CallView& view);

}  // namespace ampgate::validate
