// Which records of an archive may go, and which must stay since something rests on them.
#pragma once

#include <string>
#include <vector>

#include "results/archive.h"

namespace ampgate::driver {

struct Pruned {
  results::ArchivedFile file;
  std::string why_kept;  // empty: it may go
};

// Beyond the newest `keep` of each device and suite. Kept all the same: what a kept comparison names as its
// baseline, what the rules of a remaining record name as golden, evidence of a remaining record, and the last
// good run of each device and suite. Files that are no record are never touched.
std::vector<Pruned> choose_for_pruning(const results::Archive& archive, int keep);

// With its checkpoints. False where it was gone already; throws EnvironmentError where it cannot go.
bool remove_record(const results::Archive& archive, const results::ArchivedFile& file);

}  // namespace ampgate::driver
