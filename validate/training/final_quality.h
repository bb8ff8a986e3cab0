// How good the trained model is on held-out data, seed by seed, and whether that is no worse than FP32's.
#pragma once

#include <string>
#include <vector>

#include "validate/judgement.h"
#include "validate/training/training_setup.h"

namespace ampgate::validate {

// Of one training.
struct FinalQuality {
  std::uint64_t seed = 0;
  double value =
      0;  // accuracy (more is better), or the RMS error; NaN where the model's outputs are not finite
};

// Throws CaseFault where the case names no labels or targets.
FinalQuality quality_of(const TrainingSetup& setup, cases::Trainer& trainer, std::uint64_t seed);

// Trains with every seed of the rules beside `first`, which is the deciding run's, plainly.
std::vector<FinalQuality> train_all(const TrainingSetup& setup, const Way& way, const FinalQuality& first);

// Of models that nobody trained, by seed: what a test of quality must tell a trained one from.
struct Untrained {
  std::vector<FinalQuality> fresh;   // as they are set up
  std::vector<FinalQuality> chance;  // the best answer that does not look at its input
};

Untrained untrained(const TrainingSetup& setup);

// Would the test find a model worse that answers as those: is the FP32 training better than chance by more
// than the margin or, where errors are measured, than it was at first? Adds what it rests on to `quality`.
// Empty: yes; else the reason in words.
std::string why_meaningless(const TrainingSetup& setup, const std::vector<FinalQuality>& baseline,
                            const Untrained& untrained, results::Json& quality);

// One-sided non-inferiority over the paired seeds, with the margin of the rules: `quality-lost` where it is
// refuted, `ambiguous` where it is open, and where an untrained model would pass as well. Returns the object
// `quality`.
results::Json judge_final_quality(const TrainingSetup& setup, const std::vector<FinalQuality>& baseline,
                                  const Untrained& untrained, const std::vector<FinalQuality>& trial,
                                  Judgement& judgement);

// One training against FP32's of the same seed: worse by more than the margin of the rules.
bool loses_quality(const TrainingSetup& setup, double baseline, double trial);

// "accuracy 0.93", "RMSE 1.2"
std::string quality_words(const TrainingSetup& setup, double value);

// The baseline's own: finite, and as good as the rules ask for (`minimum_accuracy`, `maximum_rmse`). That it
// learns nothing is a finding: its gradients may be right all the same.
results::Json judge_baseline_quality(const TrainingSetup& setup, const std::vector<FinalQuality>& baseline,
                                     const Untrained& untrained, Judgement& judgement);

}  // namespace ampgate::validate
