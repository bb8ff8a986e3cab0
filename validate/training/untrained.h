// Models that nobody trained: what a test of quality must tell a trained one from, else it says nothing.
#pragma once

#include <string>
#include <vector>

#include "validate/training/quality_metric.h"

namespace ampgate::validate {

// Of models that nobody trained, by seed: what a test of quality must tell a trained one from.
struct Untrained {
  std::vector<FinalQuality> fresh;   // as they are set up
  std::vector<FinalQuality> chance;  // the best answer that does not look at its input
};

Untrained untrained(const TrainingSetup& setup);

// Has the FP32 training learned anything: is it shown to be better than chance or, where errors are measured,
// than it was at first? Where it has not, a model that learns nothing is no worse. Adds what it rests on to
// `quality`. Empty: yes; else the reason in words.
std::string why_meaningless(const QualityMetric& metric, const std::vector<FinalQuality>& baseline,
                            const Untrained& untrained, results::Json& quality);

}  // namespace ampgate::validate
