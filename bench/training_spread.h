// How far right trainings of one process are from each other where they do not repeat bit by bit: small
// differences grow from step to step, so no bound on an operator's error bounds them.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace ampgate::bench {

class TrainingSpread {
 public:
  static constexpr int kReferences = 3;
  // A distance so many times the largest among the references is no chance: they are as likely to be far from
  // each other as a fourth one is from them.
  static constexpr double kFactor = 10;

  // Weights that equal steps from the same state led to, before anything was timed; copied.
  void add_reference(const std::vector<at::Tensor>& weights);

  // Empty, or how much further `weights` are from the nearest reference than those are from each other.
  std::string strayed(const std::vector<at::Tensor>& weights) const;

 private:
  std::vector<std::vector<at::Tensor>> references_;
};

}  // namespace ampgate::bench
