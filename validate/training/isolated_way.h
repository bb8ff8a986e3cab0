// One of the five ways in which a failing training is tried again, and what it comes to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "validate/training/isolation.h"
#include "validate/training/shadow.h"
#include "validate/training/step_trace.h"

namespace ampgate::validate {

struct WayOutcome {
  std::string problem;  // it could not be run at all
  std::string reason;   // why it fails by the rules; empty: it does not
  int skipped = 0;      // steps in which some optimizer was
  int applied = 0;
  bool weights_finite = true;
  std::optional<std::int64_t> bad_step;
  std::optional<FirstBad> first;      // bad value
  std::optional<FirstBad> swallowed;  // the first that shows nowhere
  std::optional<ShadowStep> shadow;   // the first step's gradient against FP64's
  std::optional<double> quality;      // of the trained model

  bool fails() const { return !problem.empty() || !reason.empty(); }
  double underflow() const { return shadow ? shadow->zeros.underflow : 0; }
};

// What all ways begin with: `gradients` are FP64's from `state`; `quality` is FP32's, where it is asked for.
struct Beginning {
  cases::Checkpoint state;
  std::vector<at::Tensor> gradients;
  std::optional<double> quality;
};

WayOutcome try_way(const TrainingSetup& setup, const Way& way, const Trouble& trouble,
                   const Beginning& beginning);

results::Json to_json(const WayOutcome& outcome);

}  // namespace ampgate::validate
