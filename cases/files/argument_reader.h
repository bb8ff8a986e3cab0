// An operator's arguments, as a case file writes them, against the operator's schema.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cases/files/tensor_spec.h"
#include "cases/operator_call.h"

namespace ampgate::cases::files {

// What arguments may refer to, and where tensors that stand among them go.
class Names {
 public:
  explicit Names(Surroundings surroundings) : surroundings_(std::move(surroundings)) {}

  // Adds a tensor of the case. Its name is the spec's, else `otherwise`, with a number where that is taken.
  // Throws through `node` when its own name is taken.
  std::size_t add_tensor(const Node& node, const TensorSpec& spec, const std::string& otherwise);
  // A tensor that stands among arguments.
  std::size_t read_tensor(const Node& node, const std::string& otherwise);

  void add_result(const Node& node, const std::string& name, std::size_t number, bool list);
  // {"ref": name}, of a list {"ref": name, "item": number}. A whole list where `list` is set.
  ArgumentSource refer(const Node& node, bool list) const;
  // What is called `name`; complaints go to `node`.
  ArgumentSource find(const Node& node, const std::string& name, std::optional<std::size_t> item,
                      bool list) const;

  struct Tensor {
    std::string name;
    TensorSpec spec;
  };
  const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  struct Result {
    std::size_t number;
    bool list;
  };
  bool taken(const std::string& name) const;

  Surroundings surroundings_;
  std::vector<Tensor> tensors_;
  std::map<std::string, Result> results_;
};

// The operator that `name` and the arguments mean: "aten::sum.dim_IntList", or "aten::sum" where one overload
// fits what is given. Throws results::FileError that names the nearest operators, the overloads, or what is
// missing.
c10::OperatorHandle find_operator(const Node& name, const results::Json& positional,
                                  const results::Json& keywords);

// One source for each argument of the schema; what is not given has the schema's default. Throws
// results::FileError with position, name and expected type.
std::vector<ArgumentSource> read_arguments(const c10::OperatorHandle& op, const Node& call,
                                           const std::optional<Node>& positional,
                                           const std::optional<Node>& keywords, Names& names);

}  // namespace ampgate::cases::files
