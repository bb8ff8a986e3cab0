// A training step: after so many steps from the same state the weights are those that phase 1 had.
#pragma once

#include <string>

#include "bench/look_budget.h"
#include "bench/subject.h"
#include "bench/training_body.h"
#include "bench/training_spread.h"

namespace ampgate::bench {

// Empty when the evidence tells which steps are timed and what they must lead to; else what is missing.
std::string missing_steps(const results::Json& evidence);

class TrainingSubject final : public Subject {
 public:
  TrainingSubject(const Common& common, const Trial& trial, const backends::Backend& backend);

  Body& body() override { return body_; }
  std::string begin() override;
  std::string look(const Cell& cell, bool must) override;
  std::string check(const CheckPlan& plan) override;
  results::Json answer() const override;

 private:
  std::string wrong_weights() const;
  std::string wrong_held_out();
  void run_window();

  TrainingBody body_;
  bool by_digest_;
  // Where digests say nothing: what the window led to before.
  TrainingSpread weights_{"the weights"};
  TrainingSpread held_out_{"the trained model's outputs on held-out data"};
  LookBudget budget_;
  std::int64_t cells_ = 0;
};

}  // namespace ampgate::bench
