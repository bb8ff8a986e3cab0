#include "results/protocol.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <fstream>
#include <thread>
#include <vector>

#include "tests/results/error_of.h"
#include "tests/results/temporary_file.h"

namespace ampgate::results {
namespace {

Json plan() {
  return {{"ampgate_plan", 1},
          {"phase", "bench"},
          {"run_id", "r"},
          {"build_id", "b"},
          {"device", "cpu"},
          {"seed", 1},
          {"process", 0},
          {"rules", Json::object()},
          {"rules_sha256", "s"},
          {"settings", {{"threads", 2}, {"affinity", {0, 1}}, {"mmap_threshold_bytes", 1073741824}}},
          {"bench", {{"blocks", 7}, {"cell_time_ns", 15000000}, {"order_seed", 11}, {"first_block", 0}}},
          {"trials",
           {{{"id", "matmul/8x8x8/fp32"},
             {"case", "matmul"},
             {"shape", {8, 8, 8}},
             {"precision", "fp32"},
             {"evidence", Json::object()}}}}};
}

std::string problem(const Json& value) {
  return error_of([&] { parse_plan(value.dump(), "plan"); });
}

TEST(Plan, AWholePlanIsRead) {
  EXPECT_EQ(parse_plan(plan().dump(), "plan"), plan());
  Json validation = plan();
  validation["phase"] = "validate";
  validation.erase("bench");
  validation["trials"][0].erase("evidence");
  validation["trials"][0]["verdict"] = "pass";
  EXPECT_EQ(problem(validation), "");
}

TEST(Plan, AResumedTrainingSaysWhereItBegins) {
  Json resumed = plan();
  resumed["phase"] = "resume";
  EXPECT_NE(problem(resumed).find("/trials/0/checkpoint"), std::string::npos);
  Json& checkpoint = resumed["trials"][0]["checkpoint"];
  checkpoint = {{"folder", "start"}, {"steps", 1}, {"other_precision", false}, {"other_build", false}};
  EXPECT_EQ(problem(resumed), "");
  checkpoint["keep"] = "later";
  checkpoint["digest"] = "d";
  EXPECT_EQ(problem(resumed), "");
  for (const auto& [key, value] : {std::pair{"folder", Json("")}, std::pair{"steps", Json(0)},
                                   std::pair{"other_precision", Json(1)}, std::pair{"keep", Json("")}}) {
    Json bad = resumed;
    bad["trials"][0]["checkpoint"][key] = value;
    EXPECT_NE(problem(bad).find(std::string("/checkpoint/") + key), std::string::npos) << key;
  }
}

TEST(Plan, EveryMissingKeyIsNamed) {
  for (const char* pointer : {"/ampgate_plan",
                              "/phase",
                              "/run_id",
                              "/build_id",
                              "/device",
                              "/seed",
                              "/process",
                              "/rules",
                              "/rules_sha256",
                              "/settings",
                              "/settings/threads",
                              "/settings/affinity",
                              "/bench",
                              "/bench/blocks",
                              "/bench/cell_time_ns",
                              "/bench/order_seed",
                              "/bench/first_block",
                              "/trials",
                              "/trials/0/id",
                              "/trials/0/case",
                              "/trials/0/shape",
                              "/trials/0/precision",
                              "/trials/0/evidence"}) {
    const Json::json_pointer place(pointer);
    Json lacking = plan();
    Json& parent = lacking[place.parent_pointer()];
    if (place.parent_pointer().empty()) {
      lacking.erase(place.back());
    } else {
      parent.erase(place.back());
    }
    EXPECT_EQ(problem(lacking), "plan#" + std::string(pointer) + ": is missing");
    Json wrong = plan();
    wrong[place] = false;
    EXPECT_TRUE(problem(wrong).starts_with("plan#" + std::string(pointer) + ": must be")) << problem(wrong);
  }
}

TEST(Plan, OtherVersionsPhasesAndVerdictsAreRefused) {
  Json other = plan();
  other["ampgate_plan"] = 2;
  EXPECT_NE(problem(other).find("newer"), std::string::npos);
  other = plan();
  other["phase"] = "judge";
  EXPECT_TRUE(problem(other).starts_with("plan#/phase: "));
  other = plan();
  other["trials"] = Json::array();
  EXPECT_TRUE(problem(other).starts_with("plan#/trials: "));
  other = plan();
  other["trials"][0]["verdict"] = "good";
  EXPECT_TRUE(problem(other).starts_with("plan#/trials/0/verdict: "));
  other = plan();
  other["trials"][0]["shape"] = {8, -1};
  EXPECT_TRUE(problem(other).starts_with("plan#/trials/0/shape: "));
}

std::vector<Json> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<Json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(parse_strict(line, path));
  return lines;
}

TEST(EventWriter, WritesOneObjectALineWithTheNameFirst) {
  const TemporaryFile file("old text");
  {
    EventWriter writer(file.path());
    writer.write("hello", {{"worker", "validate"}, {"text", "two\nlines"}, {"value", std::nan("")}});
    EXPECT_EQ(lines_of(file.path()).size(), 1u) << "not flushed at once";
    writer.write("done");
  }
  const auto lines = lines_of(file.path());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].dump(), R"({"event":"hello","worker":"validate","text":"two\nlines","value":"nan"})");
  EXPECT_EQ(lines[1].dump(), R"({"event":"done"})");
}

TEST(EventWriter, LinesOfThreadsDoNotMix) {
  const TemporaryFile file("");
  {
    EventWriter writer(file.path());
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&writer, i] {
        for (int j = 0; j < 100; ++j)
          writer.write("x", {{"text", std::string(5000, static_cast<char>('a' + i))}});
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(lines_of(file.path()).size(), 400u);
}

TEST(EventWriter, SaysWhereItCannotWrite) {
  EXPECT_NE(error_of([] { EventWriter("/no/such/folder/events"); }).find("/no/such/folder/events"),
            std::string::npos);
  EXPECT_NE(error_of([] { EventWriter("/dev/full").write("x"); }).find("No space left"), std::string::npos);
}

TEST(EventWriter, EndsTheProcessQuietlyWhenTheReaderIsGone) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], kEventsDescriptor);
    close(ends[0] == kEventsDescriptor ? -1 : ends[0]);
    EventWriter writer("");
    writer.write("x");
    _exit(0);
  }
  close(ends[0]);
  close(ends[1]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

// What a body of the user's does to the descriptor, and how the process ends at the next event.
int end_after(const std::function<void()>& body) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], kEventsDescriptor);
    EventWriter writer("");
    writer.write("before");
    body();
    writer.write("after");
    _exit(0);
  }
  close(ends[1]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  close(ends[0]);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(EventWriter, ADescriptorThatTheBodyClosedIsACrash) {
  EXPECT_EQ(end_after([] { close(kEventsDescriptor); }), 1) << "neither of the codes that end the whole run";
  EXPECT_EQ(end_after([] {
              close(kEventsDescriptor);
              open("/dev/null", O_WRONLY);
            }),
            1)
      << "another file in its place takes no event";
}

TEST(EventWriter, PutsTheSignalBack) {
  std::signal(SIGPIPE, SIG_DFL);
  const TemporaryFile file("");
  {
    const EventWriter writer(file.path());
    EXPECT_EQ(std::signal(SIGPIPE, SIG_IGN), SIG_IGN);
  }
  EXPECT_EQ(std::signal(SIGPIPE, SIG_DFL), SIG_DFL);
}

}  // namespace
}  // namespace ampgate::results
