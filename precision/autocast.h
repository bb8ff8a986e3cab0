// One autocast scope: switches autocast on for a device type and puts everything back, the cache included.
#pragma once

#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

namespace ampgate::precision {

// Forward pass only: the backward pass runs outside, since autograd replays the types that the forward pass
// recorded. Scopes nest; leaving the outermost one clears the cache of cast weights, so that no later scope
// reads stale casts.
class AutocastScope {
 public:
  // `enabled` false gives a scope in which autocast is off (an FP32 island). Throws std::invalid_argument for
  // a type that is neither Half nor BFloat16.
  AutocastScope(c10::DeviceType device, c10::ScalarType type, bool enabled = true);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  c10::DeviceType device_;
  bool previous_enabled_;
  c10::ScalarType previous_type_;
  bool previous_cache_;
};

}  // namespace ampgate::precision
