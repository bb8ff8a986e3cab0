// Which NaN or infinity came first, and which ones never reached a result: read backwards from a trace.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/json.h"
#include "validate/bad_value.h"
#include "validate/trace.h"

namespace ampgate::validate {

enum class BadClass { kInput, kCast, kIntermediate, kForwardLoss, kBackwardGradient, kParameterUpdate };
std::string_view name_of(BadClass cls);  // "input", "cast", "intermediate", "forward-loss", ...

// Where bad values come from: an operator call, or a tensor that was there before the run.
struct BadOrigin {
  BadClass cls;
  std::optional<std::size_t> call;
  std::string tensor;  // of the case, when it is no call
  BadValue value;
  bool in_baseline = false;                   // the FP32 baseline makes it at the same call
  std::optional<std::size_t> swallowed_by{};  // the call that read it and gave finite results
  std::optional<std::size_t> read_by{};       // of memory that nobody filled: the call that computed with it
};

// What a run made, by call, gathered while it was traced.
using MadeBadValues = std::map<std::size_t, BadValue>;

struct BadSearch {
  const std::vector<TracedCall>& calls;
  const MadeBadValues& made;
  std::map<std::string, BadValue> stored{};  // tensors of the case that are not finite
  std::vector<std::size_t> reached{};        // calls that left bad values in the run's outputs (Tracer)
  const MadeBadValues* baseline = nullptr;   // of the FP32 run of the same case; null for that one itself
};

struct BadReport {
  // The earliest origin from which bad values came to an output. Fresh memory that nobody filled, and
  // constants of the caller, only when there is no other. None when the outputs are finite.
  std::optional<BadOrigin> first;
  // Origins whose values no output shows. A log of zero that the baseline has as well is taken as meant (a
  // mask), and not listed.
  std::vector<BadOrigin> swallowed;
};

BadReport find_bad_values(const BadSearch& search);

// Memory that was not filled, on its way into the outputs of a run on memory full of NaN.
struct UnfilledMemory {
  std::size_t left_by;                 // the call that allocated it, or whose kernel did not write all
  std::optional<std::size_t> read_by;  // the first call that computed with it; none: it is the output's own
};

// None where the calls do not show it. `reached` as in BadSearch.
std::optional<UnfilledMemory> unfilled_memory(const std::vector<TracedCall>& calls,
                                              const std::vector<std::size_t>& reached);
// "operator 0, aten::empty_like, allocated it, and operator 7, aten::linear in region 'mid', computed with
// it"
std::string sentence(const UnfilledMemory& memory, const std::vector<TracedCall>& calls);

// "operator 4, aten::linear in region 'up' (intermediate): out[0, 3] is inf; overflow: ..."
std::string sentence(const BadOrigin& origin, const std::vector<TracedCall>& calls);
results::Json to_json(const BadOrigin& origin, const std::vector<TracedCall>& calls);

}  // namespace ampgate::validate
