#include "validate/manifest.h"

#include <torch/headeronly/version.h>

#include <array>
#include <string>

#include "backends/backend.h"
#include "backends/build_id.h"
#include "backends/to_json.h"
#include "cases/case.h"
#include "cases/files/load.h"
#include "precision/precision.h"

namespace ampgate::validate {

using results::Json;

namespace {

constexpr int kManifestVersion = 1;
constexpr std::array kSuites{"smoke", "standard", "training", "large", "examples"};

std::string libtorch_version() {
  return std::to_string(TORCH_VERSION_MAJOR) + '.' + std::to_string(TORCH_VERSION_MINOR) + '.' +
         std::to_string(TORCH_VERSION_PATCH);
}

// What the case's answers are judged by on its data. Facts depend on a shape, this does not.
Json quality_of(const cases::Case& definition) {
  Json quality = Json::array();
  if (definition.suites.empty() || definition.suites.front().shapes.empty()) return quality;
  const cases::Facts facts = definition.facts(definition.shape(definition.suites.front().shapes.front()));
  if (facts.decisions && !facts.decisions->labels.empty()) quality.push_back("accuracy");
  if (!facts.targets.empty()) quality.push_back("rmse");
  return quality;
}

Json case_entry(const cases::Case& definition) {
  Json suites = Json::object();
  for (const auto& suite : definition.suites) suites[suite.suite] = suite.shapes;
  Json unsupported = Json::object();
  for (const auto& [precision, reason] : definition.unsupported) unsupported[precision] = reason;
  Json entry{{"name", definition.name},
             {"model", definition.model},
             {"training", definition.training.has_value()},
             {"dims", definition.dims},
             {"shape_prefix", definition.shape_prefix},
             {"suites", std::move(suites)},
             {"outputs", definition.outputs},
             {"quality", quality_of(definition)},
             {"unsupported", std::move(unsupported)}};
  if (!definition.precisions.empty()) entry["precisions"] = definition.precisions;
  if (definition.minimum_accuracy) entry["minimum_accuracy"] = *definition.minimum_accuracy;
  if (definition.maximum_rmse) entry["maximum_rmse"] = *definition.maximum_rmse;
  return entry;
}

}  // namespace

Json manifest() {
  Json entries = Json::array();
  for (const auto& [name, definition] : cases::registry()) entries.push_back(case_entry(definition));
  Json precisions = Json::array();
  for (const auto& precision : precision::all()) precisions.push_back(precision.name);
  return {{"ampgate_manifest", kManifestVersion}, {"build_id", backends::build_id()},
          {"libtorch", libtorch_version()},       {"cases", std::move(entries)},
          {"precisions", std::move(precisions)},  {"suites", kSuites}};
}

Json file_manifest(const Json& files) {
  Json found = cases::files::load(files);
  Json entries = Json::array();
  for (const auto& file : found.at("cases")) {
    for (const auto& name : file.at("names"))
      entries.push_back(case_entry(cases::registry().find(name.get<std::string>())->second));
  }
  return {{"files", std::move(found)}, {"cases", std::move(entries)}};
}

Json devices() {
  Json list = Json::array();
  for (const auto& found : backends::probe()) {
    Json entry{{"name", found.name}, {"usable", found.identity.has_value()}};
    if (found.identity) {
      entry["model"] = found.identity->model;
      entry["uuid"] = found.identity->uuid;
      entry["memory_bytes"] = found.identity->memory_bytes;
      entry["fields"] = backends::fields_json(found.identity->fields);
    }
    entry["problem"] = found.problem;
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace ampgate::validate
