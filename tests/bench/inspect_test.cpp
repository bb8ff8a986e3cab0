#include "bench/inspect.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/from_blob.h>
#include <ATen/record_function.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <csignal>
#include <thread>

#include "bench/memory.h"
#include "cases/execute.h"
#include "cases/fills.h"
#include "fake_case.h"

namespace ampgate::bench {
namespace {

using results::Json;
using testing::answer;
using testing::behaviour;
using testing::Fault;

class InspectTest : public ::testing::Test {
 protected:
  void SetUp() override { behaviour() = {}; }
  void TearDown() override { behaviour() = {}; }
  std::vector<Json> run(const Plan& plan) {
    return testing::events_of([&](results::EventWriter& events) { inspect(plan, *backend_, events); });
  }
  Plan plan(const std::vector<std::string>& precisions = {"fp32"}) {
    return testing::fake_plan(Phase::kInspect, precisions, *backend_);
  }

  at::NoGradGuard no_grad_;
  std::unique_ptr<backends::Backend> backend_ = backends::open("cpu");
};

TEST_F(InspectTest, MemoryOfAMatrixProductIsItsOutput) {
  const auto& definition = cases::registry().at("matmul");
  const auto shape = definition.shape({512, 512, 512});
  auto original = definition.setup(shape, cases::Fill(1, "matmul", shape.name));
  InferenceBody body(definition, original, precision::baseline(), c10::kCPU);
  const Memory memory = measure_memory(body, *backend_);
  EXPECT_EQ(memory.peak_bytes, 512 * 512 * 4);
  EXPECT_EQ(memory.allocations, 1);
  EXPECT_EQ(memory.retained_bytes, 0);
  EXPECT_EQ(memory.problem, "");
}

TEST_F(InspectTest, ACleanTrialIsDescribed) {
  const auto event = answer(run(plan({"fp32", "cast-bf16"})), "fake/1000/cast-bf16");
  EXPECT_EQ(event.at("verdict"), "measured") << event;
  EXPECT_EQ(event.at("memory").at("peak_bytes"), 2000);
  EXPECT_EQ(event.at("memory").at("allocations"), 1);
  EXPECT_TRUE(event.at("audit").at("problems").empty());
  const Json& operators = event.at("audit").at("operators");
  ASSERT_EQ(operators.size(), 1U) << operators;
  EXPECT_EQ(operators[0].at("name"), "aten::add");
  EXPECT_EQ(operators[0].at("outputs"), Json::array({"bfloat16"}));
}

TEST_F(InspectTest, OtherOperatorsThanValidatedAreRefused) {
  auto altered = plan();
  altered.groups[0].trials[0].evidence["operators"][0]["outputs"][0] = "float16";
  const auto event = answer(run(altered), "fake/1000/fp32");
  EXPECT_EQ(event.at("verdict"), "refused");
  EXPECT_NE(event.at("reason").get<std::string>().find("aten::add"), std::string::npos) << event;
}

TEST_F(InspectTest, AReadThatIsNotDeclaredIsRefused) {
  const auto prepared = plan();
  behaviour().fault = Fault::kReadValue;
  const auto event = answer(run(prepared), "fake/1000/fp32");
  EXPECT_EQ(event.at("verdict"), "refused");
  EXPECT_NE(event.at("reason").get<std::string>().find("reads a value"), std::string::npos) << event;
}

TEST_F(InspectTest, ThreadsThatTheBodyStartsAreRefused) {
  const auto prepared = plan();
  std::vector<std::thread> own;
  std::atomic<bool> ended{false};
  behaviour() = {.fault = Fault::kAct, .act = [&](at::Tensor&) {
                   if (own.empty())
                     own.emplace_back([&] {
                       while (!ended) std::this_thread::sleep_for(std::chrono::milliseconds(1));
                     });
                 }};
  const auto event = answer(run(prepared), "fake/1000/fp32");
  ended = true;
  for (auto& thread : own) thread.join();
  EXPECT_EQ(event.at("verdict"), "refused") << event;
  EXPECT_NE(event.at("reason").get<std::string>().find("the first calls start 1 threads beside the "),
            std::string::npos)
      << event;
}

// As an operator of a library may do it: by the time it returns, all is as before.
TEST_F(InspectTest, ASettingThatIsOtherOnlyInsideAnOperatorIsRefused) {
  const auto prepared = plan();
  behaviour() = {.fault = Fault::kAct, .act = [](at::Tensor& output) {
                   RECORD_FUNCTION("own::operator", c10::ArrayRef<const c10::IValue>{});
                   const int threads = at::get_num_threads();
                   at::set_num_threads(threads + 1);
                   output.add(1);
                   at::set_num_threads(threads);
                 }};
  const auto event = answer(run(prepared), "fake/1000/fp32");
  EXPECT_EQ(event.at("verdict"), "refused") << event;
  EXPECT_NE(event.at("reason").get<std::string>().find("threads went from"), std::string::npos) << event;
}

std::string reason_of(const std::vector<Json>& events) {
  const auto event = answer(events, "fake/1000/fp32");
  return event.at("verdict").get<std::string>() + ": " + event.at("reason").get<std::string>();
}

TEST_F(InspectTest, FilesThatStayOpenAreRefused) {
  const auto prepared = plan();
  std::vector<int> open_files;
  behaviour() = {.fault = Fault::kAct, .act = [&](at::Tensor&) {
                   if (open_files.size() < 30) open_files.push_back(open("/dev/null", O_RDONLY));
                 }};
  const auto reason = reason_of(run(prepared));
  for (const int file : open_files) close(file);
  EXPECT_NE(reason.find("it left 30 file descriptors open"), std::string::npos) << reason;
}

TEST_F(InspectTest, AProcessThatIsLeftBehindIsRefused) {
  const auto prepared = plan();
  pid_t child = 0;
  behaviour() = {.fault = Fault::kAct, .act = [&](at::Tensor&) {
                   if (child != 0) return;
                   child = fork();
                   if (child == 0) {
                     pause();
                     _exit(0);
                   }
                 }};
  const auto reason = reason_of(run(prepared));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_NE(reason.find("it left 1 process behind"), std::string::npos) << reason;
}

TEST_F(InspectTest, AnotherRoundingModeIsRefusedAndPutBack) {
  const auto prepared = plan();
  behaviour() = {.fault = Fault::kAct, .act = [](at::Tensor&) { std::fesetround(FE_UPWARD); }};
  const auto reason = reason_of(run(prepared));
  EXPECT_NE(reason.find("/settings/rounding went from not set to upward"), std::string::npos) << reason;
  EXPECT_EQ(std::fegetround(), FE_TONEAREST) << "the next trial is not to blame";
}

// The memory of a tensor that was made of a pointer is nobody's storage.
TEST_F(InspectTest, AResultThatWasKeptIsRefused) {
  const auto prepared = plan();
  static std::vector<float> kept(1000, 1.0F);
  behaviour() = {.fault = Fault::kAct, .act = [](at::Tensor& output) {
                   output = at::from_blob(kept.data(), {1000}, at::TensorOptions(at::kFloat));
                 }};
  const auto reason = reason_of(run(prepared));
  EXPECT_NE(reason.find("gives back the memory that the call before had returned"), std::string::npos)
      << reason;
}

TEST_F(InspectTest, AContainerThatGrowsForEverIsALeak) {
  const auto prepared = plan();
  std::vector<double> kept;
  behaviour() = {.fault = Fault::kAct, .act = [&](at::Tensor&) { kept.insert(kept.end(), 2, 1.0); }};
  const auto reason = reason_of(run(prepared));
  EXPECT_NE(reason.find("bytes each of malloc"), std::string::npos) << reason;
}

TEST_F(InspectTest, ACacheThatFillsIsNone) {
  const auto prepared = plan();
  std::vector<std::vector<char>> kept;
  behaviour() = {.fault = Fault::kAct, .act = [&](at::Tensor&) {
                   if (kept.size() < 60) kept.emplace_back(5000);
                 }};
  EXPECT_EQ(answer(run(prepared), "fake/1000/fp32").at("verdict"), "measured");
}

TEST_F(InspectTest, MemoryThatEveryCallKeepsIsRefused) {
  const auto prepared = plan();
  behaviour().fault = Fault::kKeepMemory;
  const auto event = answer(run(prepared), "fake/1000/fp32");
  EXPECT_EQ(event.at("verdict"), "refused");
  EXPECT_NE(event.at("reason").get<std::string>().find("4000 bytes"), std::string::npos) << event;
}

TEST_F(InspectTest, ABodyThatThrowsIsAnsweredOnce) {
  const auto prepared = plan({"fp32", "cast-fp16"});
  behaviour() = {.fault = Fault::kThrow, .type = at::kHalf};
  const auto events = run(prepared);
  EXPECT_EQ(testing::named(events, "trial_finished").size(), 2U);
  EXPECT_EQ(answer(events, "fake/1000/cast-fp16").at("verdict"), "crashed");
  EXPECT_EQ(answer(events, "fake/1000/fp32").at("verdict"), "measured");
}

}  // namespace
}  // namespace ampgate::bench
