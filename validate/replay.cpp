#include "validate/replay.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/nan_to_num.h>
#include <ATen/ops/normal.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "precision/formats.h"
#include "validate/accumulation.h"
#include "validate/alignment.h"
#include "validate/call_tensors.h"
#include "validate/fp64_call.h"

namespace ampgate::validate {
namespace {

// Operators whose results are values of their arguments: nothing to round unless the type gets narrower.
constexpr std::array<std::string_view, 45> kExact{"abs",         "adaptive_max_pool2d",
                                                  "amax",        "amin",
                                                  "cat",         "chunk",
                                                  "clamp",       "clamp_min",
                                                  "clone",       "constant_pad_nd",
                                                  "contiguous",  "copy_",
                                                  "dropout",     "embedding",
                                                  "expand",      "flatten",
                                                  "flip",        "gather",
                                                  "hardtanh",    "index_select",
                                                  "masked_fill", "max",
                                                  "max_pool1d",  "max_pool2d",
                                                  "maximum",     "min",
                                                  "minimum",     "neg",
                                                  "pad",         "permute",
                                                  "relu",        "relu_",
                                                  "repeat",      "reshape",
                                                  "roll",        "sort",
                                                  "squeeze",     "stack",
                                                  "t",           "to",
                                                  "topk",        "transpose",
                                                  "type_as",     "where",
                                                  "_to_copy"};

bool moves_values(std::string_view name) {
  name.remove_prefix(std::min(name.size(), name.find("::") + 2));
  return std::find(kExact.begin(), kExact.end(), name) != kExact.end();
}

// One rounding in FP32 and no more: everything else takes several steps from its arguments to its result.
constexpr std::array<std::string_view, 10> kOneStep{"add",  "add_", "sub",  "sub_", "mul",
                                                    "mul_", "div",  "div_", "sqrt", "sqrt_"};

bool takes_steps(const c10::OperatorHandle& op) {
  const std::string_view name = op.schema().name();
  if (moves_values(name) || adds_up(op)) return false;
  const auto colons = name.find("::");
  const auto word = colons == std::string_view::npos ? name : name.substr(colons + 2);
  return std::find(kOneStep.begin(), kOneStep.end(), word) == kOneStep.end();
}

bool is_floating(const c10::IValue& value) {
  return value.isTensor() && value.toTensor().defined() && value.toTensor().is_floating_point();
}

int significand_bits(c10::ScalarType type) { return precision::format_of(type).significand_bits; }

constexpr double kSpread = 0.85;  // of u: fitted on correct kernels
// What the steps within a kernel do to its result in FP32 is what changes of so many u32 in its arguments do:
// FP32 gradients of gelu, softmax, cross entropy, layer_norm, convolution and attention were 0.3 to 1.7 times
// what this predicts, and up to 7 times what one rounding of each result does.
constexpr double kInnerSpread = 4.0;

class Replayer : public Interceptor {
 public:
  Replayer(const std::vector<PairedCall>& calls, std::uint64_t seed, double amplified)
      : calls_(calls), amplified_(amplified), generator_(at::make_generator<at::CPUGeneratorImpl>(seed)) {}

  void call(const c10::OperatorHandle& op, torch::jit::Stack& stack) override {
    const auto& schema = op.schema();
    if (next_ == calls_.size() || calls_[next_].name != schema.name()) throw departed(schema.name());
    static const RecordedCall kExactCall{};
    const RecordedCall* partner = calls_[next_++].partner;
    const RecordedCall& recorded = partner != nullptr ? *partner : kExactCall;
    const auto arguments = stack.size() - schema.arguments().size();
    for (std::size_t i = 0; i < schema.arguments().size(); ++i)
      ask_for_fp64(schema.arguments()[i], stack[arguments + i]);
    for (const std::size_t i : recorded.rounded_inputs) {
      if (i >= schema.arguments().size()) continue;  // another overload
      stack[arguments + i] = with_tensors(stack[arguments + i], [&](const at::Tensor& tensor) {
        return tensor.is_floating_point() ? noisy(tensor, *recorded.rounded.front()) : tensor;
      });
    }
    if (!recorded.rounded.empty() && recorded.rounded.front() && takes_steps(op)) {
      for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
        if (is_written(schema.arguments()[i])) continue;
        stack[arguments + i] = with_tensors(stack[arguments + i], [&](const at::Tensor& tensor) {
          return tensor.is_floating_point()
                     ? noisy(tensor, kInnerSpread * precision::format_of(at::kFloat).unit_roundoff())
                     : tensor;
        });
      }
    }
    const torch::jit::Stack given(stack.begin() + static_cast<std::ptrdiff_t>(arguments), stack.end());
    op.callBoxed(stack);
    const auto results = stack.size() - schema.returns().size();
    for (std::size_t i = 0; i < std::min(recorded.rounded.size(), schema.returns().size()); ++i) {
      if (!recorded.rounded[i] || !is_floating(stack[results + i])) continue;
      if (const auto deviation =
              accumulation_deviation(op, given, stack[results + i].toTensor(), i, *recorded.rounded[i])) {
        const at::Tensor result = stack[results + i].toTensor();
        const at::Tensor moved =
            at::normal(result.detach(), at::nan_to_num(*deviation * amplified_, 0.0, 0.0, 0.0), generator_);
        put(schema.returns()[i], result + (moved - result).detach(), stack[results + i]);
      }
      put(schema.returns()[i], noisy(stack[results + i].toTensor(), *recorded.rounded[i]),
          stack[results + i]);
    }
  }

  // Rounding has no derivative of its own: backward sees a sum whose other part is a constant, and calls no
  // operator for it.
  at::Tensor noisy(const at::Tensor& tensor, c10::ScalarType type) {
    return noisy(tensor, kSpread * precision::format_of(type).unit_roundoff());
  }

  void expect_end() const {
    if (next_ != calls_.size()) throw departed("nothing");
  }

 private:
  // What is written in place must change there; everything else may share memory with a weight.
  static void put(const c10::Argument& declared, const at::Tensor& value, c10::IValue& result) {
    if (is_written(declared)) {
      result.toTensor().copy_(value);
    } else {
      result = value;
    }
  }

  NoPrediction departed(const std::string& called) const {
    return NoPrediction(
        "its error cannot be predicted: which operators the case calls depends on its values (with random "
        "rounding it calls " +
        called + " as operator " + std::to_string(next_) + ", without it does not)");
  }

  at::Tensor noisy(const at::Tensor& tensor, double spread) {
    const at::Tensor plain = tensor.detach();
    const at::Tensor off =
        at::empty_like(plain).uniform_(-spread * amplified_, spread * amplified_, generator_);
    return tensor + off.mul_(plain);
  }

  const std::vector<PairedCall>& calls_;
  double amplified_;
  at::Generator generator_;
  std::size_t next_ = 0;
};

// Of integers, whether they differ: their distance says nothing.
at::Tensor squared_difference(const at::Tensor& run, const at::Tensor& oracle) {
  return oracle.is_floating_point() ? (run - oracle).square() : run.ne(oracle).to(at::kDouble);
}

}  // namespace

bool CallRecorder::was_lowered(const at::Tensor& tensor) const {
  return std::any_of(lowered_.begin(), lowered_.end(),
                     [&](const at::Tensor& made) { return made.is_same(tensor); });
}

void CallRecorder::call(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  const auto& schema = op.schema();
  const auto arguments = stack.size() - schema.arguments().size();
  int input_bits = 0;  // of the widest floating argument
  std::vector<std::size_t> float_inputs;
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    bool any_float = false;
    for (const at::Tensor& tensor : tensors_in(stack[arguments + i])) {
      if (!tensor.is_floating_point()) continue;
      input_bits = std::max(input_bits, significand_bits(tensor.scalar_type()));
      any_float = any_float || tensor.scalar_type() == at::kFloat || was_lowered(tensor);
    }
    if (any_float && !is_written(schema.arguments()[i])) float_inputs.push_back(i);
  }
  op.callBoxed(stack);
  if (schema.name() == "aten::_autocast_to_reduced_precision") lowered_.push_back(stack.back().toTensor());

  RecordedCall recorded{schema.name(), {}, {}};
  const bool exact = moves_values(schema.name());
  const auto results = stack.size() - schema.returns().size();
  for (std::size_t i = 0; i < schema.returns().size(); ++i) {
    std::optional<c10::ScalarType> rounded;
    // Constants (no floating argument) are taken as representable.
    if (is_floating(stack[results + i]) && input_bits > 0) {
      const auto type = stack[results + i].toTensor().scalar_type();
      const bool narrower = significand_bits(type) < input_bits;
      if (narrower || (!exact && !cases::is_view(schema.returns()[i]))) rounded = type;
    }
    recorded.rounded.push_back(rounded);
  }
  const bool lowered = !recorded.rounded.empty() && recorded.rounded.front() &&
                       significand_bits(*recorded.rounded.front()) < significand_bits(at::kFloat);
  if (lowered && !exact) recorded.rounded_inputs = float_inputs;
  calls_.push_back(std::move(recorded));
}

Replay replay(const cases::Case& definition, const cases::State& fp64, const cases::Outputs& oracle,
              const ReplayPlan& plan) {
  Replay result;
  for (const auto& output : oracle)
    result.deviation.push_back(at::zeros(output.sizes(), output.options().dtype(at::kDouble)));
  const std::vector<PairedCall> calls = pair_calls(definition, fp64, plan.calls);
  for (int run = 0; run < plan.runs; ++run) {
    Replayer replayer(calls, plan.seed + static_cast<std::uint64_t>(run), plan.amplified);
    cases::State state = fp64;
    if (plan.stored) {
      for (auto& entry : state.tensors) {
        if (entry.tensor.is_floating_point()) entry.tensor = replayer.noisy(entry.tensor, *plan.stored);
      }
    }
    {
      const InterceptScope intercept(replayer);
      result.runs.push_back(definition.visible_run()(state));
    }
    replayer.expect_end();
    for (std::size_t i = 0; i < oracle.size(); ++i)
      result.deviation[i] += squared_difference(result.runs.back()[i], oracle[i]);
  }
  for (auto& squares : result.deviation) {
    squares /= plan.runs;
    result.rms.push_back(std::sqrt(squares.mean().item<double>()));
    squares.sqrt_();
  }
  return result;
}

std::vector<at::Tensor> varying_integers(const Replay& replay, const cases::Outputs& oracle) {
  std::vector<at::Tensor> varies(oracle.size());
  for (std::size_t i = 0; i < oracle.size(); ++i) {
    if (oracle[i].is_floating_point()) continue;
    varies[i] = at::zeros(oracle[i].sizes(), at::kBool);
    for (const auto& run : replay.runs) varies[i].logical_or_(run[i].ne(oracle[i]));
  }
  return varies;
}

}  // namespace ampgate::validate
