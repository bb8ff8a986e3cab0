#include "validate/training/training_setup.h"

#include "cases/execute.h"

namespace ampgate::validate {

Way usual_way(const precision::Precision& precision) { return {precision, cases::needs_scaler(precision)}; }

cases::Fill TrainingSetup::fill(std::uint64_t seed) const { return {seed, definition.name, shape.name}; }

cases::State TrainingSetup::original(std::uint64_t seed) const { return definition.setup(shape, fill(seed)); }

std::unique_ptr<cases::Trainer> TrainingSetup::trainer(const Way& way, std::uint64_t seed,
                                                       double init_scale) const {
  session.advance();
  return std::make_unique<cases::Trainer>(definition, shape, fill(seed), original(seed),
                                          cases::TrainerSetup{.precision = way.precision,
                                                              .scaler = way.scaler,
                                                              .scaler_options = {.init_scale = init_scale},
                                                              .device = session.backend.device()});
}

std::unique_ptr<cases::Trainer> TrainingSetup::oracle(std::uint64_t seed) const {
  return std::make_unique<cases::Trainer>(
      definition, shape, fill(seed), cases::converted(original(seed), at::kDouble),
      cases::TrainerSetup{.precision = precision::baseline(), .scaler = false});
}

}  // namespace ampgate::validate
