// What a run in FP64 makes without naming a type (`arange`, `linspace`, an integer divided by a number) is
// FP64 too, where the trial's is FP32.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/DefaultDtype.h>

namespace ampgate::validate {

class Fp64Defaults {
 public:
  Fp64Defaults() : before_(c10::get_default_dtype()) {
    c10::set_default_dtype(caffe2::TypeMeta::Make<double>());
  }
  ~Fp64Defaults() { c10::set_default_dtype(before_); }
  Fp64Defaults(const Fp64Defaults&) = delete;
  Fp64Defaults& operator=(const Fp64Defaults&) = delete;

 private:
  caffe2::TypeMeta before_;
};

}  // namespace ampgate::validate
