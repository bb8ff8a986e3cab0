#include "results/verdict.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace ampgate::results {
namespace {

TEST(Verdict, WordsAreThoseOfRecords) {
  EXPECT_EQ(to_string(Verdict::kPass), "pass");
  EXPECT_EQ(to_string(Verdict::kDecisionChanged), "decision-changed");
  EXPECT_EQ(to_string(Verdict::kBaselineInvalid), "baseline-invalid");
  EXPECT_EQ(to_string(Verdict::kTimedOut), "timed-out");
  EXPECT_EQ(to_string(MeasurementVerdict::kBelowTarget), "below-target");
  EXPECT_EQ(to_string(MeasurementVerdict::kOutputChanged), "output-changed");
}

TEST(Verdict, EveryWordReadsBack) {
  for (int i = 0; i <= static_cast<int>(Verdict::kTimedOut); ++i) {
    EXPECT_EQ(verdict_from(to_string(static_cast<Verdict>(i))), static_cast<Verdict>(i));
  }
  for (int i = 0; i <= static_cast<int>(MeasurementVerdict::kTimedOut); ++i) {
    const auto verdict = static_cast<MeasurementVerdict>(i);
    EXPECT_EQ(measurement_verdict_from(to_string(verdict)), verdict);
  }
  EXPECT_THROW(verdict_from("Pass"), std::invalid_argument);
  EXPECT_THROW(verdict_from("measured"), std::invalid_argument);
  EXPECT_THROW(measurement_verdict_from("pass"), std::invalid_argument);
}

TEST(Verdict, OnlyPassAndAllowedSuspectOpenTheGate) {
  for (int i = 0; i <= static_cast<int>(Verdict::kTimedOut); ++i) {
    const auto verdict = static_cast<Verdict>(i);
    EXPECT_EQ(opens_gate(verdict, false), verdict == Verdict::kPass);
    EXPECT_EQ(opens_gate(verdict, true), verdict == Verdict::kPass || verdict == Verdict::kSuspect);
  }
}

TEST(Verdict, FourMeasurementVerdictsCarryNoNumber) {
  EXPECT_TRUE(carries_numbers(MeasurementVerdict::kMeasured));
  EXPECT_TRUE(carries_numbers(MeasurementVerdict::kBelowTarget));
  EXPECT_TRUE(carries_numbers(MeasurementVerdict::kAmbiguous));
  EXPECT_FALSE(carries_numbers(MeasurementVerdict::kRefused));
  EXPECT_FALSE(carries_numbers(MeasurementVerdict::kOutputChanged));
  EXPECT_FALSE(carries_numbers(MeasurementVerdict::kCrashed));
  EXPECT_FALSE(carries_numbers(MeasurementVerdict::kTimedOut));
}

}  // namespace
}  // namespace ampgate::results
