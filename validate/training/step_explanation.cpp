#include "validate/training/step_explanation.h"

#include "validate/training/step_trace.h"

namespace ampgate::validate {
namespace {

using results::Json;
using results::Verdict;

constexpr std::size_t kMostSwallowed = 20;  // in the record

// Bad values of one traced step that show nowhere afterwards.
void add_swallowed(const TracedStep& traced, std::int64_t step, Json& list) {
  for (const auto& bad : traced.swallowed) {
    if (list.size() == kMostSwallowed) return;
    list.push_back(bad.json);
    list.back()["step"] = step;
  }
}

}  // namespace

Json explain_steps(const TrainingSetup& setup, const Way& way, const WatchedRun& watched,
                   Judgement& judgement) {
  Json json{{"traced_steps", Json::array()}, {"swallowed", Json::array()}};
  const auto trainer = setup.trainer(way, setup.session.seed);
  if (watched.before_bad) {
    trainer->restore(*watched.before_bad);
    const TracedStep traced = trace_step(*trainer);
    if (traced.first) {
      json["first_bad"] = traced.first->json;
      if (judgement.verdict == Verdict::kNonfinite) {
        judgement.reason +=
            "; first bad value, at step " + std::to_string(*watched.bad_step) + ": " + traced.first->sentence;
      }
    }
  }
  for (const cases::Checkpoint& state : watched.shadows) {
    const auto step = state.state.at("iteration").get<std::int64_t>();
    const auto fresh = setup.trainer(way, setup.session.seed);
    fresh->restore(state);
    add_swallowed(trace_step(*fresh), step, json["swallowed"]);
    json["traced_steps"].push_back(step);
  }
  if (!json["swallowed"].empty()) {
    const Json& first = json["swallowed"][0];
    judgement.findings.push_back(
        {"ordinary", "swallowed",
         "a NaN or infinity at step " + first.at("step").dump() +
             " shows neither in the loss nor in gradients or weights: " +
             (first.contains("operator") ? first.at("operator").get<std::string>()
                                         : "tensor '" + first.at("tensor").get<std::string>() + "'") +
             ": " + first.at("text").get<std::string>()});
  }
  return json;
}

}  // namespace ampgate::validate
