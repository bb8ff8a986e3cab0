#include "validate/explanation.h"

#include <algorithm>

namespace ampgate::validate {
namespace {

using results::Json;
using results::Verdict;

constexpr std::size_t kMostSwallowed = 20;  // in the record

std::map<std::string, BadValue> stored_bad_values(const Explained& trial) {
  std::map<std::string, BadValue> stored;
  for (std::size_t i = 0; i < trial.prepared.tensors.size(); ++i) {
    if (auto bad = stored_bad_value(trial.original[i], trial.prepared[i])) {
      stored.emplace(trial.prepared.tensors[i].name, *std::move(bad));
    }
  }
  return stored;
}

bool calls(const std::vector<cases::OperatorRecord>& operators, const TracedCall& call) {
  return std::any_of(operators.begin(), operators.end(), [&](const cases::OperatorRecord& record) {
    return record.name == call.name &&
           std::equal(record.outputs.begin(), record.outputs.end(), call.outputs.begin(), call.outputs.end(),
                      [](c10::ScalarType type, const TracedTensor& output) { return type == output.type; });
  });
}

void judge_operators(const Inspection& inspection, const Explained& trial, Judgement& judgement) {
  const local::LocalResult* first = inspection.checks->first_outside();
  if (first != nullptr && trial.decisive != nullptr &&
      !calls(*trial.decisive, inspection.calls.at(first->call))) {
    judgement.findings.push_back({"ordinary", "property",
                                  "only in the run that explains, not in the one that decides: " +
                                      inspection.checks->sentence(inspection.calls)});
    return;
  }
  if (judgement.verdict == Verdict::kInaccurate) {
    // Of the only operator the reason says it all.
    if (inspection.checks->operators() > 1)
      judgement.reason += "; " + inspection.checks->sentence(inspection.calls);
  } else if (first != nullptr) {
    const bool rejected = first->finding == local::Finding::kOutside;
    judgement.worsen(rejected ? Verdict::kInaccurate : Verdict::kSuspect,
                     inspection.checks->sentence(inspection.calls));
  }
  const auto& unproven = inspection.checks->unproven();
  if (unproven.empty()) return;
  judgement.worsen(Verdict::kSuspect, *unproven.begin() +
                                          " was judged by the error ratio alone, no bound is known: say in "
                                          "\"reduction_length\" how many terms it adds up");
}

// An error may begin where a value that 16 bit could not hold was replaced.
void tell_swallowed_before(const Inspection& inspection, const BadReport& report, Judgement& judgement) {
  if (judgement.verdict != Verdict::kInaccurate || !inspection.checks) return;
  const local::LocalResult* outside = inspection.checks->first_outside();
  const auto precedes = [&](const BadOrigin& origin) {
    return origin.call && !origin.in_baseline && (outside == nullptr || *origin.call < outside->call);
  };
  const auto found = std::find_if(report.swallowed.begin(), report.swallowed.end(), precedes);
  if (found == report.swallowed.end()) return;
  judgement.reason += std::string("; ") + (outside == nullptr ? "but" : "before it") +
                      " a NaN or infinity was swallowed on the way: " + sentence(*found, inspection.calls);
}

void tell_bad_values(const Inspection& inspection, const BadReport& report, Judgement& judgement) {
  if (report.first && judgement.verdict == Verdict::kNonfinite) {
    judgement.reason += "; first bad value: " + sentence(*report.first, inspection.calls);
  }
  if (report.swallowed.empty()) return;
  const std::size_t more = report.swallowed.size() - 1;
  judgement.findings.push_back({"ordinary", "swallowed",
                                "a NaN or infinity does not show in the outputs: " +
                                    sentence(report.swallowed.front(), inspection.calls) +
                                    (more == 0 ? "" : "; and " + std::to_string(more) + " more")});
}

}  // namespace

Inspector::Inspector(const cases::State& state, std::optional<local::LocalChecks> checks, Interceptor* inner)
    : tracer_(
          [this](const CallView& view) {
            if (auto bad = made_bad_value(view)) inspection_.made.emplace(view.record.index, *std::move(bad));
            if (inspection_.checks) inspection_.checks->check(view);
          },
          inner) {
  inspection_.checks = std::move(checks);
  for (const auto& entry : state.tensors) tracer_.name_tensor(entry.tensor, entry.name);
}

Inspection Inspector::take(const cases::Outputs& outputs) {
  for (const at::Tensor& output : outputs) {
    if (scan_finite(output).finite()) continue;
    const auto writers = tracer_.bad_writers(output);
    inspection_.reached.insert(inspection_.reached.end(), writers.begin(), writers.end());
  }
  inspection_.calls = tracer_.take();
  return std::move(inspection_);
}

Json explain(const Inspection& inspection, const Explained& trial, Judgement& judgement) {
  const BadReport report = find_bad_values(
      {inspection.calls, inspection.made, stored_bad_values(trial), inspection.reached, trial.baseline});
  Json json = Json::object();
  if (report.first) json["first_bad"] = to_json(*report.first, inspection.calls);
  json["swallowed"] = Json::array();
  for (std::size_t i = 0; i < std::min(kMostSwallowed, report.swallowed.size()); ++i) {
    json["swallowed"].push_back(to_json(report.swallowed[i], inspection.calls));
  }
  if (inspection.checks) {
    judge_operators(inspection, trial, judgement);
    tell_swallowed_before(inspection, report, judgement);
    json["local"] = inspection.checks->to_json(inspection.calls);
  }
  tell_bad_values(inspection, report, judgement);
  return json;
}

}  // namespace ampgate::validate
