#include "results/checkpoint_place.h"

namespace ampgate::results {

namespace fs = std::filesystem;

fs::path checkpoint_root(fs::path record) { return record.replace_extension(".checkpoints"); }

fs::path checkpoint_place(const std::string& trial, const std::string& name) {
  std::string folder;
  for (const char c : trial) folder += c == '/' ? std::string("__") : std::string(1, c);
  return fs::path(folder) / name;
}

Json kept_checkpoint(const fs::path& root, const std::string& trial, const std::string& name) {
  const fs::path place = checkpoint_place(trial, name);
  const Json document = read_sealed((root / place / kCheckpointDocument).string(), kCheckpointKind);
  return {{"folder", (root.filename() / place).string()}, {"digest", document.at("digest")}};
}

}  // namespace ampgate::results
