// What is timed: one call of a case in a precision, be it an inference or a training step.
#pragma once

#include <c10/core/DeviceType.h>

#include <cstdint>
#include <optional>

#include "bench/schedule.h"
#include "cases/case.h"
#include "precision/precision.h"

namespace ampgate::bench {

// Bytes of the tensors that a trial owns before a call.
struct Holdings {
  std::int64_t inputs = 0;
  std::int64_t weights = 0;
  std::optional<std::int64_t> optimizer{};  // moments; empty: there is no optimizer
};

// The caller of any call holds the trial's numerics scope and an at::NoGradGuard.
class Body {
 public:
  Body(const precision::Precision& precision, c10::DeviceType device)
      : precision_(precision), device_(device) {}
  virtual ~Body() = default;
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  // One call. Outputs of an inference; a training step has none.
  virtual cases::Outputs call() = 0;

  // Calls that bring kernels, workspaces and pages into being.
  virtual void warm_up() = 0;

  // Untimed, before `calls` calls in a row (those of a cell and its lead-in at most): they begin where all
  // do.
  virtual void prepare(std::int64_t /*calls*/) {}

  // Of a cell, beside its lead-in.
  virtual std::int64_t most_calls() const { return kMaximumCalls; }

  // Steps so far in which every optimizer that was called made its update, as the host knows; empty: nothing
  // is trained.
  virtual std::optional<std::int64_t> updates() const { return std::nullopt; }

  // The tensors that the last call, which gave `outputs`, made and left alive.
  virtual cases::Outputs left_by_call(const cases::Outputs& outputs) const { return outputs; }
  // Gives back what calls leave beside their outputs.
  virtual void release() {}

  // Does this address lie in a tensor that the trial owned before?
  virtual bool owns(const void* storage) const = 0;
  virtual Holdings holdings() const = 0;

  // What an audit must know. Is the case's own code running? What else runs within a call is autograd's, an
  // optimizer's or the scaler's work.
  virtual bool in_case() const { return true; }
  virtual bool with_gradients() const { return false; }
  // Values that the host reads in each call because the algorithm asks for it: found_inf of each optimizer.
  virtual std::int64_t found_inf_reads() const { return 0; }

  const precision::Precision& precision() const { return precision_; }
  c10::DeviceType device() const { return device_; }

 private:
  const precision::Precision& precision_;
  c10::DeviceType device_;
};

}  // namespace ampgate::bench
