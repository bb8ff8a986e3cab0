// All that a training run needs to go on as if it had never stopped, as a folder on disk: tensors.safetensors
// and checkpoint.json (results/schema/checkpoint.schema.json, docs/checkpoints.md). The digests in it detect
// accidents, not forgery; nothing in it is ever executed.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <string>

#include "results/json.h"

namespace ampgate::cases {

struct Checkpoint {
  std::map<std::string, at::Tensor> tensors;  // weights, moments, generator states ...
  results::Json state;                        // an object; what is not finite is a word (results::number)
};

// Replaces what is in `folder` as a whole: killed or failing at any moment, the old checkpoint or the new one
// is there. Returns when the new one is on the disk. Throws std::invalid_argument for a tensor that the
// format cannot hold or a state that would not come back as it is, FileError when `folder` is something else
// than a checkpoint, EnvironmentError when it cannot be written. Returns the digest in checkpoint.json, which
// is that of the whole: it covers the tensor file's.
std::string write_checkpoint(const std::filesystem::path& folder, const Checkpoint& checkpoint);

// The same bits, all tensors on the CPU. Throws FileError for a folder that is not there and for a checkpoint
// that is incomplete, truncated, altered, of a newer version, something else, or, where `digest` is given,
// another checkpoint than the one with that digest.
Checkpoint read_checkpoint(const std::filesystem::path& folder, const std::string& digest = "");

}  // namespace ampgate::cases
