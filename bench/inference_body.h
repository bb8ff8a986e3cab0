// One call of an operator or a model.
#pragma once

#include "bench/body.h"

namespace ampgate::bench {

class InferenceBody final : public Body {
 public:
  // `state`: prepared for the precision. Both outlive the object.
  InferenceBody(const cases::Case& definition, cases::State& state, const precision::Precision& precision,
                c10::DeviceType device)
      : Body(precision, device), definition_(definition), state_(state) {}

  cases::Outputs call() override;
  void warm_up() override;
  bool owns(const void* storage) const override;
  Holdings holdings() const override;
  bool with_gradients() const override { return definition_.differentiates; }
  bool in_case() const override;

 private:
  const cases::Case& definition_;
  cases::State& state_;
};

}  // namespace ampgate::bench
