// How the cost of a verdict grows with the output: each line on standard input names a case and two shapes,
// "softmax 256x256 2560x2560"; one JSON line answers with the seconds that FP32 and cast-bf16 take on either,
// from the set-up of the inputs to the verdict, and with the operator's own runs among them.
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <chrono>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/settings.h"
#include "cases/case.h"
#include "cases/execute.h"
#include "cases/fills.h"
#include "results/json.h"
#include "validate/case_run.h"

namespace {

using ampgate::results::Json;
namespace cases = ampgate::cases;
namespace precision = ampgate::precision;
namespace validate = ampgate::validate;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

cases::Shape shape_of(const cases::Case& definition, const std::string& name) {
  std::vector<std::int64_t> sizes;
  std::istringstream parts(name);
  for (std::string part; std::getline(parts, part, 'x');) sizes.push_back(std::stoll(part));
  return definition.shape(sizes);
}

// One call of the operator, the second.
double call_seconds(const validate::Session& session, const cases::Case& definition,
                    const cases::Shape& shape, const precision::Precision& in) {
  const auto device = session.backend.device();
  cases::State state = cases::prepare(
      definition.setup(shape, cases::Fill(session.seed, definition.name, shape.name)), in, device);
  cases::execute(definition, state, in, device.type());
  const auto begin = Clock::now();
  cases::execute(definition, state, in, device.type());
  return seconds_since(begin);
}

Json timed(const validate::Session& session, const cases::Case& definition, const std::string& name) {
  const cases::Shape shape = shape_of(definition, name);
  Json verdicts = Json::object();
  const auto begin = Clock::now();
  validate::CaseRun run(session, definition, shape, /*with_edges=*/false);
  for (const char* in : {"fp32", "cast-bf16"}) verdicts[in] = run.judge(precision::find(in)).at("verdict");
  const double total = seconds_since(begin);
  double call = 0.0;
  for (const char* in : {"fp32", "cast-bf16"})
    call += call_seconds(session, definition, shape, precision::find(in));
  return {{"shape", shape.name}, {"validation_s", total}, {"call_s", call}, {"verdicts", verdicts}};
}

}  // namespace

int main() {
  const at::NoGradGuard no_grad;
  // As the driver asks of the worker: large tensors stay on the heap.
  ampgate::backends::apply({at::get_num_threads(), {}, std::int64_t{1} << 30, (std::int64_t{1} << 31) - 1});
  const auto backend = ampgate::backends::open("cpu");
  const validate::Session session{*backend, Json::object(), Json::object(), {}, "rules", 1};
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string name;
    std::string small;
    std::string large;
    words >> name >> small >> large;
    const cases::Case& definition = cases::registry().at(name);
    const Json before = timed(session, definition, small);
    const Json after = timed(session, definition, large);
    std::cout << Json{{"case", name}, {"small", before}, {"large", after}}.dump() << std::endl;
  }
  return 0;
}
