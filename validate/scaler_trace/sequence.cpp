#include "validate/scaler_trace/sequence.h"

#include "results/node.h"
#include "validate/scaler_trace/gradient.h"
#include "validate/scaler_trace/read_op.h"

namespace ampgate::validate::scaler_trace {
namespace {

constexpr auto kAction =
    "Correct that value; docs/scaler-trace.md and share/ampgate/schema describe the file.";

precision::GradScaler read_scaler(const Node& node) {
  precision::GradScalerOptions options;
  auto object = node.object();
  const auto number = [&](const std::string& key, double& target) {
    if (object.has(key)) target = node.member(object, key).number();
  };
  number("init_scale", options.init_scale);
  number("growth_factor", options.growth_factor);
  number("backoff_factor", options.backoff_factor);
  if (object.has("growth_interval")) {
    options.growth_interval = node.member(object, "growth_interval").integer();
  }
  if (object.has("enabled")) options.enabled = node.member(object, "enabled").boolean();
  object.refuse_unknown();
  try {
    return precision::GradScaler(at::kCPU, options);
  } catch (const precision::GradScalerError& error) {
    node.fail(error.what());
  }
}

Parameter read_parameter(const Node& node) {
  auto object = node.object();
  Parameter parameter{read_shape(node.member(object, "shape")), read_type(node.member(object, "dtype"))};
  object.refuse_unknown();
  return parameter;
}

std::vector<std::vector<Parameter>> read_parameters(const Node& node) {
  std::vector<std::vector<Parameter>> parameters;
  for (const Node& optimizer : node.items()) {
    parameters.emplace_back();
    for (const Node& parameter : optimizer.items()) parameters.back().push_back(read_parameter(parameter));
  }
  return parameters;
}

}  // namespace

Sequence read_sequence(const results::Json& document, const std::string& where) {
  const Node root(document, where, kAction);
  auto object = root.object();
  const results::Json defaults = results::Json::object();
  Sequence sequence{
      read_scaler(object.has("scaler") ? root.member(object, "scaler") : Node(defaults, where, kAction)),
      {},
      {}};
  const auto parameters = read_parameters(root.member(object, "parameters"));
  for (const auto& of_optimizer : parameters) sequence.parameters.push_back(of_optimizer.size());
  const Node ops = root.member(object, "ops");
  object.refuse_unknown();
  bool saved = false;
  for (const Node& op : ops.items()) {
    sequence.ops.push_back(read_op(op, parameters, saved));
    saved = saved || std::holds_alternative<Save>(sequence.ops.back().call);
  }
  return sequence;
}

}  // namespace ampgate::validate::scaler_trace
