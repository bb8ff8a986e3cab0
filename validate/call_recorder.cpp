#include "validate/call_recorder.h"

#include <algorithm>
#include <utility>

#include "precision/formats.h"
#include "validate/call_tensors.h"
#include "validate/roundings.h"

namespace ampgate::validate {
namespace {

int significand_bits(c10::ScalarType type) { return precision::format_of(type).significand_bits; }

// The narrower of the two; nothing is wider than any type.
std::optional<c10::ScalarType> narrower(std::optional<c10::ScalarType> a, std::optional<c10::ScalarType> b) {
  if (!a || !b) return a ? a : b;
  return significand_bits(*b) < significand_bits(*a) ? b : a;
}

bool lowers_within(const RecordedCall& call, const c10::IValue& result) {
  if (!is_floating(result)) return false;
  const int bits = significand_bits(result.toTensor().scalar_type());
  return std::any_of(call.parts.begin(), call.parts.end(), [&](const auto& part) {
    const auto type = narrowest(part.second);
    return type && !moves_values(part.first) && significand_bits(*type) < bits;
  });
}

}  // namespace

std::optional<c10::ScalarType> narrowest(const RecordedCall& call) {
  std::optional<c10::ScalarType> type;
  for (const auto& rounded : call.rounded) type = narrower(type, rounded);
  for (const auto& [name, part] : call.parts) type = narrower(type, narrowest(part));
  return type;
}

// The operators that another one calls.
class CallRecorder::Parts : public Interceptor {
 public:
  Parts(CallRecorder& recorder, std::map<std::string, RecordedCall>& parts)
      : recorder_(recorder), parts_(parts) {}

  void call(const c10::OperatorHandle& op, torch::jit::Stack& stack) override {
    RecordedCall part = recorder_.record(op, stack);
    const auto [found, added] = parts_.try_emplace(part.name, part);
    if (!added && narrower(narrowest(found->second), narrowest(part)) != narrowest(found->second))
      found->second = std::move(part);
  }

 private:
  CallRecorder& recorder_;
  std::map<std::string, RecordedCall>& parts_;
};

bool CallRecorder::was_lowered(const at::Tensor& tensor) const {
  return std::any_of(lowered_.begin(), lowered_.end(),
                     [&](const at::Tensor& made) { return made.is_same(tensor); });
}

RecordedCall CallRecorder::record(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
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

  RecordedCall recorded{schema.name()};
  if (is_libtorchs(op) && !is_known_as_a_whole(op)) {
    Parts parts(*this, recorded.parts);
    InterceptScope::call_parts(op, stack, parts);
    // Of a kernel of its own, what it calls besides matters where that is in a narrower type than its result.
    if (!made_of_parts(op) && !lowers_within(recorded, stack[stack.size() - schema.returns().size()]))
      recorded.parts.clear();
  } else {
    op.callBoxed(stack);
  }
  if (schema.name() == "aten::_autocast_to_reduced_precision") lowered_.push_back(stack.back().toTensor());

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
  if (lowered && !exact) recorded.rounded_inputs = std::move(float_inputs);
  return recorded;
}

void CallRecorder::call(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  calls_.push_back(record(op, stack));
}

}  // namespace ampgate::validate
