#include "cases/files/document.h"

#include <algorithm>

#include "precision/precision.h"

namespace ampgate::cases::files {
namespace {

constexpr auto kAction = "Correct the case file; docs/case-files.md describes it.";
constexpr std::size_t kLongestName = 100;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

std::string read_name(const Node& node) {
  const std::string name = node.string();
  if (name.empty() || name.size() > kLongestName || name.front() == '.' ||
      !std::all_of(name.begin(), name.end(), is_plain)) {
    node.fail("a case's name consists of a-z, 0-9, '_', '.' and '-', begins with no dot and has at most " +
              std::to_string(kLongestName) + " characters");
  }
  return name;
}

// Those that the case is tried in beside fp32.
std::vector<std::string> read_precisions(const Node& node) {
  std::vector<std::string> known, wanted;
  for (const auto& precision : precision::all()) known.emplace_back(precision.name);
  for (const Node& item : node.items()) {
    const std::string word = item.string();
    if (std::find(known.begin(), known.end(), word) == known.end())
      item.fail("unknown precision; " + results::suggestion(word, known));
    wanted.push_back(word);
  }
  if (wanted.empty()) node.fail("names no precision");
  return wanted;
}

}  // namespace

Document::Document(const results::Json& json, const std::filesystem::path& file,
                   std::vector<std::filesystem::path>& used, const std::set<std::filesystem::path>& code,
                   const std::set<std::filesystem::path>& folders)
    : root_(json, file.string(), kAction),
      surroundings_{file.parent_path(), &used, code, folders},
      object_(root_.object()) {
  const Node version = root_.member(object_, "ampgate_case");
  const std::int64_t number = version.integer();
  if (number > 1)
    version.fail("is a case file of version " + std::to_string(number) + "; this ampgate reads 1");
  if (number < 1) version.fail("must be 1");
  name_ = read_name(root_.member(object_, "name"));
  std::string ignored;
  object_.read("description", ignored);
}

bool Document::has(const std::string& key) const { return object_.has(key); }

Node Document::member(const std::string& key) const { return root_.member(object_, key); }

std::optional<Node> Document::optional(const std::string& key) const {
  if (!object_.has(key)) return {};
  return root_.member(object_, key);
}

Case Document::common() const {
  Case definition;
  definition.name = name_;
  definition.suites = {{std::string(kSuite), {std::vector<std::int64_t>()}}};
  if (const auto precisions = optional("precisions")) definition.precisions = read_precisions(*precisions);
  return definition;
}

void Document::refuse_unknown() const { object_.refuse_unknown(); }

}  // namespace ampgate::cases::files
