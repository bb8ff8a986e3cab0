// The gate between the phases: may this trial be measured here and now, on the word of that evidence?
#pragma once

#include <string>

#include "results/json.h"
#include "results/rules.h"
#include "results/verdict.h"

namespace ampgate::results {

struct GateAnswer {
  bool open = false;
  // JSON pointer into the evidence of the first difference; "/verdict" when the verdict closes the gate.
  std::string field;
  // A sentence that names the field, both values and what to do; empty when open.
  std::string reason;
};

// `observed` has the shape of the evidence (docs/protocol.md) and holds what its caller sees itself. Each of
// its members must equal the evidence's, recursively; one that the evidence lacks closes the gate. Members
// that `observed` lacks are not looked at, so that the driver can ask about what it knows and the bench
// worker about the rest.
// Of `device` neither name nor model is compared: the same card may be cuda:0 here and cuda:1 there, and its
// uuid says which one it is.
GateAnswer check_gate(const Json& evidence, Verdict verdict, const Json& observed, const Rules& rules);

}  // namespace ampgate::results
