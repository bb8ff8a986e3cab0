// TorchScript modules as cases: what a state holds, what each precision runs, what is refused.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <fstream>
#include <functional>

#include "cases/case.h"
#include "cases/execute.h"
#include "cases/files/load.h"
#include "cases/fills.h"
#include "cases/operator_recorder.h"
#include "precision/precision.h"
#include "precision/region.h"
#include "results/error.h"
#include "temporary_folder.h"

namespace ampgate::cases {
namespace {

using results::Json;
using torch::jit::Module;

// A linear layer whose results are `scale` times as large.
Module layer(double scale, std::int64_t in, std::int64_t out) {
  Module module("Layer");
  const at::Tensor weight = at::arange(in * out, at::kFloat).view({out, in}).div(in * out).sub(0.4) * scale;
  module.register_parameter("weight", weight, false);
  module.register_buffer("shift", at::full({out}, 0.25 * scale));
  module.register_attribute("training", c10::BoolType::get(), true);
  module.define("def forward(self, x):\n  return torch.linear(x, self.weight) + self.shift\n");
  return module;
}

// 8 -> 16 -> 4, through values up to 10^5 times as large.
Module two_layers() {
  Module module("Two");
  module.register_module("up", layer(1e5, 8, 16));
  module.register_module("down", layer(1e-5, 16, 4));
  module.register_attribute("training", c10::BoolType::get(), true);
  module.define("def forward(self, x):\n  return self.down.forward(torch.relu(self.up.forward(x)))\n");
  return module;
}

class ModuleCase : public ::testing::Test {
 protected:
  // The only case of a file that says this of a module.
  const Case& load(const std::string& name, const Module& module, Json members = Json::object()) {
    module.save((folder_.path() / "model.pt").string());
    return load_again(name, std::move(members));
  }

  // Of the module that was saved last.
  const Case& load_again(const std::string& name, Json members = Json::object()) {
    Json json{{"ampgate_case", 1}, {"name", name}, {"module", "model.pt"}};
    if (!members.contains("inputs")) json["inputs"]["x"] = {{"shape", {5, 8}}, {"fill", "normal"}};
    json.update(members);
    const auto file = folder_.path() / (name + ".json");
    std::ofstream(file) << json.dump();
    files::load({{"folders", {file.parent_path().string()}}, {"cases", {{{"path", file.string()}}}}});
    return registry().find(name)->second;
  }

  // What is said about a file that is refused.
  std::string refusal_again(const std::string& name, Json members = Json::object()) {
    try {
      load_again(name, std::move(members));
    } catch (const results::FileError& error) {
      return error.what();
    }
    return "nothing";
  }

  std::string refusal(const std::string& name, const Module& module, Json members = Json::object()) {
    module.save((folder_.path() / "model.pt").string());
    return refusal_again(name, std::move(members));
  }

  TemporaryFolder folder_;
};

State state_of(const Case& definition) {
  return definition.setup(definition.shape({}), Fill(1, definition.name, "5x8"));
}

Outputs run_in(const Case& definition, const State& original, const char* name, bool observed = false) {
  const at::NoGradGuard no_grad;
  const auto& precision = precision::find(name);
  State state = prepare(original, precision, at::kCPU);
  return execute(observed ? definition.observed_run : definition.run, state, precision, at::kCPU);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(ModuleCase, StateHoldsInputsDataParametersAndBuffers) {
  const Case& definition =
      load("state", two_layers(), {{"data", {{"labels", {{"values", {0, 1, 2, 3, 0}}, {"type", "int64"}}}}}});
  const State state = state_of(definition);
  std::vector<std::string> names;
  for (const auto& entry : state.tensors) names.push_back(entry.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"x", "labels", "up.weight", "up.shift", "down.weight", "down.shift"}));
  EXPECT_EQ(state.tensors[1].role, Role::kInput);
  EXPECT_EQ(state.tensors[5].role, Role::kWeight);
  EXPECT_TRUE(definition.model);
  EXPECT_EQ(definition.shape({}).name, "5x8");
  EXPECT_EQ(definition.outputs, (std::vector<std::string>{"out"}));
}

TEST_F(ModuleCase, RunsWhatTheModuleDoes) {
  const Module module = two_layers();
  const Case& definition = load("forward", module);
  const State state = state_of(definition);
  const at::NoGradGuard no_grad;
  const at::Tensor right = Module(module).forward({state[0]}).toTensor();
  EXPECT_TRUE(at::equal(run_in(definition, state, "fp32")[0], right));
  EXPECT_TRUE(at::equal(run_in(definition, state, "fp32", true)[0], right));
}

// A module's executor keeps what it learned under one autocast type.
TEST_F(ModuleCase, PrecisionsDoNotSeeEachOther) {
  const Case& definition = load("apart", layer(1.0, 8, 4));
  const State state = state_of(definition);
  const at::Tensor before = run_in(definition, state, "fp32")[0];
  for (int round = 0; round < 3; ++round) {
    for (const char* name : {"autocast-fp16", "autocast-bf16", "cast-bf16", "cast-fp16"}) {
      const at::Tensor out = run_in(definition, state, name)[0];
      const auto type = precision::find(name).type;
      const bool cast = precision::find(name).mode == precision::Mode::kCast;
      EXPECT_EQ(out.scalar_type(), cast ? type : at::kFloat) << name;
      // As large as one rounding to the type, and not to another.
      const double error = (out.to(at::kDouble) - before.to(at::kDouble)).abs().max().item<double>();
      EXPECT_GT(error, type == at::kHalf ? 1e-5 : 2e-3) << name;
      EXPECT_LT(error, type == at::kHalf ? 3e-3 : 3e-2) << name;
    }
  }
  EXPECT_TRUE(at::equal(run_in(definition, state, "fp32")[0], before));
}

TEST_F(ModuleCase, TheExecutorHasSettledAtTheFirstCall) {
  const Case& definition = load("settled", two_layers());
  const at::NoGradGuard no_grad;
  for (const char* name : {"fp32", "autocast-bf16", "cast-bf16"}) {
    const auto& precision = precision::find(name);
    State state = prepare(state_of(definition), precision, at::kCPU);
    execute(definition, state, precision, at::kCPU);
    Json first;
    for (int call = 0; call < 5; ++call) {
      OperatorRecorder recorder;
      execute(definition, state, precision, at::kCPU);
      const Json seen = to_json(recorder.take());
      if (call == 0) first = seen;
      EXPECT_EQ(seen, first) << name << ", call " << call;
    }
  }
}

TEST_F(ModuleCase, SubmodulesAreIslands) {
  for (const char* executor : {"optimised", "unoptimised"}) {
    const Case& definition = load(std::string("islands-") + executor, two_layers(), {{"executor", executor}});
    const State state = state_of(definition);
    EXPECT_FALSE(run_in(definition, state, "autocast-fp16")[0].isfinite().all().item<bool>());
    for (const bool observed : {false, true}) {
      const precision::IslandScope islands({"up", "down"});
      const at::Tensor out = run_in(definition, state, "autocast-fp16", observed)[0];
      EXPECT_TRUE(out.isfinite().all().item<bool>()) << executor << observed;
      EXPECT_TRUE(at::equal(out, run_in(definition, state, "fp32")[0]));
    }
    EXPECT_TRUE(precision::region_path().empty());
  }
}

TEST_F(ModuleCase, AThrowingCallLeavesItsRegions) {
  Module module("Throws");
  Module inner("Inner");
  inner.define("def forward(self, x):\n  assert bool(x[0, 0] > 100.0), 'too small'\n  return x + 1\n");
  module.register_module("inner", inner);
  module.define("def forward(self, x):\n  return self.inner.forward(x)\n");
  const Case& definition = load("throws", module);
  EXPECT_ANY_THROW(run_in(definition, state_of(definition), "fp32", true));
  EXPECT_TRUE(precision::region_path().empty());
}

TEST_F(ModuleCase, TheOracleIsFp64Throughout) {
  Module module("Types");
  module.register_parameter("weight", at::full({8}, 1.0f / 3.0f), false);
  module.define(
      "def forward(self, x):\n  y = x.to(6) * self.weight\n"
      "  return y + torch.full([8], 1.0, dtype=6)\n");
  const Case& definition = load("oracle", module);
  State exact = converted(state_of(definition), at::kDouble);
  const at::NoGradGuard no_grad;
  const at::Tensor out = definition.reference_run(exact)[0];
  ASSERT_EQ(out.scalar_type(), at::kDouble);
  EXPECT_TRUE(at::equal(out, exact[0] * exact[1] + 1.0));
  EXPECT_TRUE(at::equal(definition.observed_run(exact)[0], out));
}

TEST_F(ModuleCase, TiedWeightsAreOneTensor) {
  Module module("Tied");
  const at::Tensor weight = at::rand({8, 8});
  module.register_parameter("first", weight, false);
  module.register_parameter("second", weight, false);
  module.define("def forward(self, x):\n  return torch.linear(torch.linear(x, self.first), self.second)\n");
  const Case& definition = load("tied", module);
  const State state = state_of(definition);
  EXPECT_EQ(state.tensors.size(), 2U);
  const at::Tensor once = at::linear(state[0], state[1]);
  EXPECT_TRUE(at::equal(run_in(definition, state, "fp32")[0], at::linear(once, state[1])));
}

// As recurrent layers keep theirs.
TEST_F(ModuleCase, TensorsInListsAreWeights) {
  Module module("Listed");
  const at::Tensor weight = at::rand({4, 8});
  module.register_parameter("weight", weight, false);
  c10::List<at::Tensor> list;
  list.push_back(weight);
  list.push_back(at::rand({4}));
  module.register_attribute("all", c10::ListType::ofTensors(), list);
  module.define("def forward(self, x):\n  return torch.linear(x, self.all[0]) + self.all[1]\n");
  const Case& definition = load("listed", module);
  const State state = state_of(definition);
  EXPECT_EQ(run_in(definition, state, "cast-bf16")[0].scalar_type(), at::kBFloat16);
  State exact = converted(state, at::kDouble);
  EXPECT_EQ(definition.reference_run(exact)[0].scalar_type(), at::kDouble);
}

TEST_F(ModuleCase, TrainingModeWritesNothingOfTheState) {
  Module module("Norm");
  module.register_buffer("mean", at::zeros({8}));
  module.register_buffer("variance", at::ones({8}));
  module.register_attribute("training", c10::BoolType::get(), true);
  module.define(
      "def forward(self, x):\n  return torch.batch_norm(x, None, None, self.mean, self.variance, "
      "self.training, 0.1, 1e-5, False)\n");
  const Case& trained = load("train", module, {{"mode", "train"}});
  const State state = state_of(trained);
  const at::Tensor out = run_in(trained, state, "fp32")[0];
  EXPECT_NEAR(out.mean().item<double>(), 0.0, 1e-6);
  EXPECT_TRUE(at::equal(run_in(trained, state, "fp32")[0], out));
  EXPECT_TRUE(at::equal(state[1], at::zeros({8})));
  const Case& evaluated = load_again("eval");
  EXPECT_FALSE(at::equal(run_in(evaluated, state, "fp32")[0], out));
}

TEST_F(ModuleCase, SeveralOutputsAndArgumentsThatAreNotGiven) {
  Module module("Several");
  module.define(
      "def forward(self, x, scale: float = 2.0, mask: Optional[Tensor] = None):\n"
      "  return {'a': x * scale, 'b': (x > 0)}\n");
  EXPECT_TRUE(contains(refusal("unnamed", module), "name what forward returns"));
  const Case& definition = load_again("several", {{"outputs", {"b", "a"}}});
  const State state = state_of(definition);
  const Outputs outputs = run_in(definition, state, "fp32");
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_TRUE(at::equal(outputs[1], state[0] * 2));
  EXPECT_EQ(outputs[0].scalar_type(), at::kBool);
}

TEST_F(ModuleCase, RefusesWhatCannotBeRepeated) {
  const auto with = [](const char* code) {
    Module module("Refused");
    module.register_attribute("training", c10::BoolType::get(), true);
    module.register_attribute("count", c10::IntType::get(), 0);
    module.define(code);
    return module;
  };
  EXPECT_TRUE(contains(refusal("r1", with("def forward(self, x):\n  return x + torch.rand_like(x)\n")),
                       "aten::rand_like draws random numbers"));
  EXPECT_TRUE(contains(refusal("r2", with("def forward(self, x):\n  return torch.dropout(x, 0.5, True)\n")),
                       "aten::dropout draws"));
  EXPECT_TRUE(
      contains(refusal("r3", with("def forward(self, x):\n  self.count = self.count + 1\n  return x * 2\n")),
               "changes its attribute 'count'"));
  const Module dropout = with("def forward(self, x):\n  return torch.dropout(x * 2, 0.5, self.training)\n");
  EXPECT_TRUE(contains(refusal("r4", dropout, {{"mode", "train"}}), "aten::dropout draws"));
  EXPECT_EQ(refusal("r5", dropout), "nothing");
  const Module branch =
      with("def forward(self, x):\n  if self.training:\n    x = x + torch.rand_like(x)\n  return x * 2\n");
  EXPECT_EQ(refusal("r6", branch), "nothing");
}

TEST_F(ModuleCase, RefusesWhatReachesBeyondTheModel) {
  Module saves("Saves");
  saves.define("def forward(self, x):\n  torch.save(x, 'stolen')\n  return x + 1\n");
  EXPECT_TRUE(contains(refusal("s1", saves), "aten::save"));
  Module loads("Loads");
  loads.register_attribute("n", c10::IntType::get(), 3);
  loads.register_attribute("training", c10::BoolType::get(), false);
  loads.define(
      "def __getstate__(self):\n  return (self.n, self.training)\n"
      "def __setstate__(self, state: Tuple[int, bool]):\n  self.n = state[0]\n  self.training = state[1]\n"
      "def forward(self, x):\n  return x + self.n\n");
  EXPECT_TRUE(contains(refusal("s2", loads), "__setstate__"));
}

TEST_F(ModuleCase, RefusesWhatIsNoTorchScript) {
  std::ofstream(folder_.path() / "model.pt") << "PK but no zip at all";
  EXPECT_TRUE(contains(refusal_again("z1"), "no zip archive"));
  two_layers().save((folder_.path() / "model.pt").string());
  std::filesystem::resize_file(folder_.path() / "model.pt", 700);
  EXPECT_TRUE(contains(refusal_again("z2"), "no zip archive"));
  std::filesystem::remove(folder_.path() / "model.pt");
  EXPECT_TRUE(contains(refusal_again("z3"), "is no file that can be read"));
}

TEST_F(ModuleCase, SaysWhichInputIsWrong) {
  const Module module = two_layers();
  const Json plain{{"shape", {5, 8}}, {"fill", "normal"}};
  EXPECT_TRUE(contains(refusal("i1", module, {{"inputs", {{"y", plain}}}}), "no argument of that name"));
  EXPECT_TRUE(
      contains(refusal("i2", module, {{"inputs", Json::object()}}), "argument 'x' (Tensor) of forward"));
  EXPECT_TRUE(contains(refusal("i3", module, {{"outputs", {"a", "b"}}}), "forward returns 1"));
  EXPECT_TRUE(contains(refusal("i4", module, {{"mode", "train"}}), "train changes nothing"));
  EXPECT_TRUE(contains(refusal("i5", module, {{"data", {{"up.weight", plain}}}}), "two tensors are called"));
  EXPECT_TRUE(contains(refusal("i6", module, {{"decisions", {{"labels", "labels"}}}}), "is called 'labels'"));
  EXPECT_TRUE(contains(refusal("i7", module, {{"minimum_accuracy", 0.9}}), "no labels"));
}

}  // namespace
}  // namespace ampgate::cases
