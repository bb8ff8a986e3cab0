// Arithmetic, activations and other functions of single elements.
#include <ATen/ATen.h>

#include "precision/formats.h"
#include "validate/local/adapter.h"

namespace ampgate::validate::local {
namespace {

using cases::Family;

// A tensor or number as a flat operand of the output's size. Integers take the output's type first.
at::Tensor operand(const LocalCall& call, std::size_t i) {
  const at::Tensor& output = call.view.outputs.at(0);
  if (!call.is_tensor(i)) return at::full({output.numel()}, call.number(i).value(), at::kDouble);
  at::Tensor tensor = call.tensor(i);
  if (!tensor.is_floating_point()) tensor = tensor.to(call.output_type());
  return tensor.to(at::kDouble).expand_as(output).reshape(-1);
}

// FP32 roundings before the one to the output's type: the result itself when it is stored in 16 bit, and
// every number among the arguments, which kernels round to FP32.
std::int64_t roundings(const LocalCall& call, std::initializer_list<std::size_t> operands) {
  std::int64_t count = call.output_is_16_bit() ? 1 : 0;
  for (const std::size_t i : operands) {
    // 0-dimensional tensors are taken as numbers too.
    if (!call.is_tensor(i) || call.tensor(i).dim() == 0) ++count;
  }
  return count;
}

LocalProblem flat(const LocalCall& call, cases::BoundSpec spec, std::vector<cases::NamedTensor> operands,
                  std::function<cases::Outputs(const cases::State&)> function) {
  LocalProblem problem{std::move(spec),
                       {std::move(operands)},
                       std::move(function),
                       {call.view.outputs.at(0).detach().reshape(-1)}};
  problem.independent = cases::IndependentAxis{0, {}};
  for (std::size_t i = 0; i < problem.state.tensors.size(); ++i)
    problem.independent->operands.push_back({i, 0});
  return problem;
}

// self + sign alpha other, or other - alpha self.
template <bool subtract, bool reversed>
std::optional<LocalProblem> sum(const LocalCall& call) {
  const auto position = call.find("alpha");
  const double alpha = position ? call.number(*position).value_or(1.0) : 1.0;
  const std::size_t scaled = reversed ? 0 : 1;
  const at::Tensor added = operand(call, scaled) * (subtract ? -alpha : alpha);
  const std::int64_t count = roundings(call, {0, 1}) + (alpha == 1.0 ? 0 : 2);
  // In 16 bit the CPU's kernels round alpha, and at the end of a row the product as well, to the type.
  const bool rounded = alpha != 1.0 && call.output_is_16_bit();
  const double error = rounded ? 2.0 * precision::format_of(call.output_type()).unit_roundoff() : 0.0;
  return flat(call, {.family = Family::kArithmetic, .length = count, .eps = error},
              {{"x", operand(call, 1 - scaled)}, {"added", added}},
              [](const cases::State& s) -> cases::Outputs { return {s[0] + s[1]}; });
}

std::optional<LocalProblem> multiply(const LocalCall& call) {
  return flat(call, {.family = Family::kArithmetic, .length = roundings(call, {0, 1})},
              {{"x", operand(call, 0)}, {"y", operand(call, 1)}},
              [](const cases::State& s) -> cases::Outputs { return {s[0] * s[1]}; });
}

// A number is divided by as its reciprocal is multiplied with: one rounding more.
std::optional<LocalProblem> divide(const LocalCall& call) {
  const auto mode = call.find("rounding_mode");
  if (mode && !call.arguments[*mode].isNone()) return {};
  const std::int64_t count = roundings(call, {0, 1});
  const bool by_number = !call.is_tensor(1) || call.tensor(1).dim() == 0;
  return flat(call, {.family = Family::kArithmetic, .length = count + (by_number ? 1 : 0)},
              {{"x", operand(call, 0)}, {"y", operand(call, 1)}},
              [](const cases::State& s) -> cases::Outputs { return {s[0] / s[1]}; });
}

// self + value t1 t2 or self + value t1 / t2.
template <bool quotient>
std::optional<LocalProblem> add_product(const LocalCall& call) {
  const auto position = call.find("value");
  const double value = position ? call.number(*position).value_or(1.0) : 1.0;
  const at::Tensor a = operand(call, 1);
  const at::Tensor b = operand(call, 2);
  return flat(call, {.family = Family::kArithmetic, .length = 4},
              {{"x", operand(call, 0)}, {"added", (quotient ? a / b : a * b) * value}},
              [](const cases::State& s) -> cases::Outputs { return {s[0] + s[1]}; });
}

// A function of `self` alone, whatever else the operator takes.
template <Family family>
std::optional<LocalProblem> of_x(const LocalCall& call) {
  LocalProblem problem = call.of_itself({.family = family}, {{"x", 0}});
  const at::Tensor& x = problem.state[0];
  if (!x.is_floating_point() || x.sizes() != call.view.outputs[0].sizes()) return {};
  problem.state.tensors[0].tensor = x.reshape(-1);
  problem.actual = {call.view.outputs[0].detach().reshape(-1)};
  problem.independent = {0, {{0, 0}}};
  return problem;
}

// In 16 bit the CPU's kernels round the root before they divide, at the end of a row.
std::optional<LocalProblem> rsqrt(const LocalCall& call) {
  auto problem = of_x<Family::kUnary>(call);
  if (problem && call.output_is_16_bit()) {
    problem->spec.eps = precision::format_of(call.output_type()).unit_roundoff();
  }
  return problem;
}

std::optional<LocalProblem> gelu(const LocalCall& call) {
  const auto form = call.find("approximate");
  const bool tanh = form && call.arguments[*form].isString() && call.arguments[*form].toStringRef() == "tanh";
  return tanh ? of_x<Family::kGeluTanh>(call) : of_x<Family::kGeluErf>(call);
}

// max(x, 0) + slope min(x, 0): one product with a number.
std::optional<LocalProblem> leaky_relu(const LocalCall& call) {
  auto problem = of_x<Family::kArithmetic>(call);
  if (problem) problem->spec.length = 1 + (call.output_is_16_bit() ? 1 : 0);
  return problem;
}

std::optional<LocalProblem> power(const LocalCall& call) {
  return call.is_tensor(0) && call.number(1) ? of_x<Family::kUnary>(call) : std::nullopt;
}

}  // namespace

void add_elementwise(Adapters& adapters) {
  adapters["add"] = sum<false, false>;
  adapters["sub"] = sum<true, false>;
  adapters["subtract"] = sum<true, false>;
  adapters["rsub"] = sum<true, true>;
  for (const char* name : {"mul", "multiply"}) adapters[name] = multiply;
  for (const char* name : {"div", "divide", "true_divide"}) adapters[name] = divide;
  adapters["addcmul"] = add_product<false>;
  adapters["addcdiv"] = add_product<true>;
  adapters["leaky_relu"] = leaky_relu;
  adapters["pow"] = power;
  adapters["gelu"] = gelu;
  adapters["silu"] = of_x<Family::kSilu>;
  adapters["sigmoid"] = of_x<Family::kSigmoid>;
  adapters["tanh"] = of_x<Family::kTanh>;
  adapters["sqrt"] = of_x<Family::kSqrt>;
  adapters["rsqrt"] = rsqrt;
  adapters["exp"] = of_x<Family::kExp>;
  adapters["log"] = of_x<Family::kLog>;
  adapters["erf"] = of_x<Family::kErf>;
  for (const char* name : {"exp2", "expm1", "log2", "log10", "log1p", "reciprocal", "square", "sin", "cos",
                           "tan", "asin", "acos", "atan", "asinh", "acosh", "atanh", "sinh", "cosh"}) {
    adapters[name] = of_x<Family::kUnary>;
  }
  for (const char* name :
       {"softplus", "elu", "selu", "celu", "mish", "hardswish", "hardsigmoid", "log_sigmoid"}) {
    adapters[name] = of_x<Family::kActivation>;
  }
}

}  // namespace ampgate::validate::local
