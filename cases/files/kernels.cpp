#include "cases/files/kernels.h"

#include <c10/core/DispatchKey.h>

#include <sstream>

namespace ampgate::cases::files {
namespace {

using c10::DispatchKey;

std::string device_word(c10::DeviceType device) { return c10::DeviceTypeName(device, /*lower_case=*/true); }

// Its own, or one that computes by other operators on whatever device they are. Not a fallback for whatever
// lacks one, which may compute elsewhere.
bool has_kernel(const c10::OperatorHandle& op, DispatchKey backend) {
  return op.hasKernelForDispatchKey(backend) ||
         op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd) ||
         op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutogradNonFunctional) ||
         op.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd);
}

// LibTorch has a fallback for operators without a derivative, which gives none: it does not count.
bool differentiable(const c10::OperatorHandle& op, DispatchKey backend) {
  const DispatchKey autograd =
      backend == DispatchKey::CPU ? DispatchKey::AutogradCPU : DispatchKey::AutogradCUDA;
  return op.hasKernelForDispatchKey(autograd) || op.hasKernelForDispatchKey(DispatchKey::Autograd) ||
         op.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd);
}

}  // namespace

std::string missing_kernel(const Program& program, c10::DeviceType device) {
  const DispatchKey key = device == c10::DeviceType::CPU ? DispatchKey::CPU : DispatchKey::CUDA;
  for (const Step& step : program.steps) {
    const auto& op = step.call.op();
    const std::string name = op.schema().name();
    if (!has_kernel(op, key))
      return name + " has no kernel for device type " + device_word(device);
    if (program.backward() && !differentiable(op, key)) return name + " has no derivative here";
  }
  return {};
}

}  // namespace ampgate::cases::files
