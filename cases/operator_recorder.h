// Which operators ran, and in which types: of operators that call themselves again below autocast, the
// innermost call.
#pragma once

#include <ATen/record_function.h>
#include <c10/core/ScalarType.h>

#include <string>
#include <vector>

#include "results/json.h"

namespace ampgate::cases {

struct OperatorRecord {
  std::string name;                     // "aten::mm"
  std::vector<c10::ScalarType> inputs;  // of its tensor arguments, in order
  std::vector<c10::ScalarType> outputs;
  bool grad = false;  // grad mode was on
  int count = 1;      // equal records that followed each other
};

// Records this thread's operator calls, those of operators' own kernels included, but neither views nor
// allocations.
class OperatorRecorder {
 public:
  OperatorRecorder();
  ~OperatorRecorder();
  OperatorRecorder(const OperatorRecorder&) = delete;
  OperatorRecorder& operator=(const OperatorRecorder&) = delete;

  std::vector<OperatorRecord> take();

 private:
  at::CallbackHandle handle_;
};

// Did an operator that computes (a conversion or copy does not) see or give this type?
bool computed_in(const std::vector<OperatorRecord>& operators, c10::ScalarType type);

// It computed in FP32 although a run asks for `type`; false for conversions and for `type` FP32.
bool not_lowered(const OperatorRecord& record, c10::ScalarType type);

// With `asked`, operators that stayed in FP32 all the same carry "not_lowered": true.
results::Json to_json(const std::vector<OperatorRecord>& operators, c10::ScalarType asked = at::kFloat);

}  // namespace ampgate::cases
