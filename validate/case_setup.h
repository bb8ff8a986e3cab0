// A case in one shape, made and checked once for all its precisions.
#pragma once

#include <string>

#include "cases/case.h"
#include "validate/first_bad.h"
#include "validate/quality.h"
#include "validate/reference.h"
#include "validate/session.h"

namespace ampgate::validate {

struct CaseSetup {
  // Makes the ordinary inputs and the oracle. Throws CaseFault when an input or the oracle's output is not
  // finite, with tensor and position, or labels and targets do not fit; and what the case throws.
  CaseSetup(const Session& session, const cases::Case& definition, cases::Shape shape);
  CaseSetup(const CaseSetup&) = delete;
  CaseSetup& operator=(const CaseSetup&) = delete;

  const Session& session;
  const cases::Case& definition;
  const cases::Shape shape;
  const cases::State original;  // FP32
  const cases::Facts facts;
  const results::Json digests;  // of inputs and weights
  References references;
  const std::vector<std::vector<std::int64_t>> sizes;  // of the outputs; empty where nothing is sampled
  const Sample sample;          // which part of an operator's outputs is judged; models are judged whole
  const cases::Outputs oracle;  // FP64, on the unrounded tensors; empty where only a part is judged
  const cases::Outputs like;    // of the outputs' sizes
  Quality quality;
  MadeBadValues baseline_bad_values;  // filled by the baseline's trial
};

}  // namespace ampgate::validate
