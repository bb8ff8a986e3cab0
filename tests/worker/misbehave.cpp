// A case that misbehaves on request (request.h; the type is that of its input), compiled into the test
// workers only: segv, abort, hang, exit0, throw, nan, wrong, wrong-under-load, write-input, read, threads,
// leak, leak-tensors, slowN.
#include <ATen/Parallel.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cases/case.h"
#include "cases/fills.h"
#include "request.h"

namespace ampgate::cases {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<at::Tensor>& kept() {
  static std::vector<at::Tensor> tensors;
  return tensors;
}

// Did the call before end less than a millisecond ago? Not so for a call that is checked by itself.
bool follows_closely() {
  static Clock::time_point last{};
  return Clock::now() - std::exchange(last, Clock::now()) < std::chrono::milliseconds(1);
}

// Never given back.
void leak() {
  constexpr std::size_t kBytes = 4096;
  void* const block = std::malloc(kBytes);
  std::memset(block, 1, kBytes);
  asm volatile("" : : "r"(block) : "memory");  // else the compiler leaves it all out
}

void misbehave(const std::string& what, const at::Tensor& input, at::Tensor& output) {
  if (what == "segv") std::raise(SIGSEGV);
  if (what == "abort") std::abort();
  if (what == "hang") {
    for (;;) pause();
  }
  if (what == "exit0") _exit(0);
  if (what == "throw") throw std::runtime_error("thrown on request");
  if (what == "nan") poke(output, 3, std::numeric_limits<float>::quiet_NaN());
  if (what == "wrong") poke(output, 3, 1e4F);
  if (what == "wrong-under-load" && follows_closely()) poke(output, 3, 1e4F);
  if (what == "write-input") poke(input, 0, 3.0F);
  if (what == "read") output.view(-1)[3].item();
  if (what == "threads") at::set_num_threads(1);
  if (what == "leak") leak();
  if (what == "leak-tensors") kept().push_back(output);
}

// Until a call that began then has taken this much longer than it has until now.
void spin(Clock::time_point began, double slower_by) {
  const auto until = (Clock::now() - began) * (1 + slower_by);
  while (Clock::now() - began < until) {
  }
}

Outputs run(State& state) {
  const Request& asked = request();
  static long calls = 0;
  const auto began = Clock::now();
  at::Tensor output = at::exp(state[0]);
  if (asked.is_for(state[0].scalar_type()) && ++calls > asked.first_call) {
    misbehave(asked.what, state[0], output);
    if (asked.slower_by > 0) spin(began, asked.slower_by);
  }
  return {output};
}

const Registration registration{{
    .name = "misbehave",
    .dims = {"n"},
    .suites = {{"smoke", {{1000}}}, {"standard", {{1 << 16}}}},
    .outputs = {"out"},
    .setup = [](const Shape& shape, const Fill& fill) -> State {
      return {{{"x", fill.normal("x", {shape["n"]})}}};
    },
    .run = run,
    .facts = [](const Shape&) -> Facts { return {.bound = {.family = Family::kExp}}; },
}};

}  // namespace
}  // namespace ampgate::cases
