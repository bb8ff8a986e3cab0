#include "cases/files/model_facts.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace ampgate::cases::files {
namespace {

using results::ObjectReader;

constexpr auto kDomain = "the inputs of the case file";

// Everything that the file's words are read against.
struct Reading {
  const Document& document;
  const std::vector<std::string>& outputs;
  const std::vector<ModelTensor>& tensors;
  std::size_t first_data;
};

std::size_t find_output(const Node& node, const Reading& reading) {
  const std::string name = node.string();
  const auto found = std::find(reading.outputs.begin(), reading.outputs.end(), name);
  if (found == reading.outputs.end())
    node.fail("no output is called '" + name + "'; " + results::suggestion(name, reading.outputs));
  return static_cast<std::size_t>(found - reading.outputs.begin());
}

// A tensor of "data"; what the model is given may be an answer as well.
std::string find_tensor(const Node& node, const Reading& reading, bool whole_numbers) {
  const std::string name = node.string();
  std::vector<std::string> known;
  for (const auto& [other, spec] : reading.tensors) {
    known.push_back(other);
    if (other != name) continue;
    if (whole_numbers && c10::isFloatingType(spec.type)) node.fail("'" + name + "' does not hold integers");
    return name;
  }
  node.fail("no tensor of \"data\" or \"inputs\" is called '" + name + "'; " +
            (known.empty() ? "there are none" : results::suggestion(name, known)));
}

DecisionKind read_kind(const Node& node) {
  const std::vector<std::pair<std::string, DecisionKind>> kKinds{{"argmax", DecisionKind::kArgmax},
                                                                 {"threshold", DecisionKind::kThreshold},
                                                                 {"top_k", DecisionKind::kTopK},
                                                                 {"actions", DecisionKind::kActions}};
  const std::string word = node.string();
  std::vector<std::string> known;
  for (const auto& [name, kind] : kKinds) {
    if (name == word) return kind;
    known.push_back(name);
  }
  node.fail("unknown kind of decision; " + results::suggestion(word, known));
}

void read_details(const Node& node, ObjectReader& object, Decisions& rule) {
  const auto wanted = [&](const char* key, bool by_kind) {
    if (object.has(key) && !by_kind) node.member(object, key).fail("belongs to another kind of decision");
    return object.has(key);
  };
  if (wanted("thresholds", rule.kind == DecisionKind::kThreshold)) {
    const Node list = node.member(object, "thresholds");
    rule.thresholds = list.numbers();
    if (rule.thresholds.empty()) list.fail("names no threshold");
  }
  if (wanted("k", rule.kind == DecisionKind::kTopK)) rule.k = node.member(object, "k").integer(1);
  if (wanted("ranked", rule.kind == DecisionKind::kTopK))
    rule.ranked = node.member(object, "ranked").boolean();
  if (wanted("actions", rule.kind == DecisionKind::kActions)) {
    for (const Node& item : node.member(object, "actions").items()) rule.actions.push_back(item.string());
  }
  if (wanted("edges", rule.kind == DecisionKind::kActions)) {
    const Node edges = node.member(object, "edges");
    rule.edges = edges.numbers();
    if (!std::is_sorted(rule.edges.begin(), rule.edges.end())) edges.fail("must ascend");
    if (rule.actions.size() != rule.edges.size() + 1)
      edges.fail("make " + std::to_string(rule.edges.size() + 1) + " intervals, and " +
                 std::to_string(rule.actions.size()) + " actions are named");
  }
  if (rule.kind == DecisionKind::kThreshold && rule.thresholds.empty())
    node.fail("thresholds decide: give \"thresholds\", one for all or one a class");
  if (rule.kind == DecisionKind::kActions && rule.actions.empty())
    node.fail("actions are decided: give \"actions\", one a class or one an interval of \"edges\"");
}

Decisions read_decisions(const Node& node, const Reading& reading) {
  auto object = node.object();
  Decisions rule;
  if (object.has("output")) rule.output = find_output(node.member(object, "output"), reading);
  if (object.has("kind")) rule.kind = read_kind(node.member(object, "kind"));
  if (object.has("labels")) rule.labels = find_tensor(node.member(object, "labels"), reading, true);
  if (object.has("ids")) rule.ids = find_tensor(node.member(object, "ids"), reading, true);
  read_details(node, object, rule);
  object.refuse_unknown();
  return rule;
}

Meaning read_meaning(const Node& node) {
  const std::string word = node.string();
  if (word == "values") return Meaning::kValues;
  if (word == "scores") return Meaning::kScores;
  if (word == "regression") return Meaning::kRegression;
  node.fail("unknown meaning; " + results::suggestion(word, {"values", "scores", "regression"}));
}

void read_answers(const Reading& reading, Facts& facts) {
  const auto meaning = reading.document.optional("meaning");
  const auto decisions = reading.document.optional("decisions");
  const auto targets = reading.document.optional("targets");
  if (decisions) facts.decisions = read_decisions(*decisions, reading);
  if (targets) facts.targets = find_tensor(*targets, reading, false);
  if (const auto output = reading.document.optional("target_output")) {
    if (!targets) output->fail("there are no \"targets\"");
    facts.target_output = find_output(*output, reading);
  }
  facts.meaning = decisions ? Meaning::kScores : targets ? Meaning::kRegression : Meaning::kValues;
  if (!meaning) return;
  facts.meaning = read_meaning(*meaning);
  if (facts.meaning == Meaning::kScores && !decisions)
    meaning->fail("scores decide something: say what by \"decisions\"");
  if (facts.meaning != Meaning::kScores && decisions)
    meaning->fail("there are \"decisions\", so the outputs are scores");
  if (facts.meaning == Meaning::kValues && targets)
    meaning->fail("there are \"targets\", so the outputs are a regression's");
}

// Every tensor with the batch's first dimension; the model's own weights have none.
void read_rows(const Reading& reading, Facts& facts) {
  const auto rows = reading.document.optional("rows_independent");
  if (!rows || !rows->boolean()) return;
  const auto& tensors = reading.tensors;
  if (reading.first_data == 0 || tensors.front().spec.sizes.empty())
    rows->fail("the first input has no dimension that could be that of the rows");
  const std::int64_t count = tensors.front().spec.sizes.front();
  IndependentAxis axis{0, {}};
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto& sizes = tensors[i].spec.sizes;
    if (!sizes.empty() && sizes.front() == count) axis.operands.push_back({i, 0});
  }
  facts.independent.push_back(std::move(axis));
}

}  // namespace

std::vector<ModelTensor> read_tensors(const Document& document, const std::string& member) {
  std::vector<ModelTensor> tensors;
  const auto node = document.optional(member);
  if (!node) return tensors;
  auto object = node->object();
  for (const std::string& name : object.keys()) {
    const Node given = node->member(object, name);
    TensorSpec spec = read_tensor(given, document.surroundings());
    if (!spec.name.empty()) given.fail("has its name from \"" + member + "\": leave \"name\" out");
    if (spec.requires_grad) given.fail("a model is not differentiated: leave \"requires_grad\" out");
    tensors.push_back({name, std::move(spec)});
  }
  return tensors;
}

ModelFacts read_model_facts(const Document& document, const std::vector<std::string>& outputs,
                            const std::vector<ModelTensor>& tensors, std::size_t first_data) {
  const Reading reading{document, outputs, tensors, first_data};
  ModelFacts result;
  Facts& facts = result.facts;
  facts.bound = {.family = Family::kModel, .length = 0};
  if (const auto length = document.optional("reduction_length")) facts.bound.length = length->integer(1);
  facts.domain = kDomain;
  facts.makes = "what the model's own code makes";
  if (const auto flops = document.optional("flops")) {
    facts.flops = flops->number();
    if (!(facts.flops >= 0.0 && std::isfinite(facts.flops))) flops->fail("must be a number of at least 0");
  }
  if (const auto reads = document.optional("reads")) facts.reads = reads->string();
  read_answers(reading, facts);
  read_rows(reading, facts);
  for (std::size_t i = first_data; i < tensors.size(); ++i) facts.elements_read[i] = 0.0;
  if (const auto accuracy = document.optional("minimum_accuracy")) {
    result.minimum_accuracy = accuracy->number();
    if (!(*result.minimum_accuracy >= 0.0 && *result.minimum_accuracy <= 1.0))
      accuracy->fail("must be a share from 0 to 1");
    if (!facts.decisions || facts.decisions->labels.empty())
      accuracy->fail("there are no labels to measure it by: name them in \"decisions\"");
  }
  if (const auto rmse = document.optional("maximum_rmse")) {
    result.maximum_rmse = rmse->number();
    if (!(*result.maximum_rmse > 0.0 && std::isfinite(*result.maximum_rmse)))
      rmse->fail("must be a positive number");
    if (facts.targets.empty()) rmse->fail("there are no \"targets\" to measure it by");
  }
  return result;
}

}  // namespace ampgate::cases::files
