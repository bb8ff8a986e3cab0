#include "driver/worker_folder.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "driver/installed_torch.h"
#include "driver/names.h"
#include "results/error.h"

namespace ampgate::driver {
namespace {

namespace fs = std::filesystem;
using results::EnvironmentError;

fs::path libexec() {
  return fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "libexec" / "ampgate";
}

std::vector<std::string> folder_names(const fs::path& parent) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent, error)) {
    if (entry.is_directory(error)) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

fs::path locate(std::string wanted) {
  if (wanted.empty()) {
    if (const char* variable = std::getenv("AMPGATE_WORKER")) wanted = variable;
  }
  if (wanted.find('/') != std::string::npos || (!wanted.empty() && wanted.front() == '.')) {
    std::error_code error;
    const fs::path path = fs::weakly_canonical(wanted, error);
    if (error || !fs::is_directory(path)) {
      throw EnvironmentError("worker folder '" + wanted + "' is not there",
                             "give the folder that holds ampgate-validate");
    }
    return path;
  }
  const fs::path parent = libexec();
  const auto names = folder_names(parent);
  if (names.empty()) {
    throw EnvironmentError("no worker folder under " + parent.string(),
                           "build the workers, or give one with --worker");
  }
  if (wanted.empty()) {
    if (names.size() == 1) return parent / names.front();
    throw EnvironmentError("several worker folders: " + join(names, ", "),
                           "choose one with --worker or AMPGATE_WORKER");
  }
  if (std::find(names.begin(), names.end(), wanted) == names.end()) {
    throw EnvironmentError("no worker folder '" + wanted + "' under " + parent.string(),
                           suggest(wanted, names));
  }
  return parent / wanted;
}

}  // namespace

bool WorkerFolder::has_accelerator_module() const {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (matches("libampgate-*.so", entry.path().filename().string())) return true;
  }
  return false;
}

WorkerFolder find_worker(const std::string& wanted, const std::string& torch) {
  WorkerFolder folder;
  folder.path = locate(wanted);
  for (const auto& program : {folder.validate(), folder.bench()}) {
    if (access(program.c_str(), X_OK) != 0) {
      throw EnvironmentError("worker " + program.string() + " is missing or cannot be started",
                             "build the workers again");
    }
  }
  const fs::path manifest = folder.path / "cases.json";
  try {
    folder.manifest = parse_manifest(results::read_json_file(manifest.string()), manifest.string());
  } catch (const results::FileError& error) {
    throw EnvironmentError(error.what(), "build the workers again");
  }
  if (const fs::path needed = folder.path / "torch.json"; fs::exists(needed)) {
    const results::Json needs = results::read_json_file(needed.string());
    folder.library_path = library_path(installed_torch(torch, needs.value("version", "")));
  }
  return folder;
}

}  // namespace ampgate::driver
