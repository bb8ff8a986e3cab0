#include "validate/training/trouble.h"

#include <algorithm>

#include "validate/training/shadow_judge.h"

namespace ampgate::validate {
namespace {

constexpr int kLeastIsolationSteps = 8;

}  // namespace

Trouble trouble_of(const results::Rules::Training& rules, Trouble::Kind kind, const WatchedRun& watched,
                   const cases::Checkpoint* gradient, bool skips_too_often) {
  Trouble trouble{.kind = kind, .skips_too_often = skips_too_often};
  if (kind == Trouble::Kind::kGradient && gradient != nullptr) trouble.state = *gradient;
  if (kind == Trouble::Kind::kUpdates) trouble.state = watched.before_unchanged;
  if (kind == Trouble::Kind::kSteps) {
    trouble.state = watched.before_bad;
    trouble.steps = std::max(kLeastIsolationSteps, rules.max_consecutive_skips + 2);
  }
  if (trouble.state)
    trouble.scale = scale_at(watched, trouble.state->state.at("iteration").get<std::size_t>());
  return trouble;
}

bool has_nothing_to_learn(const TrainingSetup& setup, const Way& way, const WatchedRun& watched) {
  if (!watched.before_unchanged) return false;
  const cases::Checkpoint& state = *watched.before_unchanged;
  const auto oracle = setup.oracle(setup.session.seed);
  const auto step = state.state.at("iteration").get<std::size_t>();
  const double scale = watched.steps.at(step).scale;
  const ShadowStep shadow = shadow_step(setup, way, state, unscaled_gradients(*oracle, state), scale);
  return shadow.own_norm == 0 && shadow.zeros.underflow == 0;
}

}  // namespace ampgate::validate
