// Every operator that a run calls, in order: types, shapes, and whether its values are finite. For explaining
// a run after it was judged, never for the run that decides.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "validate/finite.h"
#include "validate/inner_types.h"
#include "validate/interceptor.h"

namespace ampgate::validate {

enum class Stage { kForward, kBackward, kUpdate };

struct TracedTensor {
  std::string name;  // of the argument: "self", "tensors[2]"; outputs: "out", "out[1]"
  c10::ScalarType type;
  c10::ScalarType seen;  // the type in which the kernel took it: autocast converts below the interceptor
  std::vector<std::int64_t> sizes;
  FiniteScan values;  // inputs: before the call
  // Calls that wrote to its memory and left NaN or infinities there; and the last one that wrote at all.
  std::vector<std::size_t> bad_writers;
  std::optional<std::size_t> last_writer;
  std::string source;    // the tensor of the case whose memory this is; empty for results of the run
  bool ignored = false;  // an input whose values the operator does not read: out=, copy_'s self, zeros_like's
};

struct TracedCall {
  std::size_t index = 0;
  std::string name;    // "aten::linear"
  std::string region;  // names of the regions around it, outermost first: "encoder.ffn"; may be empty
  Stage stage = Stage::kForward;
  std::optional<std::size_t> forward;  // backward: the forward call whose gradient this is
  std::vector<TracedTensor> inputs;    // of Tensor, Tensor? and lists of them
  std::vector<TracedTensor> outputs;   // results, and arguments written but not returned
  bool finite_scalars = true;          // numbers among the arguments
  bool allocation = false;             // its output is memory that nobody has filled
  bool view = false;                   // its output is its input's memory

  bool finite_inputs() const;
  bool nan_in_inputs() const;
  bool finite_outputs() const;
  bool nan_in_outputs() const;
  // "operator 4, aten::linear in region 'up'"
  std::string place() const;
};

// One call while it can still be looked at. Arguments that the operator wrote to are copies from before.
struct CallView {
  const TracedCall& record;
  const c10::OperatorHandle& op;
  const torch::jit::Stack& arguments;
  const std::vector<at::Tensor>& outputs;  // as in the record
};

class Tracer : public Interceptor {
 public:
  // `observer` is called after each operator; what it calls is not traced, and it must leave the run's state
  // alone. `inner` gets the calls instead of the operator itself (a recorder, an injected fault).
  explicit Tracer(std::function<void(const CallView&)> observer = {}, Interceptor* inner = nullptr);

  void call(const c10::OperatorHandle& op, torch::jit::Stack& stack) override;

  // Tensors from outside the run that should have a name in the trace. Before the run.
  void name_tensor(const at::Tensor& tensor, std::string name);

  const std::vector<TracedCall>& calls() const { return calls_; }
  std::vector<TracedCall> take() { return std::move(calls_); }

  // Calls that left NaN or infinities in the memory of this tensor, which is one that the run gave back.
  std::vector<std::size_t> bad_writers(const at::Tensor& tensor) const;

 private:
  struct Memory {
    std::vector<std::size_t> bad_writers;
    std::optional<std::size_t> last_writer;
    std::string source;
  };

  TracedTensor traced(std::string name, const at::Tensor& tensor, c10::ScalarType seen) const;
  void trace_inputs(const c10::FunctionSchema& schema, const torch::jit::Stack& arguments, TracedCall& call);
  void remember_writes(const TracedCall& call, const std::vector<at::Tensor>& inputs,
                       const std::vector<at::Tensor>& outputs);

  std::function<void(const CallView&)> observer_;
  Interceptor* inner_;
  InnerTypes inner_types_;
  std::vector<TracedCall> calls_;
  std::unordered_map<const c10::StorageImpl*, Memory> memory_;
  // Forward calls by the sequence numbers of the autograd nodes that they made: first number -> (end, call).
  std::map<std::uint64_t, std::pair<std::uint64_t, std::size_t>> nodes_;
  bool after_backward_ = false;
};

}  // namespace ampgate::validate
