// How good the trained model is on held-out data, seed by seed, and whether that is no worse than FP32's.
#pragma once

#include <string>
#include <vector>

#include "validate/judgement.h"
#include "validate/training/quality_metric.h"
#include "validate/training/untrained.h"

namespace ampgate::validate {

// Throws CaseFault where the case names no labels or targets.
FinalQuality quality_of(const TrainingSetup& setup, cases::Trainer& trainer, std::uint64_t seed);

// Trains with every seed of the rules beside `first`, which is the deciding run's, plainly.
std::vector<FinalQuality> train_all(const TrainingSetup& setup, const Way& way, const FinalQuality& first);

// One-sided non-inferiority over the paired seeds, with the margin of the rules: `quality-lost` where it is
// refuted, `ambiguous` where it is open, and where an untrained model would pass as well. Returns the object
// `quality`.
results::Json judge_final_quality(const TrainingSetup& setup, const std::vector<FinalQuality>& baseline,
                                  const Untrained& untrained, const std::vector<FinalQuality>& trial,
                                  Judgement& judgement);

// The baseline's own: finite, and as good as the rules ask for (`minimum_accuracy`, `maximum_rmse`). That it
// learns nothing is a finding: its gradients may be right all the same.
results::Json judge_baseline_quality(const TrainingSetup& setup, const std::vector<FinalQuality>& baseline,
                                     const Untrained& untrained, Judgement& judgement);

}  // namespace ampgate::validate
