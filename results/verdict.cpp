#include "results/verdict.h"

#include <array>
#include <stdexcept>
#include <string>

namespace ampgate::results {
namespace {

constexpr std::array<std::string_view, 13> kVerdicts{
    "pass",         "suspect",          "inaccurate", "nonfinite",    "decision-changed",
    "quality-lost", "baseline-invalid", "vacuous",    "unrepeatable", "ambiguous",
    "unsupported",  "crashed",          "timed-out"};

constexpr std::array<std::string_view, 7> kMeasurementVerdicts{
    "measured", "below-target", "ambiguous", "refused", "output-changed", "crashed", "timed-out"};

template <typename Enum, std::size_t kCount>
Enum from(const std::array<std::string_view, kCount>& words, std::string_view word) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (words[i] == word) return static_cast<Enum>(i);
  }
  throw std::invalid_argument("'" + std::string(word) + "' is not a verdict");
}

}  // namespace

std::string_view to_string(Verdict verdict) { return kVerdicts.at(static_cast<std::size_t>(verdict)); }

std::string_view to_string(MeasurementVerdict verdict) {
  return kMeasurementVerdicts.at(static_cast<std::size_t>(verdict));
}

Verdict verdict_from(std::string_view word) { return from<Verdict>(kVerdicts, word); }

MeasurementVerdict measurement_verdict_from(std::string_view word) {
  return from<MeasurementVerdict>(kMeasurementVerdicts, word);
}

bool opens_gate(Verdict verdict, bool suspect_allowed) {
  return verdict == Verdict::kPass || (verdict == Verdict::kSuspect && suspect_allowed);
}

bool carries_numbers(MeasurementVerdict verdict) {
  return verdict == MeasurementVerdict::kMeasured || verdict == MeasurementVerdict::kBelowTarget ||
         verdict == MeasurementVerdict::kAmbiguous;
}

}  // namespace ampgate::results
