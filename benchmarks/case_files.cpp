// What it costs that an operator is called by its name in a case file: each line on standard input is a
// round; one JSON line answers with the nanoseconds a call of each operator, called directly and through a
// case file in turns.
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "backends/settings.h"
#include "cases/case.h"
#include "cases/execute.h"
#include "cases/files/operator_case.h"
#include "cases/fills.h"
#include "precision/precision.h"
#include "results/json.h"

namespace {

using ampgate::results::Json;
namespace cases = ampgate::cases;
namespace precision = ampgate::precision;

using Clock = std::chrono::steady_clock;
constexpr int kPairs = 15;
constexpr double kCellNs = 5e6;

// A case of the build, and the same operator as a case file calls it.
struct Pair {
  const char* direct;
  std::vector<std::int64_t> sizes;
  const char* file;
};

const std::vector<Pair> kCases{
    {"exp",
     {1000},
     R"({"operator": "aten::exp", "arguments": [{"tensor": {"shape": [1000], "fill": "normal"}}]})"},
    {"exp",
     {524288},
     R"({"operator": "aten::exp", "arguments": [{"tensor": {"shape": [524288], "fill": "normal"}}]})"},
    {"gelu_tanh",
     {262144},
     R"({"operator": "aten::gelu", "arguments": [{"tensor": {"shape": [262144], "fill": "normal"}}],
         "keywords": {"approximate": "tanh"}})"},
    {"softmax",
     {1024, 1024},
     R"({"operator": "aten::softmax.int", "arguments": [{"tensor": {"shape": [1024, 1024], "fill": "normal"}}, 1]})"},
    {"matmul",
     {256, 256, 256},
     R"({"operator": "aten::matmul", "arguments": [{"tensor": {"shape": [256, 256], "fill": "normal"}},
                                                   {"tensor": {"shape": [256, 256], "fill": "normal"}}]})"},
    {"conv2d",
     {2, 32, 32, 28, 28, 3},
     R"({"operator": "aten::conv2d", "arguments": [{"tensor": {"shape": [2, 32, 28, 28], "fill": "normal"}},
                                                   {"tensor": {"shape": [32, 32, 3, 3], "fill": "normal"}},
                                                   null, 1, 1]})"}};

cases::Case from_file(const std::string& text) {
  Json json = Json::parse(text);
  json["ampgate_case"] = 1;
  json["name"] = "benchmark";
  std::vector<std::filesystem::path> used;
  const cases::files::Document document(json, "benchmark.json", used);
  return cases::files::operator_cases(document).front();
}

class Body {
 public:
  // Both bodies work on the same tensors: where memory lies moves times by one per cent.
  Body(const cases::Case& definition, const cases::State& state) : definition_(definition), state_(state) {}

  // Nanoseconds of so many calls.
  double time(std::int64_t calls) {
    const auto begin = Clock::now();
    for (std::int64_t i = 0; i < calls; ++i)
      cases::execute(definition_, state_, precision::baseline(), at::kCPU);
    return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
  }

 private:
  const cases::Case& definition_;
  cases::State state_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Json timed(const Pair& pair) {
  const cases::Case& built_in = cases::registry().find(pair.direct)->second;
  const cases::Case own = from_file(pair.file);
  const cases::Shape shape = built_in.shape(pair.sizes);
  const cases::State state = cases::prepare(built_in.setup(shape, cases::Fill(1, built_in.name, shape.name)),
                                            precision::baseline(), at::kCPU);
  Body direct(built_in, state);
  Body file(own, state);
  direct.time(10);
  file.time(10);
  const auto calls = std::max<std::int64_t>(1, static_cast<std::int64_t>(kCellNs / (direct.time(10) / 10)));
  std::vector<double> directly, by_name, ratios;
  for (int i = 0; i < kPairs; ++i) {
    const bool first = i % 2 == 0;
    const double a = (first ? direct : file).time(calls);
    const double b = (first ? file : direct).time(calls);
    directly.push_back((first ? a : b) / static_cast<double>(calls));
    by_name.push_back((first ? b : a) / static_cast<double>(calls));
    ratios.push_back(by_name.back() / directly.back());
  }
  return {{"operator", std::string(pair.direct) + " " + shape.name},
          {"direct_ns", median(directly)},
          {"file_ns", median(by_name)},
          {"ratio", median(ratios)}};
}

}  // namespace

int main() {
  const at::NoGradGuard no_grad;
  ampgate::backends::apply({1, {}, std::int64_t{1} << 30, (std::int64_t{1} << 31) - 1});
  for (std::string line; std::getline(std::cin, line);) {
    Json answer = Json::array();
    for (const auto& pair : kCases) answer.push_back(timed(pair));
    std::cout << answer.dump() << std::endl;
  }
}
