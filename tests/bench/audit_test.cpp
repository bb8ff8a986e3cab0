#include "bench/audit.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <torch/csrc/autograd/anomaly_mode.h>
#include <torch/csrc/autograd/profiler_kineto.h>
#include <torch/csrc/autograd/profiler_legacy.h>
#include <torch/library.h>

#include "bench/ambient.h"
#include "bench/inspect.h"
#include "fake_case.h"
#include "precision/autocast.h"

namespace ampgate::bench {
namespace {

using results::Json;
using testing::answer;
using testing::behaviour;
using testing::Fault;
using Action = std::function<void(at::Tensor& output)>;

class AuditTest : public ::testing::Test {
 protected:
  void SetUp() override { behaviour() = {}; }
  void TearDown() override { behaviour() = {}; }

  Json inspected(const Plan& plan, const std::string& id) {
    return answer(testing::events_of([&](results::EventWriter& events) { inspect(plan, *backend_, events); }),
                  id);
  }
  // The answer about a body that also does `act`, at each call or from call number `from_call` on.
  Json inspected(Action act, const cases::Facts& facts = {}, const std::string& precision = "fp32") {
    Plan plan = testing::fake_plan(
        Phase::kInspect,
        precision == "fp32" ? std::vector<std::string>{"fp32"} : std::vector<std::string>{"fp32", precision},
        *backend_);
    behaviour().fault = Fault::kAct;
    behaviour().act = std::move(act);
    behaviour().facts = facts;
    return inspected(plan, "fake/1000/" + precision);
  }
  // The act's own operators are no operators of the evidence; they must not be the only complaint.
  static std::string refusal(const Json& event) {
    return event.at("verdict") == "refused" ? event.at("reason").get<std::string>()
                                            : "not refused: " + event.dump();
  }

  at::NoGradGuard no_grad_;
  std::unique_ptr<backends::Backend> backend_ = backends::open("cpu");
};

#define EXPECT_SAYS(text, words) EXPECT_NE(std::string(text).find(words), std::string::npos) << (text)

TEST_F(AuditTest, HonestBodiesOfEveryPrecisionPass) {
  const auto plan = testing::fake_plan(
      Phase::kInspect, {"fp32", "autocast-fp16", "autocast-bf16", "cast-fp16", "cast-bf16"}, *backend_);
  for (const auto& trial : plan.groups[0].trials) {
    const auto event = inspected(plan, trial.id);
    EXPECT_EQ(event.at("verdict"), "measured") << event;
    EXPECT_EQ(event.at("audit").at("calls"), 1);
    EXPECT_GE(event.at("audit").at("dispatches"), 1);
  }
}

TEST_F(AuditTest, SettingsThatTheBodyChangesAreNamed) {
  backends::apply({.threads = 2});
  const std::vector<std::pair<Action, std::string>> changes{
      {[](at::Tensor&) { at::set_num_threads(1); }, "/settings/threads went from 2 to 1"},
      {[](at::Tensor&) { at::globalContext().setAllowTF32CuBLAS(true); },
       "/settings/cuda_fp32_matmul went from"},
      {[](at::Tensor&) { at::globalContext().setDeterministicAlgorithms(true, false); },
       "/settings/deterministic_algorithms went from off to on"},
      {[](at::Tensor&) { at::globalContext().setBenchmarkCuDNN(true); },
       "/settings/cudnn_benchmark went from off to on"},
      {[](at::Tensor&) { at::globalContext().setUserEnabledMkldnn(false); },
       "/settings/onednn went from on to off"},
      {[](at::Tensor&) { setenv("OMP_SCHEDULE", "dynamic", 1); }, "/settings/env_OMP_SCHEDULE"},
  };
  for (const auto& [act, words] : changes) {
    EXPECT_SAYS(refusal(inspected(act)), words);
    unsetenv("OMP_SCHEDULE");
  }
  EXPECT_EQ(at::get_num_threads(), 2) << "put back for the next trial";
  EXPECT_FALSE(at::globalContext().deterministicAlgorithms());
  EXPECT_TRUE(at::globalContext().userEnabledMkldnn());
  backends::apply({.threads = 1});
}

TEST_F(AuditTest, ThreadsThatAreSetAndPutBackWithinTheBodyAreSeen) {
  backends::apply({.threads = 2});
  const auto reason = refusal(inspected([](at::Tensor& output) {
    at::set_num_threads(1);
    output.neg_();
    at::set_num_threads(2);
  }));
  EXPECT_SAYS(reason, "/settings/threads went from 2 to 1");
  EXPECT_SAYS(reason, "when the body calls aten::neg_");
  backends::apply({.threads = 1});
}

TEST_F(AuditTest, WhatOnlyTheFirstCallChangesIsSeen) {
  backends::apply({.threads = 2});
  bool first = true;
  const auto reason = refusal(inspected([&](at::Tensor&) {
    if (std::exchange(first, false)) at::set_num_threads(1);
  }));
  EXPECT_SAYS(reason, "the first calls change the body's surroundings: /settings/threads went from 2 to 1");
  backends::apply({.threads = 1});
}

TEST_F(AuditTest, ThresholdsOfMallocAreAskedForAgain) {
  // What mallopt sets stays for the life of a process.
  EXPECT_EXIT(
      {
        backends::apply({.threads = 1, .mmap_threshold_bytes = 1 << 30});
        const auto reason = refusal(inspected([](at::Tensor&) { mallopt(M_MMAP_THRESHOLD, 4096); }));
        const bool named = reason.find("/settings/mmap_threshold_bytes went from") != std::string::npos;
        if (!named) std::fputs(reason.c_str(), stderr);
        _exit(named ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(AuditTest, ModesThatTheBodySwitchesOn) {
  const std::vector<std::pair<Action, std::string>> modes{
      {[](at::Tensor&) { c10::GradMode::set_enabled(true); }, "afterwards grad mode is on"},
      {[](at::Tensor& output) {
         const at::AutoGradMode on(true);
         output.neg_();
       },
       "when the body calls aten::neg_, grad mode is on"},
      {[](at::Tensor& output) {
         const c10::InferenceMode on;
         output = at::neg(output);
       },
       "when the body calls aten::neg, inference mode is on"},
      {[](at::Tensor& output) {
         const precision::AutocastScope on(at::kCPU, at::kBFloat16);
         output.neg_();
       },
       "when the body calls aten::neg_, autocast is not as the precision asks"},
      {[](at::Tensor&) { at::autocast::set_autocast_enabled(at::kCPU, true); },
       "afterwards autocast is on outside of the trial"},
      {[](at::Tensor&) { torch::autograd::AnomalyMode::set_enabled(true, false); }, "anomaly mode is on"},
      {[](at::Tensor&) {
         c10::impl::tls_set_dispatch_key_included(c10::DispatchKey::FuncTorchVmapMode, true);
       },
       "afterwards this thread's dispatcher includes FuncTorchVmapMode"},
      {[](at::Tensor& output) {
         const c10::impl::ExcludeDispatchKeyGuard off(c10::DispatchKey::ADInplaceOrView);
         output.neg_();
       },
       "when the body calls aten::neg_, the dispatcher excludes ADInplaceOrView"},
      {[](at::Tensor&) { at::addThreadLocalCallback(at::RecordFunctionCallback(nullptr)); },
       "afterwards an observer watches the operators of this thread"},
  };
  for (const auto& [act, words] : modes) {
    EXPECT_SAYS(refusal(inspected(act)), words);
    torch::autograd::AnomalyMode::set_enabled(false);
    EXPECT_TRUE(ambient_problems(at::kCPU).empty()) << ambient_problems(at::kCPU).front();
  }
}

TEST_F(AuditTest, AutocastInAnotherTypeThanThePrecisionAsks) {
  const auto reason = refusal(inspected(
      [](at::Tensor& output) {
        const precision::AutocastScope other(at::kCPU, at::kBFloat16);
        output.neg_();
      },
      {}, "autocast-fp16"));
  EXPECT_SAYS(reason, "autocast is not as the precision asks");
}

TEST_F(AuditTest, ReadsOfValues) {
  const std::vector<std::pair<Action, std::string>> reads{
      {[](at::Tensor& output) { output.view(-1)[0].item(); }, "aten::_local_scalar_dense reads a value"},
      {[](at::Tensor& output) { static_cast<void>(at::equal(output, output)); }, "aten::equal reads"},
      {[](at::Tensor& output) { at::nonzero(output); }, "aten::nonzero reads a value"},
      {[](at::Tensor& output) { output.masked_select(output > 0); }, "aten::masked_select reads a value"},
      {[](at::Tensor& output) { output.index({output > 0}); }, "aten::nonzero reads a value"},
      {[](at::Tensor& output) { static_cast<void>(at::allclose(output, output)); },
       "aten::_local_scalar_dense reads a value"},
      {[](at::Tensor& output) {
         if (output.sum().is_nonzero()) output.neg_();
       },
       "aten::is_nonzero reads a value"},
  };
  for (const auto& [act, words] : reads) {
    EXPECT_SAYS(refusal(inspected(act)), words);
    const auto declared = inspected(act, {.reads = "the test needs it"});
    EXPECT_EQ(refusal(declared).find("reads a value"), std::string::npos) << declared;
  }
}

TEST_F(AuditTest, TensorsThatTheBodyMakesOrCopies) {
  const std::vector<std::pair<Action, std::string>> makers{
      {[](at::Tensor&) { at::empty({8}); }, "calls aten::empty"},
      {[](at::Tensor&) { at::zeros({8}); }, "calls aten::zeros"},
      {[](at::Tensor&) { at::full({8}, 2.0); }, "calls aten::full"},
      {[](at::Tensor&) { at::arange(8); }, "calls aten::arange"},
      {[](at::Tensor& output) { at::zeros_like(output); }, "calls aten::zeros_like"},
      {[](at::Tensor& output) { output.new_empty({4}); }, "calls aten::new_empty"},
      {[](at::Tensor& output) { output.clone(); }, "calls aten::clone"},
      {[](at::Tensor& output) { output.to(at::kDouble); }, "calls aten::to"},
      {[](at::Tensor& output) {
         output.view({10, 100}).t().contiguous();
       },
       "calls aten::contiguous"},
      {[](at::Tensor& output) { output.copy_(output.neg()); }, "calls aten::copy_"},
  };
  for (const auto& [act, words] : makers) {
    EXPECT_SAYS(refusal(inspected(act)), words);
    const auto declared = inspected(act, {.makes = "the test needs it"});
    EXPECT_EQ(refusal(declared).find("Facts::makes"), std::string::npos) << declared;
  }
  // These do nothing here, or are operators whose work it is.
  for (const Action& act :
       {Action([](at::Tensor& output) { output = output.to(at::kFloat); }),
        Action([](at::Tensor& output) { output = output.contiguous(); }), Action([](at::Tensor& output) {
          output.view({10, 100}).t().reshape({-1});
        }),
        Action([](at::Tensor& output) {
          at::cat({output, output});
        })}) {
    const auto event = inspected(act);
    EXPECT_EQ(event.at("reason").get<std::string>().find("Facts::makes"), std::string::npos) << event;
  }
}

TEST_F(AuditTest, MemoryThatNoOperatorAllocates) {
  const auto reason = refusal(inspected([](at::Tensor&) { c10::GetCPUAllocator()->allocate(4096).clear(); }));
  EXPECT_EQ(reason, "the body allocates 4096 bytes in 1 blocks while no operator runs");
}

TEST_F(AuditTest, RandomNumbers) {
  const std::vector<std::pair<Action, std::string>> draws{
      {[](at::Tensor& output) { output.uniform_(); }, "the body draws random numbers"},
      {[](at::Tensor& output) { output = at::dropout(output, 0.5, true); }, "the body draws random numbers"},
      {[](at::Tensor& output) {
         static at::Generator own = at::detail::createCPUGenerator(3);
         output.uniform_(0, 1, own);
       },
       "aten::uniform_ draws random numbers"},
  };
  for (const auto& [act, words] : draws) {
    EXPECT_SAYS(refusal(inspected(act)), words);
    const auto declared = inspected(act, {.draws = "the test needs it"});
    EXPECT_EQ(refusal(declared).find("random"), std::string::npos) << declared;
  }
  const auto evaluated = inspected([](at::Tensor& output) { output = at::dropout(output, 0.5, false); });
  EXPECT_EQ(evaluated.at("reason").get<std::string>().find("random"), std::string::npos) << evaluated;
}

TEST_F(AuditTest, ARefusedBaselineTakesTheOthersAlong) {
  Plan plan = testing::fake_plan(Phase::kInspect, {"fp32", "cast-bf16"}, *backend_);
  behaviour() = {.fault = Fault::kAct, .act = [](at::Tensor& output) { output.item(); }};
  behaviour().act = [](at::Tensor& output) { output.view(-1)[0].item(); };
  EXPECT_SAYS(refusal(inspected(plan, "fake/1000/cast-bf16")), "fake/1000/fp32, which was refused");
}

TEST_F(AuditTest, SettingsOtherThanTheEvidenceSays) {
  Plan plan = testing::fake_plan(Phase::kInspect, {"fp32"}, *backend_);
  auto& trial = plan.groups[0].trials[0];
  const auto shape = testing::fake_case().shape({1000});
  cases::State state{{{"x", at::ones({1000})}}};
  InferenceBody body(testing::fake_case(), state, *trial.precision, c10::kCPU);
  trial.evidence["settings"]["threads"] = "64";
  const auto found = audit(body, {}, trial.evidence, *backend_);
  ASSERT_FALSE(found.problems.empty());
  EXPECT_EQ(found.problems.front().rfind("/settings/threads is ", 0), 0U) << found.problems.front();
}

class AmbientTest : public ::testing::Test {
 protected:
  static std::string problems() {
    std::string text;
    for (const auto& problem : ambient_problems(at::kCPU)) text += problem + "; ";
    return text;
  }
  void TearDown() override { EXPECT_EQ(problems(), ""); }
  at::NoGradGuard no_grad_;
};

TEST_F(AmbientTest, Observers) {
  EXPECT_EQ(problems(), "");
  const auto global = at::addGlobalCallback(at::RecordFunctionCallback(nullptr));
  EXPECT_EQ(problems(), "an observer watches the operators of this process; ");
  at::removeCallback(global);
  const auto local = at::addThreadLocalCallback(at::RecordFunctionCallback(nullptr));
  EXPECT_EQ(problems(), "an observer watches the operators of this thread; ");
  at::removeCallback(local);
}

TEST_F(AmbientTest, Profilers) {
  using torch::profiler::impl::ActivityType;
  using torch::profiler::impl::ProfilerConfig;
  using torch::profiler::impl::ProfilerState;
  torch::autograd::profiler::enableProfilerLegacy(ProfilerConfig(ProfilerState::CPU));
  EXPECT_SAYS(problems(), "a profiler is on");
  torch::autograd::profiler::disableProfilerLegacy();

  const ProfilerConfig kineto(ProfilerState::KINETO);
  const std::set<ActivityType> activities{ActivityType::CPU};
  torch::autograd::profiler::prepareProfiler(kineto, activities);
  torch::autograd::profiler::enableProfiler(kineto, activities);
  EXPECT_SAYS(problems(), "a profiler is on");
  torch::autograd::profiler::disableProfiler();
}

TEST_F(AmbientTest, Modes) {
  {
    const at::AutoGradMode on(true);
    EXPECT_EQ(problems(), "grad mode is on; ");
  }
  {
    const c10::InferenceMode on;
    EXPECT_SAYS(problems(), "inference mode is on");
  }
  {
    const precision::AutocastScope on(at::kCPU, at::kBFloat16);
    EXPECT_EQ(problems(), "autocast is on outside of the trial; ");
  }
  torch::autograd::AnomalyMode::set_enabled(true, false);
  EXPECT_EQ(problems(), "anomaly mode is on; ");
  torch::autograd::AnomalyMode::set_enabled(false);
}

void pass_on(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  op.redispatchBoxed(keys, stack);
}

TEST_F(AmbientTest, Interceptors) {
  {
    torch::Library library(torch::Library::IMPL, "_", c10::DispatchKey::TESTING_ONLY_GenericMode, __FILE__,
                           __LINE__);
    library.fallback(torch::CppFunction::makeFromBoxedFunction<&pass_on>());
    EXPECT_EQ(problems(), "an interceptor is registered for the dispatch key TESTING_ONLY_GenericMode; ");
  }
  {
    const c10::impl::IncludeDispatchKeyGuard on(c10::DispatchKey::TESTING_ONLY_GenericMode);
    EXPECT_EQ(problems(), "this thread's dispatcher includes TESTING_ONLY_GenericMode; ");
  }
  {
    const c10::impl::IncludeDispatchKeyGuard on(c10::DispatchKey::Functionalize);
    EXPECT_EQ(problems(), "this thread's dispatcher includes Functionalize; ");
  }
}

}  // namespace
}  // namespace ampgate::bench
