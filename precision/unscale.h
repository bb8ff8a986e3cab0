// The scaler's work on gradients: are they finite, and multiply them by the inverse of the scale.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <vector>

namespace ampgate::precision {

struct FoundInf {
  c10::Device device;
  at::Tensor value;  // 0-dim float32 on that device: 1 if a gradient there was not finite, else 0
};

// Multiplies every defined gradient of `parameters` in place by `inverse`, a 0-dim float32 tensor, those that
// are not finite too. Finiteness is tested before the product. Of sparse gradients the values are multiplied
// as they lie, duplicates not summed. Returns one entry for each device that holds gradients. Throws
// GradScalerError for a float16 gradient, before any gradient is touched.
std::vector<FoundInf> multiply_gradients(const std::vector<at::Tensor>& parameters,
                                         const at::Tensor& inverse);

}  // namespace ampgate::precision
