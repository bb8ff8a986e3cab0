// Verdicts of trials and of measurements: the words, and which of them open the gate.
#pragma once

#include <string_view>

namespace ampgate::results {

enum class Verdict {
  kPass,
  kSuspect,
  kInaccurate,
  kNonfinite,
  kDecisionChanged,
  kQualityLost,
  kBaselineInvalid,
  kVacuous,
  kUnrepeatable,
  kAmbiguous,
  kUnsupported,
  kCrashed,
  kTimedOut,
};

enum class MeasurementVerdict {
  kMeasured,
  kBelowTarget,
  kAmbiguous,
  kRefused,
  kOutputChanged,
  kCrashed,
  kTimedOut
};

// "pass", "decision-changed"...: as in records.
std::string_view to_string(Verdict verdict);
std::string_view to_string(MeasurementVerdict verdict);

// Throw std::invalid_argument for an unknown word.
Verdict verdict_from(std::string_view word);
MeasurementVerdict measurement_verdict_from(std::string_view word);

// `pass`, and `suspect` where the rules allow it.
bool opens_gate(Verdict verdict, bool suspect_allowed);

// False for refused, output-changed, crashed and timed-out: they carry no number.
bool carries_numbers(MeasurementVerdict verdict);

}  // namespace ampgate::results
