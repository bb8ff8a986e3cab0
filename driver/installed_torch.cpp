#include "driver/installed_torch.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <vector>

#include "driver/child_environment.h"
#include "driver/process.h"
#include "results/error.h"

namespace ampgate::driver {
namespace {

namespace fs = std::filesystem;
using results::EnvironmentError;

constexpr auto kHow = "name the folder of an installed torch package with --torch or AMPGATE_TORCH, put its "
                      "python3 first on PATH, or use the complete bundle";

// Without importing it, which takes seconds.
constexpr auto kWhere =
    "import importlib.util as u; s = u.find_spec('torch'); "
    "print(s.submodule_search_locations[0] if s else '')";

fs::path of_python() {
  Process python({"/usr/bin/env", {"python3", "-c", kWhere}, child_environment(1).variables, "", 1, {}});
  std::string line;
  const bool answered =
      python.next_line(line, Clock::now() + std::chrono::seconds(30)) == Process::Got::kLine;
  python.wait(std::chrono::seconds(5));
  if (!answered || line.empty())
    throw EnvironmentError("these workers come without LibTorch, and the python3 on PATH has no torch", kHow);
  return line;
}

// Of the line __version__ = '2.11.0+cu130'
std::string version_of(const fs::path& torch) {
  std::ifstream file(torch / "version.py");
  const std::regex assignment(R"(__version__\s*=\s*['"]([^'"]+)['"].*)");
  std::smatch match;
  for (std::string line; std::getline(file, line);) {
    if (std::regex_match(line, match, assignment)) return match[1];
  }
  throw EnvironmentError(torch.string() + " is no torch package: it has no version.py that names a version",
                         kHow);
}

}  // namespace

fs::path installed_torch(const std::string& wanted, const std::string& version) {
  const char* const variable = std::getenv("AMPGATE_TORCH");
  fs::path torch = !wanted.empty() ? fs::path(wanted)
                   : variable != nullptr && *variable != '\0' ? fs::path(variable)
                                                              : of_python();
  const std::string found = version_of(torch);
  if (found != version) {
    throw EnvironmentError("these workers are for torch " + version + ", and " + torch.string() +
                               " is torch " + found,
                           kHow);
  }
  return fs::absolute(torch);
}

std::string library_path(const fs::path& torch) {
  std::vector<std::string> vendors;
  std::error_code error;
  for (const auto& package : fs::directory_iterator(torch.parent_path() / "nvidia", error)) {
    if (fs::is_directory(package.path() / "lib", error)) vendors.push_back((package.path() / "lib").string());
  }
  std::sort(vendors.begin(), vendors.end());
  std::string path = (torch / "lib").string();
  for (const auto& vendor : vendors) path += ":" + vendor;
  return path;
}

}  // namespace ampgate::driver
