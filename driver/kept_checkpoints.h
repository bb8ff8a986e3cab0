// Checkpoints that a record names, as users meet them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "results/json.h"

namespace ampgate::driver {

// A trial of a record in folder `from` becomes part of one in folder `to`: the checkpoints stay where they
// are.
void move_checkpoints(results::Json& trial, const std::filesystem::path& from,
                      const std::filesystem::path& to);

// For each training with a checkpoint before the batch that made it fail: how to replay it.
// `worker`: the folder that was given with --worker, if one was.
std::vector<std::string> replay_lines(const results::Json& record, const std::string& path,
                                      const std::string& worker);

}  // namespace ampgate::driver
