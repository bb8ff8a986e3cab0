#include "validate/heartbeat.h"

#include <chrono>

namespace ampgate::validate {

Heartbeat::Heartbeat(results::EventWriter& events)
    : thread_([this, &events] {
        std::unique_lock lock(mutex_);
        while (!wake_.wait_for(lock, std::chrono::seconds(2), [this] { return stop_; })) {
          events.write("heartbeat");
        }
      }) {}

Heartbeat::~Heartbeat() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

}  // namespace ampgate::validate
