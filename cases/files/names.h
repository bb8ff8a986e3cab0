// What the operators of a case file may refer to by name: its tensors, and the results before them.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cases/files/tensor_spec.h"
#include "cases/operator_call.h"

namespace ampgate::cases::files {

class Names {
 public:
  struct Tensor {
    std::string name;
    TensorSpec spec;
  };

  explicit Names(Surroundings surroundings, std::vector<Tensor> tensors = {})
      : surroundings_(std::move(surroundings)), tensors_(std::move(tensors)) {}

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

  const std::vector<Tensor>& tensors() const { return tensors_; }
  // Has anything referred to the tensor of this number?
  bool is_used(std::size_t tensor) const { return used_.contains(tensor); }

 private:
  struct Result {
    std::size_t number;
    bool list;
  };
  bool taken(const std::string& name) const;

  Surroundings surroundings_;
  std::vector<Tensor> tensors_;
  std::map<std::string, Result> results_;
  mutable std::set<std::size_t> used_;  // numbers of tensors
};

}  // namespace ampgate::cases::files
