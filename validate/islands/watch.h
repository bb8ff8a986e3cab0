// Looks at every operator of a run: where it stands in the model, and where values first stop being finite.
#pragma once

#include <c10/core/ScalarType.h>

#include <string>
#include <vector>

#include "validate/interceptor.h"

namespace ampgate::validate {

struct WatchedCall {
  std::string name;
  std::string region;             // path; empty outside of all regions
  bool turned_nonfinite = false;  // finite arguments, a result that is not
};

class Watch : public Interceptor {
 public:
  // `largest` is taken over floating results of this type.
  explicit Watch(c10::ScalarType type) : type_(type) {}

  void call(const c10::OperatorHandle& op, torch::jit::Stack& stack) override;

  const std::vector<WatchedCall>& calls() const { return calls_; }
  double largest() const { return largest_; }

 private:
  c10::ScalarType type_;
  std::vector<WatchedCall> calls_;
  double largest_ = 0.0;
};

}  // namespace ampgate::validate
