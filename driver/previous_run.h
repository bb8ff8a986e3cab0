// The run before this one on the same device, and what this run's rules accept that it did not.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "results/json.h"
#include "results/rules.h"

namespace ampgate::driver {

// Looks for the newest record of the record's device (its UUID) in the archive's folder of that
// device (absolute) and adds `rules_previous` and
// `rules_relaxed` to the record; nothing where there is none. Returns a warning for each file on the way
// there that cannot be trusted.
std::vector<std::string> compare_with_previous_run(results::Json& record, const results::Rules& rules,
                                                   const std::filesystem::path& device_folder);

// "Rules relaxed since the record 2026...: /bounds/lambda from 4.0 to 8.0."; empty when none was.
std::string relaxed_words(const results::Json& record);

}  // namespace ampgate::driver
