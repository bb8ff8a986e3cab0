#include "bench/audit.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <utility>

#include "bench/call_watch.h"
#include "bench/surroundings.h"

namespace ampgate::bench {
namespace {

using results::Json;
using Problems = std::vector<std::string>;

std::string types(const Json& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name.get<std::string>();
  return text;
}

std::string in_words(const Json& record) {
  const std::string text = record.at("name").get<std::string>() + " (" + types(record.at("inputs")) +
                           ") -> (" + types(record.at("outputs")) + ") x" + record.at("count").dump();
  return record.value("grad", false) ? text + " with grad mode on" : text;
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

// The scaler takes found_inf by `item`, which calls the other.
std::int64_t own_reads(const Body& body, const std::string& name) {
  return name == "aten::item" || name == "aten::_local_scalar_dense" ? body.found_inf_reads() : 0;
}

void add_reads(const Body& body, const Sightings& seen, Problems& problems) {
  for (const auto& [name, count] : seen.reads) {
    const std::int64_t own = own_reads(body, name);
    if (count <= own) continue;
    std::string text = name + " reads a value";
    if (own > 0)
      text += " " + std::to_string(count) + " times, " + std::to_string(own) + " of them found_inf";
    problems.push_back(text + ", and the case declares no read (Facts::reads; \"reads\" in a case file)");
  }
}

void add_undeclared(const Body& body, const Sightings& seen, const cases::Facts& facts, bool generator_moved,
                    Problems& problems) {
  if (facts.reads.empty()) add_reads(body, seen, problems);
  if (facts.makes.empty()) {
    for (const auto& name : seen.makes)
      problems.push_back("the body itself calls " + name +
                         ", which makes or copies a tensor, and the case does not declare it (Facts::makes)");
  }
  if (!facts.draws.empty()) return;
  for (const auto& name : seen.draws)
    problems.push_back(name + " draws random numbers, and the case does not declare it (Facts::draws)");
  if (generator_moved && seen.draws.empty())
    problems.emplace_back("the body draws random numbers, and the case does not declare it (Facts::draws)");
}

void add_sightings(const Sightings& seen, const cases::Facts& facts, Problems& problems) {
  for (const auto& [state, name] : seen.states) {
    // Compiled code calls operators as autograd does.
    if (!facts.allocates.empty() && state == "the dispatcher excludes Named") continue;
    problems.push_back("when the body calls " + name + ", " + state);
  }
  if (seen.stray_allocations > 0 && facts.allocates.empty()) {
    problems.push_back("the body allocates " + std::to_string(seen.stray_bytes) + " bytes in " +
                       std::to_string(seen.stray_allocations) + " blocks while no operator runs");
  }
}

}  // namespace

Audit audit(Body& body, const cases::Facts& facts, const Json& evidence, backends::Backend& backend) {
  Audit result;
  Problems& problems = result.problems;
  body.prepare(1);
  const Surroundings before = read_surroundings(body);
  problems = before.ambient;
  if (auto other = other_than_validated(evidence, Mode::kWarm); !other.empty())
    problems.push_back(std::move(other));

  Sightings seen;
  {
    cases::OperatorRecorder recorder;
    const CallWatch watch(body, before.settings);
    run_calls(body, 1);
    backend.synchronize();
    seen = watch.sightings();
    result.operators = recorder.take();
  }
  result.calls = seen.calls;
  result.dispatches = seen.dispatches;
  const Surroundings after = read_surroundings(body);
  for (const auto& change : changes(before, after))
    problems.push_back("the body changes its surroundings: " + change);
  add_undeclared(body, seen, facts, !before.generator.equal(after.generator), problems);
  add_sightings(seen, facts, problems);
  if (auto text = difference(evidence.value("operators", Json::array()), cases::to_json(result.operators));
      !text.empty()) {
    problems.push_back(std::move(text));
  }
  // What waits for the device was named above where an operator did it. A training step is not recorded:
  // autograd computes on threads of its own, and the scaler reads.
  if (body.with_gradients()) return result;
  if (auto text = backend.capture_problem([&] { run_calls(body, 1); }); !text.empty() && facts.reads.empty())
    problems.push_back("the body cannot be recorded as a stream of device work: " + text);
  return result;
}

Json to_json(const Audit& audit) {
  return {{"operators", cases::to_json(audit.operators)},
          {"calls", audit.calls},
          {"dispatches", audit.dispatches},
          {"problems", audit.problems}};
}

}  // namespace ampgate::bench
