#include "validate/replay.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/nan_to_num.h>
#include <ATen/ops/normal.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "precision/formats.h"
#include "validate/accumulation.h"
#include "validate/alignment.h"
#include "validate/call_tensors.h"
#include "validate/fp64_call.h"
#include "validate/fp64_defaults.h"
#include "validate/numbers.h"
#include "validate/roundings.h"

namespace ampgate::validate {
namespace {

constexpr double kSpread = 0.85;  // of u: fitted on correct kernels
// What the steps within a kernel do to its result in FP32 is what changes of so many u32 in its arguments do:
// FP32 gradients of gelu, softmax, cross entropy, layer_norm, convolution and attention were 0.3 to 1.7 times
// what this predicts, and up to 7 times what one rounding of each result does.
constexpr double kInnerSpread = 4.0;

class Replayer : public Interceptor {
 public:
  Replayer(const std::vector<PairedCall>& calls, std::uint64_t seed, double amplified, bool rounds_numbers)
      : calls_(calls),
        amplified_(amplified),
        rounds_numbers_(rounds_numbers),
        generator_(at::make_generator<at::CPUGeneratorImpl>(seed)) {}

  void call(const c10::OperatorHandle& op, torch::jit::Stack& stack) override {
    const auto& schema = op.schema();
    if (next_ == calls_.size() || calls_[next_].name != schema.name()) throw departed(schema.name());
    static const RecordedCall kExactCall{};
    const RecordedCall* partner = calls_[next_++].partner;
    const auto arguments = stack.size() - schema.arguments().size();
    for (std::size_t i = 0; i < schema.arguments().size(); ++i)
      ask_for_fp64(schema.arguments()[i], stack[arguments + i]);
    replay(op, stack, partner != nullptr ? *partner : kExactCall);
  }

  // Rounding has no derivative of its own: backward sees a sum whose other part is a constant, and calls no
  // operator for it.
  at::Tensor noisy(const at::Tensor& tensor, c10::ScalarType type) { return noisy(tensor, spread_of(type)); }

  void expect_end() const {
    if (next_ != calls_.size()) throw departed("nothing");
  }

 private:
  // The operators that a call of the trial is made of. In FP64 it may be made of others than there (oneDNN's
  // LSTM is one call): those round to the narrowest type that the trial's do.
  class Parts : public Interceptor {
   public:
    Parts(Replayer& replayer, const RecordedCall& whole)
        : replayer_(replayer), whole_(whole), narrowest_(narrowest(whole)) {}

    void call(const c10::OperatorHandle& op, torch::jit::Stack& stack) override {
      const auto found = whole_.parts.find(op.schema().name());
      if (found != whole_.parts.end()) {
        replayer_.replay(op, stack, found->second);
        return;
      }
      RecordedCall part{op.schema().name()};
      const bool computes = !moves_values(part.name) && gives_floating(op, stack);
      for (const c10::Argument& result : op.schema().returns())
        part.rounded.push_back(computes && !cases::is_view(result) ? narrowest_ : std::nullopt);
      replayer_.replay(op, stack, part);
    }

    // Comparisons see the values themselves: what they are given is not disturbed. Tried on a copy, unless it
    // writes, as those do not.
    static bool gives_floating(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
      const auto& declared = op.schema().arguments();
      if (std::any_of(declared.begin(), declared.end(), is_written)) return true;
      torch::jit::Stack tried(stack.end() - static_cast<std::ptrdiff_t>(declared.size()), stack.end());
      op.callBoxed(tried);
      return !tried.empty() && is_floating(tried.front());
    }

   private:
    Replayer& replayer_;
    const RecordedCall& whole_;
    std::optional<c10::ScalarType> narrowest_;
  };

  void replay(const c10::OperatorHandle& op, torch::jit::Stack& stack, const RecordedCall& recorded) {
    const auto& schema = op.schema();
    const auto arguments = stack.size() - schema.arguments().size();
    const bool rounds = !recorded.rounded.empty() && recorded.rounded.front().has_value();
    // Whether the kernel rounds numbers among its arguments is not known: half of the runs do.
    if (rounds && rounds_numbers_ && is_libtorchs(op))
      round_numbers(schema, std::span(stack).subspan(arguments), *recorded.rounded.front());
    const auto disturb = [&](std::size_t i, double spread) {
      if (i >= schema.arguments().size() || is_written(schema.arguments()[i])) return;  // another overload
      stack[arguments + i] = with_tensors(stack[arguments + i], [&](const at::Tensor& tensor) {
        return tensor.is_floating_point() ? noisy(tensor, spread) : tensor;
      });
    };
    for (const std::size_t i : recorded.rounded_inputs) disturb(i, spread_of(*recorded.rounded.front()));
    // Autocast calls the operator again, beneath itself.
    if (const auto own = recorded.parts.find(schema.name()); own != recorded.parts.end()) {
      replay(op, stack, own->second);
      return;
    }
    if (!recorded.parts.empty()) {
      const auto before = roundings_;
      Parts parts(*this, recorded);
      InterceptScope::call_parts(op, stack, parts);
      // In FP64 it may be a kernel without parts.
      if (roundings_ == before) round_results(op, recorded, stack);
      return;
    }
    if (rounds && takes_steps(op)) {
      for (std::size_t i = 0; i < schema.arguments().size(); ++i)
        disturb(i, kInnerSpread * precision::format_of(at::kFloat).unit_roundoff());
    }
    const torch::jit::Stack given(stack.begin() + static_cast<std::ptrdiff_t>(arguments), stack.end());
    op.callBoxed(stack);
    const auto results = stack.size() - schema.returns().size();
    for (std::size_t i = 0; i < std::min(recorded.rounded.size(), schema.returns().size()); ++i) {
      if (!recorded.rounded[i] || !is_floating(stack[results + i])) continue;
      const auto deviation =
          accumulation_deviation(op, given, stack[results + i].toTensor(), i, *recorded.rounded[i]);
      if (!deviation) continue;
      const at::Tensor result = stack[results + i].toTensor();
      const at::Tensor moved =
          at::normal(result.detach(), at::nan_to_num(*deviation * amplified_, 0.0, 0.0, 0.0), generator_);
      put(schema.returns()[i], result + (moved - result).detach(), stack[results + i]);
    }
    round_results(op, recorded, stack);
  }

  void round_results(const c10::OperatorHandle& op, const RecordedCall& recorded, torch::jit::Stack& stack) {
    const auto& returns = op.schema().returns();
    const auto results = stack.size() - returns.size();
    for (std::size_t i = 0; i < std::min(recorded.rounded.size(), returns.size()); ++i) {
      if (!recorded.rounded[i] || !is_floating(stack[results + i])) continue;
      ++roundings_;
      put(returns[i], noisy(stack[results + i].toTensor(), *recorded.rounded[i]), stack[results + i]);
    }
  }

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

  static double spread_of(c10::ScalarType type) {
    return kSpread * precision::format_of(type).unit_roundoff();
  }

  at::Tensor noisy(const at::Tensor& tensor, double spread) {
    const at::Tensor plain = tensor.detach();
    const at::Tensor off =
        at::empty_like(plain).uniform_(-spread * amplified_, spread * amplified_, generator_);
    return tensor + off.mul_(plain);
  }

  const std::vector<PairedCall>& calls_;
  double amplified_;
  bool rounds_numbers_;
  at::Generator generator_;
  std::size_t next_ = 0;
  std::int64_t roundings_ = 0;  // put in so far
};

// Of integers, whether they differ: their distance says nothing.
at::Tensor squared_difference(const at::Tensor& run, const at::Tensor& exact) {
  return exact.is_floating_point() ? (run - exact).square() : run.ne(exact).to(at::kDouble);
}

}  // namespace

Replay replay(const cases::Case& definition, const cases::State& fp64, const cases::Outputs& oracle,
              const ReplayPlan& plan) {
  Replay result;
  for (const auto& output : oracle)
    result.deviation.push_back(at::zeros(output.sizes(), output.options().dtype(at::kDouble)));
  const ExactRun exact = run_exactly(definition, fp64, plan.calls);
  for (int run = 0; run < plan.runs; ++run) {
    Replayer replayer(exact.calls, plan.seed + static_cast<std::uint64_t>(run), plan.amplified, run % 2 == 1);
    cases::State state = fp64;
    if (plan.stored) {
      for (auto& entry : state.tensors) {
        if (entry.tensor.is_floating_point()) entry.tensor = replayer.noisy(entry.tensor, *plan.stored);
      }
    }
    {
      const InterceptScope intercept(replayer);
      const Fp64Defaults defaults;
      result.runs.push_back(definition.visible_run()(state));
    }
    replayer.expect_end();
    for (std::size_t i = 0; i < oracle.size(); ++i)
      result.deviation[i] += squared_difference(result.runs.back()[i], exact.outputs[i]);
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
