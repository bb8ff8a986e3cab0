// A case that misbehaves on request, compiled into the test workers only. AMPGATE_MISBEHAVE=WHAT@PROGRAM@TYPE
// says what it does (segv, abort, hang, exit0, throw, nan, wrong, write-input), in which program
// (ampgate-validate, ampgate-bench) and with which type of input (float32, float16, bfloat16). "WHAT:N"
// begins with call number N, counted per process.
#include <errno.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "cases/case.h"
#include "cases/fills.h"
#include "precision/precision.h"

namespace ampgate::cases {
namespace {

struct Request {
  std::string what, program, type;
  long first_call = 0;
};

Request request() {
  const char* text = std::getenv("AMPGATE_MISBEHAVE");
  Request result;
  if (text == nullptr) return result;
  const std::string all = text;
  const auto first = all.find('@');
  const auto second = all.find('@', first + 1);
  result.what = all.substr(0, first);
  result.program = all.substr(first + 1, second - first - 1);
  result.type = all.substr(second + 1);
  if (const auto colon = result.what.find(':'); colon != std::string::npos) {
    result.first_call = std::stol(result.what.substr(colon + 1));
    result.what.resize(colon);
  }
  return result;
}

void misbehave(const std::string& what, const at::Tensor& input, at::Tensor& output) {
  if (what == "segv") std::raise(SIGSEGV);
  if (what == "abort") std::abort();
  if (what == "hang") {
    for (;;) pause();
  }
  if (what == "exit0") _exit(0);
  if (what == "throw") throw std::runtime_error("thrown on request");
  if (what == "nan") output.view(-1)[3].fill_(std::numeric_limits<double>::quiet_NaN());
  if (what == "wrong") output.view(-1)[3].add_(1.0);
  if (what == "write-input") const_cast<at::Tensor&>(input).view(-1)[0].add_(1.0);
}

Outputs run(State& state) {
  static const Request asked = request();
  static long calls = 0;
  at::Tensor output = at::exp(state[0]);
  if (asked.program == program_invocation_short_name &&
      asked.type == precision::type_name(state[0].scalar_type()) && ++calls > asked.first_call) {
    misbehave(asked.what, state[0], output);
  }
  return {output};
}

const Registration registration{{
    .name = "misbehave",
    .dims = {"n"},
    .suites = {{"smoke", {{1000}}}},
    .outputs = {"out"},
    .setup = [](const Shape& shape, const Fill& fill) -> State {
      return {{{"x", fill.normal("x", {shape["n"]})}}};
    },
    .run = run,
    .facts = [](const Shape&) -> Facts { return {.bound = {.family = Family::kExp}}; },
}};

}  // namespace
}  // namespace ampgate::cases
