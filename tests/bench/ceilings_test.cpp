#include "bench/ceilings.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace ampgate::bench {
namespace {

double median_time(const results::Json& measured) {
  auto times = measured.at("times_ns").get<std::vector<double>>();
  std::sort(times.begin(), times.end());
  return times.at(times.size() / 2);
}

TEST(Ceilings, AreMeasuredAndBelowThePeaks) {
  const at::NoGradGuard no_grad;
  const auto backend = backends::open("cpu");
  const auto ceilings = measure_ceilings(*backend);
  for (const auto* pass : {"read", "write", "copy"}) {
    const auto& measured = ceilings.at("memory").at(pass);
    EXPECT_EQ(measured.at("bytes"), ceilings.at("memory").at("buffer_bytes"));
    EXPECT_GE(measured.at("bytes"),
              std::min(2 * backend->last_level_cache_bytes(), backend->identity().memory_bytes / 4));
    EXPECT_GT(median_time(measured), 0.0);
  }
  for (const auto* format : {"fp32", "fp16", "bf16"}) {
    const auto& measured = ceilings.at("matmul").at(format);
    const double size = measured.at("size");
    const double products = measured.at("flops").get<double>() / (2 * size * size * size);
    EXPECT_GE(products, 1.0);
    EXPECT_EQ(products, std::floor(products)) << "a run is a whole number of products";
    const double rate = measured.at("flops").get<double>() / median_time(measured) * 1e9;
    EXPECT_LT(rate, ceilings.at("peaks").at("flops_per_s").at(format).get<double>()) << format;
  }
  EXPECT_TRUE(ceilings.at("matmul").at("tf32").contains("absent"));
}

}  // namespace
}  // namespace ampgate::bench
