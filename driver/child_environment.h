// Environment variables of the workers: what decides threads and numerics is set or taken away, and said in
// the record.
#pragma once

#include <string>
#include <vector>

#include "results/json.h"

namespace ampgate::driver {

struct ChildEnvironment {
  std::vector<std::string> variables;  // "NAME=value": all of them
  results::Json set;                   // name: value
  results::Json removed;               // name: the value that the user's environment had
};

ChildEnvironment child_environment(int threads);

}  // namespace ampgate::driver
