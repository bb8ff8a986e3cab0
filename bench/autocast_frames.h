// Which operators are running on this thread, and which of them are casts that autocast inserted: it casts
// with its own key excluded, within an operator that began with the key in force.
#pragma once

#include <ATen/autocast_mode.h>
#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <string_view>
#include <vector>

namespace ampgate::bench {

class AutocastFrames {
 public:
  explicit AutocastFrames(c10::DeviceType device)
      : key_(at::autocast::get_autocast_dispatch_key_from_device_type(device)) {}

  // At the start of an operator. True: it is such a cast, and none is running yet.
  bool enter(const at::RecordFunction& function) {
    const bool excluded = c10::impl::tls_is_dispatch_key_excluded(key_);
    const bool cast = !in_cast() && !frames_.empty() && excluded && frames_.back().autocast_in_force &&
                      (std::string_view(function.name()) == "aten::to" ||
                       std::string_view(function.name()) == "aten::_to_copy");
    frames_.push_back({!excluded, cast || in_cast()});
    return cast;
  }
  // At its end. True: no cast is running any more, and one was.
  bool leave() {
    const bool was = in_cast();
    frames_.pop_back();
    return was && !in_cast();
  }

  bool in_cast() const { return !frames_.empty() && frames_.back().in_cast; }
  std::size_t depth() const { return frames_.size(); }

 private:
  struct Frame {
    bool autocast_in_force;
    bool in_cast;
  };
  c10::DispatchKey key_;
  std::vector<Frame> frames_;
};

}  // namespace ampgate::bench
