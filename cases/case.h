// What is qualified: an operator or a model with fixed shapes, weights and inputs. The same code runs in both
// phases and knows neither types nor devices; `execute.h` applies those. A case is one short file that ends
// in a Registration.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cases/bound_spec.h"
#include "cases/decisions.h"
#include "cases/training/training.h"

namespace ampgate::cases {

class Fill;
class OperatorCall;

// Named dimensions in the case's own order; the name is what stands in trial ids: "512x256x128", "batch64".
struct Shape {
  std::string name;
  std::vector<std::pair<std::string, std::int64_t>> dims;
  // Throws std::out_of_range when the case has no such dimension.
  std::int64_t operator[](std::string_view dim) const;
  // Of these sizes; FP64, since 64-bit integers overflow where tensors still fit into memory. Throws as
  // above.
  double product(std::initializer_list<std::string_view> names) const;
};

enum class Role { kInput, kWeight };

struct NamedTensor {
  std::string name;
  at::Tensor tensor;  // FP32 as set up (index and mask tensors keep their own type and are never converted)
  Role role = Role::kInput;
  std::string operand{};  // what its bound's family calls it (bound_spec.h); empty: as its name

  bool is_called(std::string_view word) const { return (operand.empty() ? name : operand) == word; }
};

// What `run` works on. Tensors are numbered in the order of `setup`; cases give the numbers names by an enum,
// since a look-up by name would stand in the timed body.
struct State {
  std::vector<NamedTensor> tensors;
  const at::Tensor& operator[](std::size_t number) const { return tensors[number].tensor; }
  // By what families call tensors, for everyone but `run`. Null when there is no such tensor.
  const at::Tensor* find(std::string_view name) const;
};

using Outputs = c10::SmallVector<at::Tensor, 2>;

// What the outputs of a case mean.
enum class Meaning { kValues, kScores, kRegression };

// Slicing all `operands` together slices every output along `output_dim`, and each slice can be computed
// alone: rows of a matrix product, elements of a pointwise function, images of a batch.
struct IndependentAxis {
  std::int64_t output_dim;
  std::vector<Axis> operands;
};

struct Facts {
  // Of the matrix products, convolutions and attention of one run, a multiply-add counts two; what else it
  // does to single elements is not counted. 0: it has none of these, and what it moves is what it costs.
  double flops = 0.0;
  BoundSpec bound{};
  Meaning meaning = Meaning::kValues;
  std::optional<Decisions> decisions{};  // about one output; the others may mean something else
  std::string targets{};                 // name of the input with the right values of output `target_output`
  std::size_t target_output = 0;
  std::map<std::size_t, double>
      elements_read{};  // tensors that a run reads only in part (embedding): elements read
  std::vector<IndependentAxis> independent{};  // where there is a batch axis, it is the first
  std::string domain = "finite inputs";        // for which inputs the bound holds, in words
  // What the algorithm needs of a run beside its operators' work, in words; empty: nothing of the kind. What
  // is not said here is refused before anything is timed.
  std::string reads{};      // values of tensors that the host reads
  std::string makes{};      // tensors that the run fills or copies itself: `zeros`, `clone`, `contiguous`
  std::string draws{};      // random numbers
  std::string allocates{};  // memory that it asks for while no operator runs: compiled code
};

struct SuiteShapes {
  std::string suite;                              // "smoke", "standard", "large"
  std::vector<std::vector<std::int64_t>> shapes;  // each in the order of `dims`
};

struct Case {
  std::string name;  // [a-z0-9_.-]+
  std::vector<std::string> dims;
  std::vector<SuiteShapes> suites;
  std::vector<std::string> outputs;  // names, in the order in which `run` returns them
  std::function<State(const Shape&, const Fill&)> setup;
  std::function<Outputs(State&)> run;
  std::function<Facts(const Shape&)> facts;
  // The same function by another path for the FP64 oracle, where `run` in FP64 would not be it.
  std::function<Outputs(State&)> reference_run{};
  // The same function, one operator after the other, for whoever looks on, where a compiler stands between
  // `run` and its operators; and what it is, in words. Null: `run`.
  std::function<Outputs(State&)> observed_run{};
  std::string observed_as{};
  // Why nothing inside a run can be told, in words; empty: it can.
  std::string opaque{};
  bool model = false;
  // "batch" gives shape names like batch64; empty: sizes joined by x.
  std::string shape_prefix{};
  // Precisions that make no sense for this case, with the reason.
  std::map<std::string, std::string> unsupported{};
  // Why trials cannot have these sizes (all at least 1), in words; empty: they can. Null: they can have any.
  // Edge inputs try some of them all the same.
  std::function<std::string(const Shape&)> misfit{};

  // The right outputs where they are known without running anything, for the FP64 oracle: exact for tensors
  // of these values. Throws c10::NotImplementedError for a state of other values.
  std::function<Outputs(const State&)> expected{};
  // The only operator that a run calls, where a case file says so: phase 1 looks up its family.
  std::shared_ptr<const OperatorCall> call{};
  // What lacks a kernel for a device, in words; empty: nothing. Null: nothing ever.
  std::function<std::string(c10::DeviceType)> missing_kernel{};
  // Types of 16 bit that it asks for by name, so that its outputs may have them in every precision.
  std::vector<c10::ScalarType> own_types{};
  // It calls operators that a library of the user's brought.
  bool foreign = false;
  // The run in FP64 where what it is judged by rests on such operators: nobody vouches for their kernels in
  // FP64 either, so phase 1 tries them first. Null: nothing rests on them.
  std::function<Outputs(State&)> unproven{};
  // Its outputs include gradients: a run differentiates, and autograd's operators run within it.
  bool differentiates = false;
  // SHA-256 over the case file that it is from, every file that this one names, and the libraries where it is
  // `foreign`; empty: of this build.
  std::string file_sha256{};
  // Threads of its operators; empty: those of the run. Applied outside of everything that is timed.
  std::optional<int> threads{};
  // The only precisions that it is tried in beside FP32; empty: all.
  std::vector<std::string> precisions{};
  // Limits that its file asks for; the rules' own come first.
  std::optional<double> minimum_accuracy{};
  std::optional<double> maximum_rmse{};

  // A training step: one `run` is the model on held-out rows, one update is what `training` says.
  std::optional<Training> training{};

  // Of the fixed shape of a case without dimensions, `shape_prefix` is the whole name.
  // Throws std::invalid_argument for a wrong number of sizes or a size below 1.
  Shape shape(const std::vector<std::int64_t>& sizes) const;

  const std::function<Outputs(State&)>& visible_run() const { return observed_run ? observed_run : run; }
};

// All cases by name: those of this build, whose registrars run before main, and those of case files, which a
// worker adds before it looks at any.
const std::map<std::string, Case, std::less<>>& registry();

// Throws std::logic_error when there is a case of that name.
void add_case(Case definition);

struct Registration {
  explicit Registration(Case definition);
};

}  // namespace ampgate::cases
