#include "bench/casts.h"

#include <chrono>

#include "bench/autocast_frames.h"
#include "bench/call_observer.h"

namespace ampgate::bench {
namespace {

using Clock = std::chrono::steady_clock;

class CastClock final : public CallObserver {
 public:
  CastClock(c10::DeviceType device, backends::Backend& backend)
      : CallObserver(/*inputs=*/false), frames_(device), backend_(backend) {}

  std::int64_t count = 0;
  Clock::duration spent{};

 private:
  void enter(const at::RecordFunction& function) override {
    if (frames_.enter(function)) {
      backend_.synchronize();
      begin_ = Clock::now();
    } else if (frames_.in_cast() && std::string_view(function.name()) == "aten::_to_copy") {
      ++count;
    }
  }
  void leave() override {
    if (!frames_.leave()) return;
    backend_.synchronize();
    spent += Clock::now() - begin_;
  }

  AutocastFrames frames_;
  backends::Backend& backend_;
  Clock::time_point begin_;
};

}  // namespace

Casts measure_casts(Body& body, backends::Backend& backend) {
  constexpr int kCalls = 21;
  constexpr std::chrono::milliseconds kLongest(500);
  Casts casts;
  const auto first = Clock::now();
  for (int i = 0; i < kCalls && (i < 3 || Clock::now() - first < kLongest); ++i) {
    body.prepare(1);
    CastClock clock(body.device(), backend);
    const auto begin = Clock::now();
    run_calls(body, 1);
    backend.synchronize();
    const auto whole = Clock::now() - begin;
    casts.count = clock.count;
    casts.shares.push_back(std::chrono::duration<double>(clock.spent) / std::chrono::duration<double>(whole));
  }
  return casts;
}

results::Json to_json(const Casts& casts) { return {{"count", casts.count}, {"shares", casts.shares}}; }

}  // namespace ampgate::bench
