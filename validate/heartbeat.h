// Says every two seconds that the worker lives, while an operator may take long.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "results/protocol.h"

namespace ampgate::validate {

class Heartbeat {
 public:
  explicit Heartbeat(results::EventWriter& events);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace ampgate::validate
