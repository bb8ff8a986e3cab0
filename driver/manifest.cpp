#include "driver/manifest.h"

#include "results/error.h"

namespace ampgate::driver {
namespace {

CaseInfo parse_case(const results::Json& json) {
  CaseInfo info;
  info.name = json.at("name").get<std::string>();
  info.model = json.value("model", false);
  info.training = json.value("training", false);
  info.dims = json.at("dims").get<std::vector<std::string>>();
  info.outputs = json.at("outputs").get<std::vector<std::string>>();
  info.quality = json.value("quality", std::vector<std::string>{});
  info.shape_prefix = json.value("shape_prefix", "");
  for (const auto& [suite, shapes] : json.at("suites").items()) {
    info.suites[suite] = shapes.get<std::vector<std::vector<std::int64_t>>>();
    for (const auto& sizes : info.suites[suite]) {
      if (sizes.size() != info.dims.size())
        throw std::invalid_argument("case " + info.name + ": shape without all dims");
    }
  }
  if (json.contains("unsupported"))
    info.unsupported = json.at("unsupported").get<std::map<std::string, std::string>>();
  info.precisions = json.value("precisions", std::vector<std::string>{});
  if (json.contains("minimum_accuracy")) info.minimum_accuracy = json.at("minimum_accuracy").get<double>();
  if (json.contains("maximum_rmse")) info.maximum_rmse = json.at("maximum_rmse").get<double>();
  return info;
}

}  // namespace

std::string CaseInfo::shape_name(const std::vector<std::int64_t>& sizes) const {
  std::string text = shape_prefix;
  for (std::size_t i = 0; i < sizes.size(); ++i) text += (i == 0 ? "" : "x") + std::to_string(sizes[i]);
  return text;
}

Manifest parse_manifest(const results::Json& json, const std::string& where) {
  constexpr auto kAction = "build the workers again";
  try {
    if (json.at("ampgate_manifest") != 1) {
      throw results::EnvironmentError(where + ": manifest of version " + json.at("ampgate_manifest").dump() +
                                          "; this ampgate reads version 1",
                                      kAction);
    }
    Manifest manifest;
    manifest.build_id = json.at("build_id").get<std::string>();
    manifest.libtorch = json.value("libtorch", "");
    for (const auto& entry : json.at("cases")) manifest.cases.push_back(parse_case(entry));
    manifest.precisions = json.at("precisions").get<std::vector<std::string>>();
    manifest.suites = json.at("suites").get<std::vector<std::string>>();
    if (manifest.precisions.empty()) throw std::invalid_argument("no precisions");
    return manifest;
  } catch (const results::Json::exception& error) {
    throw results::EnvironmentError(where + ": not a manifest of cases: " + error.what(), kAction);
  } catch (const std::invalid_argument& error) {
    throw results::EnvironmentError(where + ": not a manifest of cases: " + error.what(), kAction);
  }
}

void add_cases(Manifest& manifest, const results::Json& entries) {
  try {
    for (const auto& entry : entries) manifest.cases.push_back(parse_case(entry));
  } catch (const std::exception& error) {
    throw results::EnvironmentError(std::string("a worker's answer about case files: ") + error.what(),
                                    "build the workers again");
  }
}

}  // namespace ampgate::driver
