// The types in which a kernel took its tensors. An interceptor stands above autocast and sees what the caller
// passed; the conversions happen below it and show in the innermost call of the same operator, or in
// conversions inside an operator that is made of others.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <c10/core/ScalarType.h>

#include <string>
#include <vector>

namespace ampgate::validate {

// Watches this thread while it lives. Not nested.
class InnerTypes {
 public:
  InnerTypes();
  ~InnerTypes();
  InnerTypes(const InnerTypes&) = delete;
  InnerTypes& operator=(const InnerTypes&) = delete;

  // Around one call: `tensors` are its defined tensor arguments in order. `end` gives for each the type it
  // was converted to, its own type where it was not.
  void begin(const std::string& operator_name);
  std::vector<c10::ScalarType> end(const std::vector<at::Tensor>& tensors);

 private:
  at::CallbackHandle handle_;
};

}  // namespace ampgate::validate
