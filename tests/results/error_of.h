// The text of the error that a call throws; empty when it throws none.
#pragma once

#include <string>

#include "results/error.h"

namespace ampgate::results {

template <typename Function>
std::string error_of(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace ampgate::results
