// What the quality of a training case is measured in, and when one training is worse than another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results/json.h"
#include "validate/training/training_setup.h"

namespace ampgate::validate {

// Of one training.
struct FinalQuality {
  std::uint64_t seed = 0;
  double value = 0;  // accuracy (more is better), or the RMS error; NaN where the outputs are not finite
};

class QualityMetric {
 public:
  explicit QualityMetric(const TrainingSetup& setup);

  bool accuracy() const { return accuracy_; }
  // Positive: the trial is worse. Accuracies as their difference, RMS errors as the logarithm of their ratio;
  // errors under the rounding of the targets in FP32 are all alike.
  double loss(double baseline, double trial) const;
  std::vector<double> losses(const std::vector<FinalQuality>& baseline,
                             const std::vector<FinalQuality>& trial) const;
  // Of the rules, in the unit of loss().
  double margin() const { return margin_; }
  // Is it shown over these seeds that the trial is worse by more than this?
  bool shown_worse(const std::vector<FinalQuality>& baseline, const std::vector<FinalQuality>& trial,
                   double margin) const;

  std::string words(double value) const;      // "accuracy 0.93", "RMSE 1.2"
  std::string loss_words(double loss) const;  // "1.5 points of accuracy", "a factor 1.1 in RMSE"

 private:
  bool accuracy_;
  double margin_;
  double floor_ = 0;  // of RMS errors
};

// The tensor of the held-out rows with this name. Throws CaseFault where there is none: `what` it should
// hold.
const at::Tensor& held_out(const cases::Trainer& trainer, const std::string& name, const char* what);

results::Json by_seed(const std::vector<FinalQuality>& qualities);

}  // namespace ampgate::validate
