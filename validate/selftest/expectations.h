// What the detector must find: kinds of faults, and for each whether it must be caught in an operator, may be
// missed (with the reason) or cannot be put in. Written down before anything is tuned on it; expectations.cpp
// is the table.
#pragma once

#include <c10/core/ScalarType.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ampgate::validate::selftest {

enum class Expectation { kMustCatch, kMayMiss, kNotApplicable };
std::string_view to_string(Expectation expectation);  // "must-catch", "may-miss", "not-applicable"

// One line of the table. Of a kind's lines the first that fits decides.
struct Line {
  // Words: names of operators ("linear"), "models" (any case that is a model), "*" for all.
  std::string_view where;
  // Types of the faulty operator's result: words "fp32", "fp16", "bf16", or "*".
  std::string_view types;
  Expectation expectation;
  std::string_view reason{};  // why it may be missed, or cannot be put in
};

struct Kind {
  std::string name;
  std::string fault;           // in words
  std::string_view operators;  // into which it can be put: names, or "*" for every one with a floating result
  std::vector<Line> lines;
};

// All kinds, in the order of the table.
const std::vector<Kind>& kinds();

// A case as the table sees it.
struct Subject {
  std::set<std::string> operators;  // those that its run calls, without namespace: "linear", "relu"
  bool model = false;
};

struct Expected {
  Expectation expectation;
  std::string_view reason;
};

// What the table says of one pair and type of result.
Expected expected(const Kind& kind, const Subject& subject, c10::ScalarType type);

// Is `word` one of the space-separated `words`, or are they "*"?
bool names(std::string_view words, std::string_view word);

}  // namespace ampgate::validate::selftest
