#include "driver/case_files.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <vector>

#include "driver/quoting.h"
#include "driver/worker.h"
#include "results/error.h"

namespace ampgate::driver {
namespace {

namespace fs = std::filesystem;
using results::FileError;
using results::Json;
using results::UsageError;

void need_file(const std::string& path, const char* option) {
  std::error_code error;
  if (!fs::is_regular_file(path, error))
    throw FileError(path, "is no file that can be read",
                    std::string("give ") + option + " a file that is there");
}

// The file itself, or every .json of a folder.
std::vector<std::string> case_files(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    need_file(path, "--case-file");
    return {absolute(path)};
  }
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(path)) {
    if (entry.is_regular_file() && entry.path().extension() == ".json")
      files.push_back(absolute(entry.path().string()));
  }
  if (files.empty())
    throw FileError(path, "is a folder without .json files", "name a case file, or their folder");
  std::sort(files.begin(), files.end());
  return files;
}

Json files_of(const Options& options) {
  Json files{{"libraries", Json::array()}, {"folders", Json::array()}, {"cases", Json::array()}};
  std::set<std::string> seen;
  for (const auto& path : options.libraries) {
    need_file(path, "--load-library");
    if (seen.insert(absolute(path)).second) files["libraries"].push_back({{"path", absolute(path)}});
  }
  for (const auto& path : options.case_files) {
    // Whoever names a folder names what is in it.
    if (fs::is_directory(path)) files["folders"].push_back(absolute(path));
    for (const auto& file : case_files(path)) {
      if (seen.insert(file).second) files["cases"].push_back({{"path", file}});
    }
  }
  return files;
}

// Which library does a worker not survive? Each is loaded after those before it, as in a run.
void find_deadly_library(const WorkerSetup& setup, const Json& libraries) {
  Json some{{"libraries", Json::array()}, {"cases", Json::array()}};
  for (const auto& library : libraries) {
    some["libraries"].push_back(library);
    try {
      ask_worker(setup, "cases", some.dump());
    } catch (const results::EnvironmentError& error) {
      throw FileError(
          library.at("path").get<std::string>(),
          std::string("ends the worker that loads it, or keeps it from answering: ") + error.what(),
          "look at what it does when it is loaded: constructors of global objects, TORCH_LIBRARY");
    }
  }
}

Json ask(const WorkerFolder& folder, const Json& files) {
  WorkerSetup setup;
  setup.folder = &folder;
  setup.environment = child_environment(1);
  Json answer;
  try {
    answer = ask_worker(setup, "cases", files.dump());
  } catch (const results::EnvironmentError&) {
    find_deadly_library(setup, files.at("libraries"));
    throw;
  }
  if (answer.contains("error")) {
    const Json& error = answer.at("error");
    throw UsageError(error.at("message").get<std::string>(), error.at("action").get<std::string>());
  }
  return answer;
}

// The file, then those that it needs.
std::vector<Json> with_uses(const Json& file) {
  std::vector<Json> all{file};
  for (const auto& use : file.value("uses", Json::array())) all.push_back(use);
  return all;
}

std::vector<std::string> digests_of(const Json& files, const char* kind) {
  std::vector<std::string> digests;
  for (const auto& file : files.value(kind, Json::array())) {
    for (const Json& one : with_uses(file)) digests.push_back(one.at("sha256").get<std::string>());
  }
  return digests;
}

}  // namespace

WorkerFolder find_worker_and_cases(const Options& options) {
  WorkerFolder folder = find_worker(options.worker, options.torch);
  if (options.case_files.empty() && options.libraries.empty()) return folder;
  const Json answer = ask(folder, files_of(options));
  folder.files = answer.at("files");
  folder.manifest.suites.emplace_back(kFileSuite);
  add_cases(folder.manifest, answer.at("cases"));
  return folder;
}

void check_same_files(const Json& planned, const WorkerFolder& folder, const std::string& where) {
  if (planned.is_null()) return;
  for (const auto& [kind, option] :
       {std::pair{"libraries", "--load-library"}, std::pair{"cases", "--case-file"}}) {
    const auto found = digests_of(folder.files.is_null() ? Json::object() : folder.files, kind);
    for (const auto& file : planned.at(kind)) {
      const auto path = file.at("path").get<std::string>();
      if (found.empty()) {
        throw UsageError(where +
                             " is of cases that files describe, and nothing is loaded that the command "
                             "line does not name",
                         std::string("name it again: ") + option + " " + quoted(path));
      }
      for (const Json& one : with_uses(file)) {
        if (std::find(found.begin(), found.end(), one.at("sha256")) != found.end()) continue;
        const auto changed = one.at("path").get<std::string>();
        const std::string needs = changed == path ? "" : ", which " + path + " needs,";
        throw FileError(
            changed, needs + " is not the file of " + where + ", or has changed since: a SHA-256 differs",
            changed == path ? std::string("give the same file with ") + option + ", or start a run of its own"
                            : "put the file back as it was, or start a run of its own");
      }
    }
  }
}

std::string file_options(const WorkerFolder& folder, const std::string& case_name) {
  if (folder.files.is_null()) return {};
  for (const auto& file : folder.files.at("cases")) {
    const auto& names = file.at("names");
    if (std::find(names.begin(), names.end(), case_name) == names.end()) continue;
    return option_for_each("--load-library", folder.files.at("libraries")) + " --case-file " +
           quoted(file.at("path").get<std::string>());
  }
  return {};
}

}  // namespace ampgate::driver
