#include "validate/alignment.h"

#include <algorithm>
#include <cstdint>

#include "validate/fp64_call.h"
#include "validate/fp64_defaults.h"

namespace ampgate::validate {
namespace {

class Fp64Recorder : public CallRecorder {
 public:
  void call(const c10::OperatorHandle& op, torch::jit::Stack& stack) override {
    const auto& arguments = op.schema().arguments();
    const std::size_t first = stack.size() - arguments.size();
    for (std::size_t i = 0; i < arguments.size(); ++i) ask_for_fp64(arguments[i], stack[first + i]);
    CallRecorder::call(op, stack);
  }
};

bool computes(const RecordedCall& call) {
  return std::any_of(call.rounded.begin(), call.rounded.end(),
                     [](const auto& type) { return type.has_value(); });
}

std::vector<std::string> names_of(const std::vector<RecordedCall>& calls) {
  std::vector<std::string> names;
  for (const auto& call : calls) names.push_back(call.name);
  return names;
}

}  // namespace

std::vector<std::optional<std::size_t>> align(const std::vector<std::string>& run,
                                              const std::vector<std::string>& recorded) {
  std::vector<std::optional<std::size_t>> partners(run.size());
  // What is common at both ends costs nothing, and mostly that is everything.
  std::size_t begin = 0;
  std::size_t run_end = run.size();
  std::size_t recorded_end = recorded.size();
  for (; begin < std::min(run_end, recorded_end) && run[begin] == recorded[begin]; ++begin)
    partners[begin] = begin;
  while (std::min(run_end, recorded_end) > begin && run[run_end - 1] == recorded[recorded_end - 1])
    partners[--run_end] = --recorded_end;

  const std::size_t rows = run_end - begin;
  const std::size_t columns = recorded_end - begin;
  if (rows == 0 || columns == 0) return partners;
  // longest(i, j): length of the longest common subsequence of what follows run[begin + i] and
  // recorded[begin + j].
  std::vector<std::uint32_t> lengths((rows + 1) * (columns + 1), 0);
  const auto longest = [&](std::size_t i, std::size_t j) -> std::uint32_t& {
    return lengths[i * (columns + 1) + j];
  };
  const auto same = [&](std::size_t i, std::size_t j) { return run[begin + i] == recorded[begin + j]; };
  for (std::size_t i = rows; i-- > 0;) {
    for (std::size_t j = columns; j-- > 0;) {
      longest(i, j) = same(i, j) ? longest(i + 1, j + 1) + 1 : std::max(longest(i + 1, j), longest(i, j + 1));
    }
  }
  for (std::size_t i = 0, j = 0; i < rows && j < columns;) {
    if (same(i, j)) {
      partners[begin + i++] = begin + j++;
    } else if (longest(i + 1, j) >= longest(i, j + 1)) {
      ++i;
    } else {
      ++j;
    }
  }
  return partners;
}

ExactRun run_exactly(const cases::Case& definition, cases::State fp64,
                     const std::vector<RecordedCall>& recorded) {
  ExactRun run;
  Fp64Recorder recorder;
  {
    const InterceptScope intercept(recorder);
    const Fp64Defaults defaults;
    run.outputs = definition.visible_run()(fp64);
  }
  const std::vector<RecordedCall> exact = recorder.take();
  const auto partners = align(names_of(exact), names_of(recorded));
  std::ptrdiff_t matched = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    run.calls.push_back({exact[i].name, partners[i] ? &recorded[*partners[i]] : nullptr});
    if (partners[i] && computes(recorded[*partners[i]])) ++matched;
  }
  const auto in_trial = std::count_if(recorded.begin(), recorded.end(), computes);
  const auto in_fp64 = std::count_if(exact.begin(), exact.end(), computes);
  if (2 * matched < std::max(in_trial, in_fp64)) {
    throw NoPrediction(
        "its error cannot be predicted: in FP64 the case calls other operators than in the trial (" +
        std::to_string(in_trial) + " that compute in the trial, " + std::to_string(in_fp64) +
        " in FP64, of which " + std::to_string(matched) + " belong together)");
  }
  return run;
}

}  // namespace ampgate::validate
