#include "cases/files/load.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cases/case.h"
#include "cases/files/document.h"
#include "cases/files/library.h"
#include "cases/files/module_case.h"
#include "cases/files/operator_case.h"
#include "cases/files/package.h"
#include "cases/files/package_case.h"
#include "results/error.h"
#include "results/sha256.h"

namespace ampgate::cases::files {
namespace {

namespace fs = std::filesystem;
using results::FileError;
using results::Json;

// {"path", "sha256"} of a file that must be what `known` says of it, where it says something.
Json identified(const fs::path& path, const Json& known) {
  const std::string digest = results::sha256_file(path.string());
  if (known.contains("sha256") && known.at("sha256") != digest) {
    throw FileError(path.string(),
                    "has changed since the run was planned: its SHA-256 is " + digest + ", and was " +
                        known.at("sha256").get<std::string>(),
                    "start a run of its own with the file as it is now");
  }
  return {{"path", path.string()}, {"sha256", digest}};
}

// A second subject would be read by nobody.
void check_one_subject(const Document& document) {
  std::string first;
  for (const char* subject : {"operator", "operators", "module", "package", "baseline_package"}) {
    if (!document.has(subject)) continue;
    if (!first.empty())
      document.member(subject).fail("the file is about \"" + first + "\" already: write two files");
    first = subject;
  }
}

std::vector<Case> read_cases(const Document& document) {
  if (document.has("operator") || document.has("operators")) return operator_cases(document);
  if (document.has("package") || document.has("baseline_package")) return {package_case(document)};
  if (document.has("module")) return {module_case(document)};
  document.root().fail(
      R"(says not what it is about: give "operator", "operators", "module", "package" or "baseline_package")");
}

void add(const Document& document, Case definition) {
  const std::string name = definition.name;
  if (registry().contains(name)) {
    document.member("name").fail("there is a case called '" + name +
                                 "' already, built in or of another file: choose another name");
  }
  add_case(std::move(definition));
}

// A model, which a case file names as well: it is loaded when it first runs. Packages and TorchScript files
// are zip archives, which no shared library is.
bool is_model(const fs::path& path) {
  std::array<char, 4> begin{};
  std::ifstream(path, std::ios::binary).read(begin.data(), begin.size());
  return std::string_view(begin.data(), begin.size()) == std::string_view("PK\3\4", 4);
}

bool is_package(const fs::path& path) { return path.extension() == ".pt2"; }

// The other files that `entry` needs, which must be what it says of them, where it says something.
Json identified_uses(const std::set<fs::path>& used, const Json& entry) {
  Json known = Json::object();
  for (const auto& use : entry.value("uses", Json::array())) known[use.at("path").get<std::string>()] = use;
  Json uses = Json::array();
  for (const auto& file : used) uses.push_back(identified(file, known.value(file.string(), Json::object())));
  return uses;
}

// Of the file and all that it uses, one after the other.
std::string digests_of(const Json& file) {
  std::string digests = file.at("sha256").get<std::string>();
  for (const auto& use : file.at("uses")) digests += use.at("sha256").get<std::string>();
  return digests;
}

Json load_library_file(const Json& entry) {
  const fs::path path = entry.at("path").get<std::string>();
  Json found = identified(path, entry);
  const LoadedLibrary library = load_library(path);
  found["operators"] = library.operators;
  found["uses"] = identified_uses({library.companions.begin(), library.companions.end()}, entry);
  return found;
}

// What was loaded, or may be.
struct Code {
  std::string digests;  // of libraries of operators
  std::set<fs::path> models;
  std::set<fs::path> folders;
};

Json model_entry(const fs::path& path, const Json& known) {
  Json entry = identified(path, known);
  entry.update({{"operators", Json::array()}, {"uses", Json::array()}});
  return entry;
}

Json load_case_file(const Json& entry, const Code& code) {
  const fs::path path = entry.at("path").get<std::string>();
  Json found = identified(path, entry);
  const Json json = results::read_json_file(path.string());
  std::vector<fs::path> used;
  const Document document(json, path, used, code.models, code.folders);
  check_one_subject(document);
  auto cases = read_cases(document);
  document.refuse_unknown();
  found["uses"] = identified_uses({used.begin(), used.end()}, entry);
  const std::string digests = digests_of(found);
  // Nobody knows which operators these call.
  const bool model = document.has("module") || document.has("package") || document.has("baseline_package");
  found["names"] = Json::array();
  for (auto& definition : cases) {
    found["names"].push_back(definition.name);
    definition.file_sha256 =
        results::sha256_hex(definition.foreign || model ? digests + code.digests : digests);
    add(document, std::move(definition));
  }
  return found;
}

}  // namespace

Json load(const Json& files) {
  Json found{{"libraries", Json::array()}, {"cases", Json::array()}};
  Code code;
  bool packages = false;
  const auto permit = [&](const fs::path& path, const Json& known) {
    if (code.models.insert(fs::weakly_canonical(path)).second)
      found["libraries"].push_back(model_entry(path, known));
  };
  for (const auto& entry : files.value("libraries", Json::array())) {
    const fs::path path = entry.at("path").get<std::string>();
    packages = packages || is_package(path);
    if (is_package(path) || is_model(path)) {
      permit(path, entry);
    } else {
      found["libraries"].push_back(load_library_file(entry));
      code.digests += digests_of(found["libraries"].back());
    }
  }
  for (const auto& folder : files.value("folders", Json::array()))
    code.folders.insert(fs::weakly_canonical(folder.get<std::string>()));
  if (packages) load_libtorch();
  for (const auto& entry : files.value("cases", Json::array())) {
    found["cases"].push_back(load_case_file(entry, code));
    for (const auto& use : found["cases"].back().at("uses")) {
      const fs::path path = use.at("path").get<std::string>();
      if (is_model(path)) permit(path, use);
    }
  }
  return found;
}

}  // namespace ampgate::cases::files
