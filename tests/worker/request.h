// What a test asks a case of the test workers to do: AMPGATE_MISBEHAVE=WHAT@PROGRAM@TYPE, in which program
// (ampgate-validate, ampgate-bench) and with which type (float32, float16, bfloat16). "WHAT:N" begins with
// call number N, counted per process. "slow3": each call takes 3 % longer than it did.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace ampgate::cases {

struct Request {
  std::string what, program, type;
  long first_call = 0;
  double slower_by = 0;  // share of a call's own time

  // Is it for this program, and for calls in this type?
  bool is_for(c10::ScalarType type_of_call) const;
};

// The same throughout a process.
const Request& request();

// Behind LibTorch's back, as a faulty kernel would: no operator shows it.
void poke(const at::Tensor& tensor, std::int64_t position, float value);

}  // namespace ampgate::cases
