// The case itself is wrong: no trial of it can be judged, whatever its kernels do.
#pragma once

#include <stdexcept>

namespace ampgate::validate {

class CaseFault : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace ampgate::validate
