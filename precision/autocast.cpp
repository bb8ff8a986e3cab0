#include "precision/autocast.h"

#include <ATen/autocast_mode.h>

#include <stdexcept>

namespace ampgate::precision {

AutocastScope::AutocastScope(c10::DeviceType device, c10::ScalarType type, bool enabled)
    : device_(device),
      previous_enabled_(at::autocast::is_autocast_enabled(device)),
      previous_type_(at::autocast::get_autocast_dtype(device)),
      previous_cache_(at::autocast::is_autocast_cache_enabled()) {
  // LibTorch accepts any type here and fails later, inside the first operator.
  if (type != c10::ScalarType::Half && type != c10::ScalarType::BFloat16) {
    throw std::invalid_argument("autocast runs in float16 or bfloat16 only");
  }
  at::autocast::set_autocast_enabled(device, enabled);
  at::autocast::set_autocast_dtype(device, type);
  at::autocast::set_autocast_cache_enabled(true);
  at::autocast::increment_nesting();
}

AutocastScope::~AutocastScope() {
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_cache_enabled(previous_cache_);
  at::autocast::set_autocast_dtype(device_, previous_type_);
  at::autocast::set_autocast_enabled(device_, previous_enabled_);
}

}  // namespace ampgate::precision
