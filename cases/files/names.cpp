#include "cases/files/names.h"

#include <algorithm>

namespace ampgate::cases::files {
namespace {

using Kind = ArgumentSource::Kind;

}  // namespace

bool Names::taken(const std::string& name) const {
  return results_.contains(name) || std::any_of(tensors_.begin(), tensors_.end(),
                                                [&](const Tensor& tensor) { return tensor.name == name; });
}

std::size_t Names::add_tensor(const Node& node, const TensorSpec& spec, const std::string& otherwise) {
  std::string name = spec.name.empty() ? otherwise : spec.name;
  if (taken(name) && !spec.name.empty()) node.fail("the name '" + name + "' is taken");
  for (int number = 2; taken(name); ++number) name = otherwise + "_" + std::to_string(number);
  tensors_.push_back({name, spec});
  return tensors_.size() - 1;
}

std::size_t Names::read_tensor(const Node& node, const std::string& otherwise) {
  return add_tensor(node, files::read_tensor(node, surroundings_), otherwise);
}

void Names::add_result(const Node& node, const std::string& name, std::size_t number, bool list) {
  if (name.empty()) node.fail("must not be empty");
  if (taken(name)) node.fail("the name '" + name + "' is taken");
  results_.emplace(name, Result{number, list});
}

ArgumentSource Names::refer(const Node& node, bool list) const {
  auto object = node.object();
  const Node ref = node.member(object, "ref");
  std::optional<std::size_t> item;
  if (object.has("item")) item = static_cast<std::size_t>(node.member(object, "item").integer(0, 1 << 20));
  object.refuse_unknown();
  return find(ref, ref.string(), item, list);
}

ArgumentSource Names::find(const Node& node, const std::string& name, std::optional<std::size_t> item,
                           bool list) const {
  std::vector<std::string> known;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    known.push_back(tensors_[i].name);
    if (known.back() != name) continue;
    if (list) node.fail("'" + name + "' is one tensor, and a list is needed: write [{\"ref\": ...}]");
    if (item) node.fail("'" + name + "' is one tensor and has no items");
    used_.insert(i);
    return {Kind::kTensor, {}, i};
  }
  const auto found = results_.find(name);
  if (found == results_.end()) {
    for (const auto& [other, result] : results_) known.push_back(other);
    node.fail("nothing before it is called '" + name + "'; " +
              (known.empty() ? "there are no names yet" : results::suggestion(name, known)));
  }
  const bool is_list = found->second.list;
  if (item && !is_list) node.fail("'" + name + "' is one tensor and has no items");
  if (!item && is_list && !list) node.fail("'" + name + "' is a list: name one of its items with \"item\"");
  if (!is_list && list)
    node.fail("'" + name + "' is one tensor, and a list is needed: write [{\"ref\": ...}]");
  ArgumentSource source{item ? Kind::kItem : Kind::kResult, {}, found->second.number};
  if (item) source.item = *item;
  return source;
}

}  // namespace ampgate::cases::files
