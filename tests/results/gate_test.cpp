#include "results/gate.h"

#include <gtest/gtest.h>

namespace ampgate::results {
namespace {

Json evidence() {
  return {{"device",
           {{"name", "cuda:0"},
            {"uuid", "GPU-1"},
            {"model", "card"},
            {"fields", {{"driver", "550.1"}, {"cuda", "12.4"}}}}},
          {"libtorch", {{"version", "2.11.0"}}},
          {"build_id", "b1"},
          {"settings", {{"threads", "2"}, {"affinity", "0,1"}}},
          {"case", "matmul"},
          {"shape", "512x512x512"},
          {"precision", "cast-fp16"},
          {"seed", 1},
          {"rules_sha256", "r1"},
          {"inputs", {{"a", "d1"}, {"b", "d2"}}},
          {"weights", Json::object()},
          {"outputs", {{"out", "d3"}}},
          {"operators", {{{"name", "aten::mm"}, {"count", 1}}}},
          {"repeatable", true},
          {"processes", 3}};
}

GateAnswer ask(const Json& observed) { return check_gate(evidence(), Verdict::kPass, observed, Rules{}); }

TEST(Gate, OpensWhenAllThatIsSeenEqualsTheEvidence) {
  const GateAnswer answer = ask(evidence());
  EXPECT_TRUE(answer.open);
  EXPECT_EQ(answer.field, "");
  EXPECT_EQ(answer.reason, "");
  EXPECT_TRUE(ask({{"case", "matmul"}, {"seed", 1}}).open);
}

TEST(Gate, EveryFieldThatDiffersClosesItByName) {
  for (const char* field :
       {"/device/uuid", "/device/fields/driver", "/device/fields/cuda", "/libtorch/version", "/build_id",
        "/settings/threads", "/settings/affinity", "/case", "/shape", "/precision", "/rules_sha256",
        "/inputs/a", "/inputs/b", "/outputs/out", "/operators/0/name"}) {
    Json observed = evidence();
    const std::string was = observed[Json::json_pointer(field)];
    observed[Json::json_pointer(field)] = "other";
    const GateAnswer answer = ask(observed);
    EXPECT_FALSE(answer.open) << field;
    EXPECT_EQ(answer.field, field);
    EXPECT_NE(
        answer.reason.find(std::string(field) + ": evidence says \"" + was + "\", this run has \"other\". "),
        std::string::npos)
        << answer.reason;
    EXPECT_NE(answer.reason.find("alidate"), std::string::npos) << answer.reason;
  }
  const GateAnswer seed = ask({{"seed", 2}});
  EXPECT_EQ(seed.field, "/seed");
  EXPECT_NE(seed.reason.find("--seed"), std::string::npos);
}

TEST(Gate, AMemberThatTheEvidenceLacksClosesIt) {
  Json observed = evidence();
  observed["weights"]["w"] = "d9";
  EXPECT_EQ(ask(observed).field, "/weights/w");
  EXPECT_EQ(ask({{"settings", {{"a/b", "x"}}}}).field, "/settings/a~1b");
  EXPECT_EQ(ask({{"inputs", Json::object()}, {"more", 1}}).field, "/more");
}

TEST(Gate, ListsOfOtherLengthOrTypeDiffer) {
  EXPECT_EQ(ask({{"operators", Json::array()}}).field, "/operators");
  EXPECT_EQ(ask({{"seed", "1"}}).field, "/seed");
  EXPECT_EQ(ask({{"device", nullptr}}).field, "/device");
}

TEST(Gate, TheNameOfTheDeviceDoesNotCount) {
  Json observed = evidence();
  observed["device"]["name"] = "cuda:1";
  EXPECT_TRUE(ask(observed).open);
}

TEST(Gate, TheVerdictDecidesFirst) {
  for (int i = 0; i <= static_cast<int>(Verdict::kTimedOut); ++i) {
    const auto verdict = static_cast<Verdict>(i);
    const GateAnswer answer = check_gate(evidence(), verdict, evidence(), Rules{});
    EXPECT_EQ(answer.open, verdict == Verdict::kPass || verdict == Verdict::kSuspect);
    if (!answer.open) {
      EXPECT_EQ(answer.field, "/verdict");
      EXPECT_NE(answer.reason.find(to_string(verdict)), std::string::npos);
    }
  }
  Rules strict;
  strict.suspect_opens_gate = false;
  EXPECT_EQ(check_gate(evidence(), Verdict::kSuspect, evidence(), strict).field, "/verdict");
}

TEST(Gate, NoEvidenceIsNoPass) {
  EXPECT_FALSE(check_gate(Json::object(), Verdict::kPass, Json::object(), Rules{}).open);
  EXPECT_FALSE(check_gate(nullptr, Verdict::kPass, Json::object(), Rules{}).open);
}

}  // namespace
}  // namespace ampgate::results
