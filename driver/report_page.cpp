#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "driver/commands.h"
#include "results/error.h"

namespace ampgate::driver {

results::ExitCode report(const Options& options) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string script = program.parent_path().parent_path() / "share" / "ampgate" / "scripts" / "report";
  std::vector<std::string> words{script, "--ampgate", program};
  if (!options.out.empty()) words.insert(words.end(), {"--out", options.out});
  words.emplace_back("--");
  words.insert(words.end(), options.records.begin(), options.records.end());
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(script.c_str(), arguments.data());
  throw results::EnvironmentError(script + ": cannot be started: " + std::strerror(errno),
                                  "build or install ampgate as a whole: the report is part of it");
}

}  // namespace ampgate::driver
