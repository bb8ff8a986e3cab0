// An operator or a model: its outputs are what phase 1 saw, and its own tensors stay as they are.
#pragma once

#include "bench/inference_body.h"
#include "bench/output_watch.h"
#include "bench/subject.h"

namespace ampgate::bench {

class InferenceSubject final : public Subject {
 public:
  InferenceSubject(const Common& common, const Trial& trial, const backends::Backend& backend);

  Body& body() override { return body_; }
  std::string begin() override;
  std::string look(const Cell& cell, bool must) override;
  std::string check(const CheckPlan& plan) override;
  results::Json answer() const override;

 private:
  std::string with_written(std::string problem) const;

  cases::State state_;
  std::vector<std::string> digests_;  // of the state's tensors before the first call
  InferenceBody body_;
  OutputWatch watch_;
};

}  // namespace ampgate::bench
