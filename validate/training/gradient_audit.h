// What becomes of gradients between backward and step: are they clipped where they should be, are they kept?
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cases/training/trainer.h"

namespace ampgate::validate {

class GradientAudit : public cases::StepObserver {
 public:
  explicit GradientAudit(const cases::Trainer& trainer) : trainer_(trainer) {}

  void scaled_gradients() override;
  void gradients(std::size_t optimizer) override;
  void stepping(std::size_t optimizer) override;

  // After all steps: a limit that nothing keeps, gradients that are set to zero; in words.
  std::vector<std::string> unused() const;

 private:
  struct Look {
    std::string digests;
    double norm = 0;
  };
  Look look_at(std::size_t optimizer) const;

  const cases::Trainer& trainer_;
  std::map<std::size_t, Look> before_;  // by optimizer
  bool changed_ = false;                // by hand, before its step
  double largest_ = 0;                  // norm that an optimizer stepped with
  std::map<std::size_t, int> zeroed_;   // by optimizer: steps
};

}  // namespace ampgate::validate
