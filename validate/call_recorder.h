// What the operators of a trial rounded, and to which types.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "validate/interceptor.h"

namespace ampgate::validate {

// One operator call, as seen above autocast.
struct RecordedCall {
  std::string name;
  // For each result: the type it was rounded to; none where nothing is rounded (copies, selections,
  // integers).
  std::vector<std::optional<c10::ScalarType>> rounded{};
  // Arguments (by number) that autocast rounded to the result's type on the way in.
  std::vector<std::size_t> rounded_inputs{};
  // Of an operator that is made of others: these, by name; of several calls the one in the narrowest type.
  std::map<std::string, RecordedCall> parts{};
};

// The narrowest type that the call, or a part of it, rounded a result to; none where nothing was rounded.
std::optional<c10::ScalarType> narrowest(const RecordedCall& call);

class CallRecorder : public Interceptor {
 public:
  void call(const c10::OperatorHandle& op, torch::jit::Stack& stack) override;
  std::vector<RecordedCall> take() { return std::move(calls_); }

 private:
  class Parts;

  RecordedCall record(const c10::OperatorHandle& op, torch::jit::Stack& stack);
  bool was_lowered(const at::Tensor& tensor) const;

  std::vector<RecordedCall> calls_;
  // What casts of autocast that stand in a graph of TorchScript made.
  std::vector<at::Tensor> lowered_;
};

}  // namespace ampgate::validate
