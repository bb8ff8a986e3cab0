#include "validate/judgement.h"

#include <algorithm>
#include <array>
#include <utility>

namespace ampgate::validate {
namespace {

using results::Verdict;

// From light to heavy.
constexpr std::array kWeights{Verdict::kPass,         Verdict::kSuspect,         Verdict::kAmbiguous,
                              Verdict::kVacuous,      Verdict::kQualityLost,     Verdict::kDecisionChanged,
                              Verdict::kUnrepeatable, Verdict::kInaccurate,      Verdict::kNonfinite,
                              Verdict::kUnsupported,  Verdict::kBaselineInvalid, Verdict::kTimedOut,
                              Verdict::kCrashed};

auto weight(Verdict verdict) { return std::find(kWeights.begin(), kWeights.end(), verdict); }

}  // namespace

void Judgement::worsen(Verdict other, std::string why) {
  if (weight(other) <= weight(verdict)) return;
  verdict = other;
  reason = std::move(why);
}

void Judgement::add(const Judgement& part) {
  worsen(part.verdict, part.reason);
  findings.insert(findings.end(), part.findings.begin(), part.findings.end());
}

}  // namespace ampgate::validate
