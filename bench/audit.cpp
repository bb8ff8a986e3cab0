#include "bench/audit.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "bench/ambient.h"

namespace ampgate::bench {
namespace {

using results::Json;

// Operators that hand a tensor's value to the host: on a device, the host waits for it.
constexpr std::array<std::string_view, 3> kReads{"aten::_local_scalar_dense", "aten::item",
                                                 "aten::is_nonzero"};

std::string types(const Json& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name.get<std::string>();
  return text;
}

std::string in_words(const Json& record) {
  return record.at("name").get<std::string>() + " (" + types(record.at("inputs")) + ") -> (" +
         types(record.at("outputs")) + ") x" + record.at("count").dump();
}

// Empty, or the first place where the lists differ.
std::string difference(const Json& validated, const Json& seen) {
  const std::size_t longer = std::max(validated.size(), seen.size());
  for (std::size_t i = 0; i < longer; ++i) {
    const bool both = i < validated.size() && i < seen.size();
    if (both && validated[i] == seen[i]) continue;
    return "operator number " + std::to_string(i) + " is " +
           (i < seen.size() ? in_words(seen[i]) : "missing") + ", validated was " +
           (i < validated.size() ? in_words(validated[i]) : "none");
  }
  return "";
}

}  // namespace

Audit audit(const Body& body, const std::string& facts_reads, const Json& validated) {
  Audit result;
  result.problems = ambient_problems(body.device);
  {
    cases::OperatorRecorder recorder;
    run_calls(body, 1);
    result.operators = recorder.take();
  }
  std::set<std::string> reads;
  for (const auto& record : result.operators) {
    if (std::find(kReads.begin(), kReads.end(), record.name) != kReads.end()) reads.insert(record.name);
  }
  if (facts_reads.empty()) {
    for (const auto& read : reads)
      result.problems.push_back(read + " reads a value, and the case declares no read");
  }
  if (auto text = difference(validated, cases::to_json(result.operators)); !text.empty()) {
    result.problems.push_back(std::move(text));
  }
  return result;
}

Json to_json(const Audit& audit) {
  return {{"operators", cases::to_json(audit.operators)}, {"problems", audit.problems}};
}

}  // namespace ampgate::bench
