#include "cases/files/load.h"

#include <filesystem>
#include <set>
#include <string>
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

// A compiled model, which a case file names as well: it is loaded when it first runs.
bool is_package(const fs::path& path) { return path.extension() == ".pt2"; }

Json load_case_file(const Json& entry, const std::set<fs::path>& code) {
  const fs::path path = entry.at("path").get<std::string>();
  Json found = identified(path, entry);
  const Json json = results::read_json_file(path.string());
  std::vector<fs::path> used;
  const Document document(json, path, used, code);
  check_one_subject(document);
  auto cases = read_cases(document);
  document.refuse_unknown();
  Json known = Json::object();
  for (const auto& use : entry.value("uses", Json::array())) known[use.at("path").get<std::string>()] = use;
  found["uses"] = Json::array();
  for (const auto& file : std::set<fs::path>(used.begin(), used.end())) {
    found["uses"].push_back(identified(file, known.value(file.string(), Json::object())));
  }
  std::string digests = found.at("sha256").get<std::string>();
  for (const auto& use : found.at("uses")) digests += use.at("sha256").get<std::string>();
  found["names"] = Json::array();
  for (auto& definition : cases) {
    found["names"].push_back(definition.name);
    definition.file_sha256 = results::sha256_hex(digests);
    add(document, std::move(definition));
  }
  return found;
}

}  // namespace

Json load(const Json& files) {
  Json found{{"libraries", Json::array()}, {"cases", Json::array()}};
  std::set<fs::path> packages;
  for (const auto& entry : files.value("libraries", Json::array())) {
    const fs::path path = entry.at("path").get<std::string>();
    found["libraries"].push_back(identified(path, entry));
    Json& operators = found["libraries"].back()["operators"];
    operators = Json::array();
    if (is_package(path)) {
      packages.insert(fs::weakly_canonical(path));
    } else {
      operators = load_library(path);
    }
  }
  if (!packages.empty()) load_libtorch();
  for (const auto& entry : files.value("cases", Json::array()))
    found["cases"].push_back(load_case_file(entry, packages));
  return found;
}

}  // namespace ampgate::cases::files
