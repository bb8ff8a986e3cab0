#include "validate/scaler_trace/read_op.h"

#include <array>
#include <string_view>

namespace ampgate::validate::scaler_trace {
namespace {

using precision::GradScalerState;

using Parameters = std::vector<std::vector<Parameter>>;

// An operation with its arguments, and what they are checked against.
struct Context {
  const Node& op;
  std::vector<Node> arguments;
  const Parameters& parameters;
  bool saved;
};

void takes(const Context& context, std::size_t least, std::size_t most, const std::string& what) {
  const std::size_t count = context.arguments.size();
  if (count < least || count > most) {
    context.op.fail("takes " + what + ", has " + std::to_string(count) + " arguments");
  }
}

Call read_scale(const Context& context) {
  takes(context, 0, 0, "no argument");
  return Scale{};
}

Call read_gradients(const Context& context) {
  takes(context, 1, 1, "one argument, the gradients by optimizer and parameter");
  const Node& all = context.arguments[0];
  const auto optimizers = all.items();
  if (optimizers.size() != context.parameters.size()) {
    all.fail("is for " + std::to_string(optimizers.size()) + " optimizers, and /parameters has " +
             std::to_string(context.parameters.size()));
  }
  Gradients gradients;
  for (std::size_t i = 0; i < optimizers.size(); ++i) {
    const auto list = optimizers[i].items();
    const auto& parameters = context.parameters[i];
    if (list.size() != parameters.size()) {
      optimizers[i].fail("is for " + std::to_string(list.size()) + " parameters, and /parameters/" +
                         std::to_string(i) + " has " + std::to_string(parameters.size()));
    }
    gradients.of.emplace_back();
    for (std::size_t j = 0; j < list.size(); ++j) {
      gradients.of.back().push_back(read_gradient(list[j], parameters[j]));
    }
  }
  return gradients;
}

std::size_t read_optimizer(const Context& context) {
  if (context.parameters.empty()) context.op.fail("there is no optimizer: /parameters is empty");
  const auto last = static_cast<std::int64_t>(context.parameters.size()) - 1;
  return static_cast<std::size_t>(context.arguments[0].integer(0, last));
}

Call read_unscale(const Context& context) {
  takes(context, 1, 1, "one argument, the optimizer's number");
  return Unscale{read_optimizer(context)};
}

Call read_step(const Context& context) {
  takes(context, 1, 2, "the optimizer's number, and \"closure\" where one was given");
  const bool with_closure = context.arguments.size() == 2;
  if (with_closure && context.arguments[1].string() != "closure") {
    context.arguments[1].fail("must be \"closure\", or be left out");
  }
  return Step{read_optimizer(context), with_closure};
}

at::Tensor read_scale_tensor(const Node& node) {
  auto object = node.object();
  const auto shape =
      object.has("shape") ? read_shape(node.member(object, "shape")) : std::vector<std::int64_t>{};
  const auto type = object.has("dtype") ? read_type(node.member(object, "dtype")) : at::kFloat;
  at::Tensor tensor = read_tensor(node.member(object, "values"), shape, type);
  if (object.has("requires_grad")) tensor.requires_grad_(node.member(object, "requires_grad").boolean());
  object.refuse_unknown();
  return tensor;
}

Call read_update(const Context& context) {
  takes(context, 0, 1, "nothing or null, or the new scale");
  if (context.arguments.empty() || context.arguments[0].is_null()) return Update{};
  const Node& scale = context.arguments[0];
  if (!scale.value().is_object()) return UpdateTo{scale.number()};
  auto object = scale.object();
  const bool is_int = object.has("int");
  if (is_int == object.has("tensor")) scale.fail("must have either \"int\" or \"tensor\"");
  object.refuse_unknown();
  if (!is_int) return UpdateToTensor{read_scale_tensor(scale.member(object, "tensor"))};
  scale.member(object, "int").integer();
  return UpdateToInt{};
}

Call read_save(const Context& context) {
  takes(context, 0, 0, "no argument");
  return Save{};
}

GradScalerState read_state(const Node& node) {
  auto object = node.object();
  GradScalerState state;
  const auto number = [&](const std::string& key, std::optional<double>& target) {
    if (object.has(key)) target = node.member(object, key).number();
  };
  const auto integer = [&](const std::string& key, std::optional<std::int64_t>& target) {
    if (object.has(key)) target = node.member(object, key).integer();
  };
  number("scale", state.scale);
  number("growth_factor", state.growth_factor);
  number("backoff_factor", state.backoff_factor);
  integer("growth_interval", state.growth_interval);
  integer("_growth_tracker", state.growth_tracker);
  object.refuse_unknown();
  return state;
}

Call read_load(const Context& context) {
  takes(context, 0, 1, "nothing, or a state");
  if (!context.arguments.empty()) return Load{read_state(context.arguments[0])};
  if (!context.saved) context.op.fail("no \"save\" came before; put one there, or give the state");
  return Load{};
}

Call read_growth_factor(const Context& context) {
  takes(context, 1, 1, "one argument, the factor");
  return SetGrowthFactor{context.arguments[0].number()};
}

Call read_backoff_factor(const Context& context) {
  takes(context, 1, 1, "one argument, the factor");
  return SetBackoffFactor{context.arguments[0].number()};
}

Call read_growth_interval(const Context& context) {
  takes(context, 1, 1, "one argument, the interval");
  return SetGrowthInterval{context.arguments[0].integer()};
}

struct Known {
  std::string_view name;
  Call (*read)(const Context&);
};

constexpr std::array<Known, 10> kKnown{{{"scale", read_scale},
                                        {"gradients", read_gradients},
                                        {"unscale", read_unscale},
                                        {"step", read_step},
                                        {"update", read_update},
                                        {"save", read_save},
                                        {"load", read_load},
                                        {"set_growth_factor", read_growth_factor},
                                        {"set_backoff_factor", read_backoff_factor},
                                        {"set_growth_interval", read_growth_interval}}};

}  // namespace

Op read_op(const Node& node, const Parameters& parameters, bool saved) {
  auto items = node.items();
  if (items.empty()) node.fail("must begin with the name of an operation, is empty");
  const std::string name = items.front().string();
  std::vector<std::string> names;
  for (const Known& known : kKnown) {
    if (known.name == name) {
      return {name, known.read({node, {items.begin() + 1, items.end()}, parameters, saved})};
    }
    names.emplace_back(known.name);
  }
  items.front().fail("unknown operation \"" + name + "\"; " + results::suggestion(name, names));
}

}  // namespace ampgate::validate::scaler_trace
