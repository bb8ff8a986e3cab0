// What every kind of case file says of its case, and what belongs to reading it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cases/case.h"
#include "cases/files/tensor_spec.h"
#include "results/node.h"

namespace ampgate::cases::files {

// The suite that the cases of files are in.
inline constexpr std::string_view kSuite = "files";

// Reading a file of version 1. Members that no kind of case asks for are refused.
class Document {
 public:
  // `json` must outlive the object; `code` and `folders` as in Surroundings. Throws results::FileError.
  Document(const results::Json& json, const std::filesystem::path& file,
           std::vector<std::filesystem::path>& used, const std::set<std::filesystem::path>& code = {},
           const std::set<std::filesystem::path>& folders = {});

  const Node& root() const { return root_; }
  bool has(const std::string& key) const;
  Node member(const std::string& key) const;  // is an error when it is absent
  std::optional<Node> optional(const std::string& key) const;

  const std::string& name() const { return name_; }
  const Surroundings& surroundings() const { return surroundings_; }
  std::filesystem::path path(const std::string& relative) const { return surroundings_.folder / relative; }

  // The name, and what is common to all kinds.
  Case common() const;
  // Throws for members that were not asked for.
  void refuse_unknown() const;

 private:
  Node root_;
  Surroundings surroundings_;
  mutable results::ObjectReader object_;
  std::string name_;
};

}  // namespace ampgate::cases::files
