// How far right trainings of one process are from each other where they do not repeat bit by bit: small
// differences grow from step to step, so no bound on an operator's error bounds them.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

namespace ampgate::bench {

class TrainingSpread {
 public:
  static constexpr int kReferences = 3;
  // A distance so many times the largest among the references is no chance: they are as likely to be far from
  // each other as a fourth one is from them.
  static constexpr double kFactor = 10;

  // `what`: "the weights".
  explicit TrainingSpread(std::string what) : what_(std::move(what)) {}

  // What equal steps from the same state led to, before anything was timed; copied.
  void add_reference(c10::ArrayRef<at::Tensor> tensors);

  // Empty, or how much further the tensors are from the nearest reference than those are from each other.
  std::string strayed(c10::ArrayRef<at::Tensor> tensors) const;

 private:
  std::string what_;
  std::vector<std::vector<at::Tensor>> references_;
};

}  // namespace ampgate::bench
