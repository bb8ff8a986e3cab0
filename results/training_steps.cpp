#include "results/training_steps.h"

#include <string>

#include "results/estimate_json.h"

namespace ampgate::results {
namespace {

std::string reads_in_words(std::int64_t reads) {
  if (reads == 0) return "none: nothing is scaled";
  return "found_inf of each optimizer (" + std::to_string(reads) +
         " a step), which the gradient scaler needs to decide whether to step; no other";
}

std::string in_words(const StepCounts& counts) {
  const std::int64_t skipped = counts.iterations - counts.applied;
  const std::string steps = std::to_string(counts.iterations) + " timed steps";
  if (skipped == 0) return "each of the " + steps + " applied its update";
  if (counts.applied == 0) return "none of the " + steps + " applied an update: the training stands still";
  return std::to_string(skipped) + " of the " + steps + " applied no update, and are paid for all the same";
}

}  // namespace

StepCounts step_counts(const std::vector<Row>& rows) {
  StepCounts counts;
  for (const Row& row : rows) {
    if (!row.more.contains("applied") || row.more.contains("left_out")) continue;
    counts.iterations += row.calls;
    counts.applied += row.more.at("applied").get<std::int64_t>();
  }
  return counts;
}

std::vector<Sample> per_applied_update(std::vector<Sample> samples, const StepCounts& counts) {
  if (counts.applied == 0) return {};
  const double factor = static_cast<double>(counts.iterations) / static_cast<double>(counts.applied);
  for (Sample& sample : samples) sample.time_ns *= factor;
  return samples;
}

Json training_steps(const Json& answer, const StepCounts& counts, const std::vector<Sample>& samples,
                    double level) {
  const Json& said = answer.at("training");
  Json json{{"first_step", said.at("first_step")},
            {"steps", said.at("steps")},
            {"iterations", counts.iterations},
            {"applied_updates", counts.applied},
            {"reads", reads_in_words(said.at("found_inf_reads").get<std::int64_t>())},
            {"in_words", in_words(counts)}};
  if (const auto scaled = per_applied_update(samples, counts); !scaled.empty()) {
    json["time_per_applied_update_ns"] = to_json(median_time(scaled, level), "median", level);
  } else {
    json["absent"] = {{"time_per_applied_update_ns", "no update was applied in the timed steps"}};
  }
  return json;
}

}  // namespace ampgate::results
