// Comparisons that are kept in an archive, `<archive>/.comparisons/<A>-<B>.json`: their baselines must stay.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "results/json.h"

namespace ampgate::results {

// Writes it; an older one of the same two records is replaced. Throws EnvironmentError.
std::filesystem::path keep_comparison(const std::filesystem::path& archive, const Json& comparison);

// Ids of baselines, with the name of a comparison that each one is of.
std::map<std::string, std::string> baselines(const std::filesystem::path& archive);

}  // namespace ampgate::results
