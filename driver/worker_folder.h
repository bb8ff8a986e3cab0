// Where the workers are: libexec/ampgate/<name>/ beside the running program's bin/, or a folder that the user
// names.
#pragma once

#include <filesystem>
#include <string>

#include "driver/manifest.h"

namespace ampgate::driver {

struct WorkerFolder {
  std::filesystem::path path;
  Manifest manifest;
  results::Json files;       // of cases that are not this build's, as the worker found them; null: none
  std::string library_path;  // of a LibTorch that is installed elsewhere; empty: the workers find theirs

  std::string name() const { return path.filename().string(); }
  std::filesystem::path validate() const { return path / "ampgate-validate"; }
  std::filesystem::path bench() const { return path / "ampgate-bench"; }
  bool has_accelerator_module() const;
};

// `wanted`: a name under libexec/ampgate, or a path to a folder; empty: AMPGATE_WORKER, else the only folder
// there is. `torch`: the LibTorch of workers that come without one (a file torch.json says of which version),
// as driver/installed_torch.h has it. Throws results::EnvironmentError when there is none, several, or one
// that lacks a worker, a readable manifest, or its LibTorch.
WorkerFolder find_worker(const std::string& wanted, const std::string& torch);

}  // namespace ampgate::driver
