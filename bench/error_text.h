// The text of an exception as it stands in a reason: LibTorch's without its backtrace.
#pragma once

#include <c10/util/Exception.h>

#include <exception>
#include <string>

namespace ampgate::bench {

inline std::string error_text(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  return torch_error != nullptr ? torch_error->what_without_backtrace() : error.what();
}

}  // namespace ampgate::bench
