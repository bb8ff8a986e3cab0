// Looking at what a cell left must not take the time of measuring.
#pragma once

#include <chrono>
#include <cstdint>

namespace ampgate::bench {

class LookBudget {
 public:
  // A look that took a fiftieth of such a cell is not worth it.
  bool allows(std::int64_t cell_time_ns) const { return look_ns_ * kShare <= cell_time_ns; }

  // Runs `look`, and knows then what one takes.
  template <typename Look>
  auto spend(Look&& look) {
    const auto begin = std::chrono::steady_clock::now();
    auto found = look();
    look_ns_ = (std::chrono::steady_clock::now() - begin) / std::chrono::nanoseconds(1);
    return found;
  }

 private:
  static constexpr std::int64_t kShare = 50;
  std::int64_t look_ns_ = 0;
};

}  // namespace ampgate::bench
