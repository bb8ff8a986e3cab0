// A training case in one shape, made once for all its precisions.
#pragma once

#include <memory>

#include "cases/case.h"
#include "cases/fills.h"
#include "cases/training/trainer.h"
#include "validate/session.h"

namespace ampgate::validate {

// How a training is run beside what the case says: which precision, and whether gradients are scaled.
struct Way {
  const precision::Precision& precision;
  bool scaler;
};

// As users run it.
Way usual_way(const precision::Precision& precision);

struct TrainingSetup {
  const Session& session;
  const cases::Case& definition;
  const cases::Shape shape;

  cases::Fill fill(std::uint64_t seed) const;
  // FP32, on the CPU.
  cases::State original(std::uint64_t seed) const;
  // A fresh training of this seed, on the device.
  std::unique_ptr<cases::Trainer> trainer(
      const Way& way, std::uint64_t seed,
      double init_scale = precision::GradScalerOptions{}.init_scale) const;
  // The same in FP64 on the CPU.
  std::unique_ptr<cases::Trainer> oracle(std::uint64_t seed) const;
};

}  // namespace ampgate::validate
