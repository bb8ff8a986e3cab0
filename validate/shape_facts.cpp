#include "validate/shape_facts.h"

#include <c10/util/Exception.h>

#include <map>
#include <stdexcept>

#include "cases/files/load.h"
#include "cases/needs.h"
#include "results/error.h"

namespace ampgate::validate {

using results::Json;

namespace {

Json facts_of(const cases::Case& definition, const std::vector<std::int64_t>& sizes) {
  const cases::Shape shape = definition.shape(sizes);
  if (definition.misfit) {
    if (const std::string problem = definition.misfit(shape); !problem.empty())
      throw std::invalid_argument("case " + definition.name + ": " + problem);
  }
  Json entry{{"case", definition.name}, {"shape", shape.name}};
  entry["precisions"] = Json::object();
  std::map<c10::ScalarType, cases::Needs> by_storage;
  for (const auto& precision : precision::all()) {
    const auto storage = precision.mode == precision::Mode::kCast ? precision.type : at::kFloat;
    if (!by_storage.contains(storage)) by_storage[storage] = cases::needs(definition, shape, precision);
    const cases::Needs& needs = by_storage[storage];
    entry["flops"] = needs.flops;
    Json& bytes = entry["precisions"][precision.name];
    bytes["tensor_bytes"] = needs.tensor_bytes;
    if (needs.no_outputs.empty()) {
      bytes["output_bytes"] = needs.output_bytes;
      bytes["bytes"] = needs.moved_bytes;
    } else {
      bytes["absent"] = {{"output_bytes", needs.no_outputs}, {"bytes", needs.no_outputs}};
    }
  }
  return entry;
}

}  // namespace

Json shape_facts(const Json& asked) {
  cases::files::load(asked.value("files", Json::object()));
  Json answer = Json::array();
  for (const auto& entry : asked.at("shapes")) {
    const auto name = entry.at("case").get<std::string>();
    const auto found = cases::registry().find(name);
    if (found == cases::registry().end()) {
      throw results::UsageError("facts: this build has no case '" + name + "'",
                                "ask by this build's manifest");
    }
    try {
      answer.push_back(facts_of(found->second, entry.at("shape").get<std::vector<std::int64_t>>()));
    } catch (const c10::Error& error) {
      answer.push_back({{"case", name}, {"problem", error.what_without_backtrace()}});
    } catch (const Json::exception&) {
      throw;
    } catch (const std::exception& error) {
      answer.push_back({{"case", name}, {"problem", error.what()}});
    }
  }
  return answer;
}

}  // namespace ampgate::validate
