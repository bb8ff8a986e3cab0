// Two records against each other: is B right where A was, and as fast?
#pragma once

#include "results/json.h"

namespace ampgate::results {

// How likely any trial of two records of equal speed may be called slower at most; as likely faster.
inline constexpr double kFalseSlower = 0.01;

// The comparison as docs/protocol.md describes it: `a` and `b` (which records), `differences` (what they were
// made with), `trials` in both with what changed and how times compare, `only_in_a`, `only_in_b`, `summary`
// (counts). Both records as read_record gives them.
Json compare_records(const Json& record_a, const Json& record_b);

}  // namespace ampgate::results
