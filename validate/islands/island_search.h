// The smallest set of a model's regions that must stay in FP32, so that autocast in 16 bit passes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "validate/case_setup.h"
#include "validate/trial.h"

namespace ampgate::validate {

struct IslandAnswer {
  std::vector<std::string> regions;   // paths; empty when nothing heals
  std::optional<TrialAnswer> healed;  // the trial, judged with these islands
  std::string reason;                 // why there is no such set, or none was found
  results::Json json;                 // docs/protocol.md, `islands`
};

// `precision` is an `islands-*`; `failed` is what the same autocast without islands was judged; `baseline`
// are the FP32 outputs. Where values stop being finite the search follows the first bad operator: at operator
// level first, then by regions. Otherwise, and where that finds nothing, it is delta debugging over regions.
// A set heals when the whole trial's verdict, decisions and boundary inputs included, opens the gate; that
// none does is said only after a trial with all regions in FP32.
IslandAnswer find_islands(CaseSetup& setup, const precision::Precision& precision,
                          const cases::Outputs& baseline, const Judgement& failed);

}  // namespace ampgate::validate
