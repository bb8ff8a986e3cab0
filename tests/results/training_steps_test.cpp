#include "results/training_steps.h"

#include <gtest/gtest.h>

namespace ampgate::results {
namespace {

Row row(int block, std::int64_t calls, double time_ns, std::int64_t applied, bool left_out = false) {
  Row row{.block = block, .calls = calls, .time_ns = time_ns, .more = {{"applied", applied}}};
  if (left_out) row.more["left_out"] = true;
  return row;
}

std::vector<Sample> samples_of(const std::vector<Row>& rows) {
  std::vector<Sample> samples;
  for (const auto& row : rows) {
    if (!row.more.contains("left_out")) samples.push_back(sample_of(row));
  }
  return samples;
}

Json answer(int reads) {
  return {{"training", {{"first_step", 49}, {"steps", 51}, {"found_inf_reads", reads}}}};
}

TEST(TrainingSteps, CountsWhatTheNumbersRestOn) {
  const StepCounts counts = step_counts({row(0, 10, 1e6, 9), row(1, 10, 9e9, 1, true), row(2, 6, 6e5, 6)});
  EXPECT_EQ(counts.iterations, 16);
  EXPECT_EQ(counts.applied, 15);
  EXPECT_EQ(step_counts({Row{.calls = 5, .time_ns = 1}}).iterations, 0) << "no training";
}

TEST(TrainingSteps, AnUpdateCostsTheStepsThatWereSkippedForIt) {
  // 100, 110 and 120 ns a step; a step in four applies nothing, wherever in the cells it is.
  const std::vector<Row> rows{row(0, 4, 400, 2), row(1, 4, 440, 4), row(2, 4, 480, 3)};
  const Json training = training_steps(answer(1), step_counts(rows), samples_of(rows), 0.95);
  EXPECT_DOUBLE_EQ(training.at("time_per_applied_update_ns").at("median"), 110 * 4.0 / 3);
  EXPECT_EQ(training.at("iterations"), 12);
  EXPECT_EQ(training.at("applied_updates"), 9);
  EXPECT_EQ(training.at("first_step"), 49);
  EXPECT_EQ(training.at("steps"), 51);
  EXPECT_EQ(training.at("in_words"),
            "3 of the 12 timed steps applied no update, and are paid for all the same");
  EXPECT_NE(training.at("reads").get<std::string>().find("found_inf of each optimizer (1 a step)"),
            std::string::npos);
}

TEST(TrainingSteps, WhereEachIsAppliedAnUpdateCostsAStep) {
  const std::vector<Row> rows{row(0, 4, 400, 4), row(1, 4, 440, 4), row(2, 4, 480, 4)};
  const Json training = training_steps(answer(0), step_counts(rows), samples_of(rows), 0.95);
  EXPECT_DOUBLE_EQ(training.at("time_per_applied_update_ns").at("median"), 110);
  EXPECT_EQ(training.at("in_words"), "each of the 12 timed steps applied its update");
  EXPECT_EQ(training.at("reads"), "none: nothing is scaled");
}

TEST(TrainingSteps, NoUpdateHasNoPrice) {
  const std::vector<Row> rows{row(0, 4, 400, 0), row(1, 4, 440, 0)};
  const StepCounts counts = step_counts(rows);
  EXPECT_TRUE(per_applied_update(samples_of(rows), counts).empty());
  const Json training = training_steps(answer(1), counts, samples_of(rows), 0.95);
  EXPECT_FALSE(training.contains("time_per_applied_update_ns"));
  EXPECT_EQ(training.at("absent").at("time_per_applied_update_ns"),
            "no update was applied in the timed steps");
  EXPECT_NE(training.at("in_words").get<std::string>().find("stands still"), std::string::npos);
}

}  // namespace
}  // namespace ampgate::results
