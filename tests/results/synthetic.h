// Samples made up by the rules that the estimators assume, and by some that they do not.
#pragma once

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "results/statistics.h"

namespace ampgate::results {

inline std::vector<Sample> samples_of(const std::vector<std::vector<double>>& times) {
  std::vector<Sample> samples;
  for (std::size_t p = 0; p < times.size(); ++p) {
    for (std::size_t b = 0; b < times[p].size(); ++b) {
      samples.push_back({static_cast<int>(p), static_cast<int>(b), times[p][b], 1});
    }
  }
  return samples;
}

// All on log scale, in units of `within`.
struct Design {
  int processes = 3;
  int blocks = 7;
  double between = 0;      // standard deviation of the processes' effects
  double correlation = 0;  // of neighbouring blocks
  double drift = 0;        // change from block to block; the middle of a process is not moved
  double right_tail = 0;   // mean of an exponential part added to every block
  double outlier_share = 0;
  double outlier_mean = 10;
  bool one_disturbed = false;  // one block of the run takes 1.1 to 3 times as long
  bool skewed_processes = false;
  double within = 0.03;
  double centre_ns = 1000;
};

class Synthetic {
 public:
  explicit Synthetic(std::uint64_t seed) : engine_(seed) {}

  std::vector<Sample> run(const Design& design) {
    std::vector<std::vector<double>> times;
    for (int p = 0; p < design.processes; ++p) times.push_back(process(design));
    if (design.one_disturbed) {
      auto& hit = times[engine_() % times.size()];
      hit[engine_() % hit.size()] *= std::exp(uniform_(engine_) * std::log(3 / 1.1)) * 1.1;
    }
    return samples_of(times);
  }

 private:
  std::vector<double> process(const Design& design) {
    const double effect =
        design.between * (design.skewed_processes ? exponential_(engine_) - 1 : normal_(engine_));
    const double kept = std::sqrt(1 - design.correlation * design.correlation);
    std::vector<double> times;
    double noise = normal_(engine_);
    for (int b = 0; b < design.blocks; ++b) {
      noise = b == 0 ? noise : design.correlation * noise + kept * normal_(engine_);
      double value = effect + noise + design.drift * (b - (design.blocks - 1) / 2.0);
      if (design.right_tail > 0) value += design.right_tail * exponential_(engine_);
      if (uniform_(engine_) < design.outlier_share) value += design.outlier_mean * exponential_(engine_);
      times.push_back(design.centre_ns * std::exp(design.within * value));
    }
    return times;
  }

  std::mt19937_64 engine_;
  std::normal_distribution<double> normal_{};
  std::exponential_distribution<double> exponential_{};
  std::uniform_real_distribution<double> uniform_{};
};

}  // namespace ampgate::results
