// How fast the comparator is, beside the memory that it reads: one JSON line for each line on standard input,
// which is the type of the output ("float16", "bfloat16", "float32"). The two are timed in alternation.
//
//   benchmark_comparator [ELEMENTS [ROUNDS]]
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "precision/formats.h"
#include "precision/precision.h"
#include "results/json.h"
#include "validate/compare.h"

namespace {

using ampgate::results::Json;
namespace validate = ampgate::validate;

double seconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Reads every byte once, on all threads, and does no more than add up.
std::uint64_t read_all(const at::Tensor& tensor) {
  const auto* words = static_cast<const std::uint64_t*>(tensor.const_data_ptr());
  const auto count = static_cast<std::int64_t>(tensor.nbytes() / 8);
  return at::parallel_reduce(
      0, count, 1 << 15, std::uint64_t{0},
      [&](std::int64_t begin, std::int64_t end, std::uint64_t sum) {
#pragma omp simd reduction(+ : sum)
        for (std::int64_t i = begin; i < end; ++i) sum += words[i];
        return sum;
      },
      std::plus<>());
}

struct Tensors {
  at::Tensor out;
  at::Tensor baseline;
  at::Tensor oracle;
  validate::Bound bound;
};

Tensors make(c10::ScalarType type, std::int64_t elements) {
  Tensors tensors;
  tensors.oracle = at::randn({elements / 4096, 4096}, at::kDouble);
  tensors.out = ampgate::precision::round_tensor(tensors.oracle, type);
  tensors.baseline = tensors.oracle.to(at::kFloat);
  tensors.bound.error = tensors.oracle.abs().mul_(0x1p-22).add_(0x1p-126);
  return tensors;
}

Json timed(std::int64_t bytes, int rounds, std::uint64_t& sink, const std::vector<at::Tensor>& read,
           const std::function<void()>& work) {
  Json work_s = Json::array();
  Json read_s = Json::array();
  for (int round = 0; round < rounds; ++round) {
    work_s.push_back(seconds(work));
    read_s.push_back(seconds([&] {
      for (const auto& tensor : read) sink += read_all(tensor);
    }));
  }
  return {{"bytes", bytes}, {"time_s", work_s}, {"read_time_s", read_s}};
}

Json round_of(const std::string& name, const Tensors& tensors, int rounds, std::uint64_t& sink) {
  const auto& [out, baseline, oracle, bound] = tensors;
  const std::vector<at::Tensor> compared{out, oracle, bound.error};
  std::int64_t bytes = 0;
  for (const auto& tensor : compared) bytes += static_cast<std::int64_t>(tensor.nbytes());
  return {
      {"type", name},
      {"elements", out.numel()},
      {"threads", at::get_num_threads()},
      {"compare",
       timed(bytes, rounds, sink, compared,
             [&] { sink += static_cast<std::uint64_t>(validate::compare(out, oracle, bound, {}).judged); })},
      {"cost",
       timed(static_cast<std::int64_t>(out.nbytes() + baseline.nbytes()), rounds, sink, {out, baseline},
             [&] { sink += static_cast<std::uint64_t>(validate::precision_cost(out, baseline).elements); })}};
}

}  // namespace

int main(int argc, char** argv) {
  const at::NoGradGuard no_grad;
  const std::int64_t elements = argc > 1 ? std::stoll(argv[1]) : 64LL << 20;
  const int rounds = argc > 2 ? std::stoi(argv[2]) : 1;
  std::uint64_t sink = 0;
  std::string made_for;
  Tensors tensors;
  for (std::string name; std::getline(std::cin, name);) {
    if (name != made_for) {
      tensors = {};
      const auto type = name == "float16" ? at::kHalf : name == "bfloat16" ? at::kBFloat16 : at::kFloat;
      tensors = make(type, elements);
      made_for = name;
    }
    Json line = round_of(name, tensors, rounds, sink);
    line["sink"] = sink;  // so that nothing is left out as unused
    std::cout << line.dump() << std::endl;
  }
  return 0;
}
