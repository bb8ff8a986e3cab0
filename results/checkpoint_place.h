// Where the checkpoints of a run lie, and what a folder with one holds. No LibTorch: the driver asks, too.
#pragma once

#include <filesystem>
#include <string>

#include "results/sealed.h"

namespace ampgate::results {

inline constexpr const char* kCheckpointDocument = "checkpoint.json";
inline constexpr SealedKind kCheckpointKind{"checkpoint", 1, "give the folder of a whole checkpoint"};

// "<record>.checkpoints", for a record's path: one folder for all of a run.
std::filesystem::path checkpoint_root(std::filesystem::path record);

// Below it, one folder a trial, and in that one for each checkpoint: "start", "before-bad".
std::filesystem::path checkpoint_place(const std::string& trial, const std::string& name);

// As records name it: {"folder": relative to the record's, "digest"}. Throws FileError for a folder that
// holds no checkpoint.
Json kept_checkpoint(const std::filesystem::path& root, const std::string& trial, const std::string& name);

}  // namespace ampgate::results
