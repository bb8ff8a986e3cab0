#include "bench/schedule.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace ampgate::bench {
namespace {

constexpr double kExtrapolation = 20.0;  // this part of a cell is enough to extrapolate from
constexpr int kTries = 3;                // the shortest counts: other processes only lengthen
constexpr std::int64_t kMostSpent = 4;   // goals: a call longer than that is not tried again
constexpr std::int64_t kGrowth = 100;    // calls grow at most this much from one try to the next
constexpr std::int64_t kLeadInShare = 50;

// splitmix64 (Steele, Lea, Flood 2014): one step of the state, one number.
class Random {
 public:
  explicit Random(std::uint64_t state) : state_(state) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  // Uniform in [0, bound): numbers of the last, incomplete round are drawn again.
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t rejected = -bound % bound;
    std::uint64_t value = next();
    while (value < rejected) value = next();
    return value % bound;
  }

 private:
  std::uint64_t state_;
};

std::uint64_t mixed(std::uint64_t key, std::uint64_t value) { return Random(key ^ value).next(); }

}  // namespace

std::vector<std::size_t> block_order(std::uint64_t seed, std::string_view group, int process, int block,
                                     std::size_t trials) {
  std::uint64_t key = mixed(0, seed);
  for (const char letter : group) key = mixed(key, static_cast<unsigned char>(letter));
  key = mixed(mixed(key, static_cast<std::uint64_t>(process)), static_cast<std::uint64_t>(block));

  Random random(key);
  std::vector<std::size_t> order(trials);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t left = trials; left > 1; --left) std::swap(order[left - 1], order[random.below(left)]);
  return order;
}

std::int64_t choose_calls(std::int64_t cell_time_ns, std::int64_t clock_ns,
                          const std::function<std::int64_t(std::int64_t)>& time_calls, std::int64_t most) {
  const std::int64_t least = kClockShare * clock_ns;
  const std::int64_t goal = std::max(cell_time_ns, least);
  std::int64_t spent = 0;
  const auto per_call_of = [&](std::int64_t calls) {
    const std::int64_t time = std::max<std::int64_t>(time_calls(calls), 1);
    spent += time;
    return static_cast<double>(time) / static_cast<double>(calls);
  };

  std::int64_t calls = 1;
  double per_call = per_call_of(calls);
  const double enough = static_cast<double>(goal) / kExtrapolation;
  const auto is_short = [&] { return per_call * static_cast<double>(calls) < enough && calls < most; };
  do {
    while (is_short()) {
      const auto wanted = static_cast<std::int64_t>(std::ceil(1.1 * enough / per_call));
      calls = std::min(std::clamp(wanted, 2 * calls, kGrowth * calls), most);
      per_call = per_call_of(calls);
    }
    // One of them may show that what seemed long was a disturbance: then it goes on.
    for (int i = 1; i < kTries && spent < kMostSpent * goal; ++i)
      per_call = std::min(per_call, per_call_of(calls));
  } while (is_short());

  const auto for_time = std::llround(static_cast<double>(cell_time_ns) / per_call);
  const auto for_clock = std::llround(std::ceil(static_cast<double>(least) / per_call));
  return std::clamp<std::int64_t>(std::max(for_time, for_clock), 1, most);
}

std::int64_t lead_in_calls(std::int64_t calls) { return std::max<std::int64_t>(1, calls / kLeadInShare); }

}  // namespace ampgate::bench
