// Runs chosen operator calls of a model in FP32 inside an autocast run: FP32 islands as small as they can be.
#pragma once

#include <cstddef>
#include <set>

#include "validate/interceptor.h"

namespace ampgate::validate {

// Calls are numbered from 0 in the order in which the dispatcher sees them; forward numbers do not change
// with the set, since autocast's own casts happen below. An operator that only gives a view of its argument
// is never an island. What a call writes in place is computed on an FP32 copy and copied back.
class OperatorIslands : public Interceptor {
 public:
  // `inner` sees each call, with its arguments as they are then; it makes the call. It outlives the object.
  OperatorIslands(std::set<std::size_t> chosen, Interceptor& inner)
      : chosen_(std::move(chosen)), inner_(inner) {}

  void call(const c10::OperatorHandle& op, torch::jit::Stack& stack) override;

 private:
  void call_raised(const c10::OperatorHandle& op, torch::jit::Stack& stack);

  std::set<std::size_t> chosen_;
  Interceptor& inner_;
  std::size_t next_ = 0;
};

}  // namespace ampgate::validate
