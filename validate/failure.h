// What an exception inside a trial means for that trial.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "results/verdict.h"

namespace ampgate::validate {

struct Failure {
  results::Verdict verdict;  // `unsupported` for a kernel that LibTorch does not have, else `crashed`
  std::string reason;
};

// Calls the function; nothing when it returns.
std::optional<Failure> catch_failure(const std::function<void()>& function);

}  // namespace ampgate::validate
