#include "validate/selftest/faults.h"

namespace ampgate::validate::selftest {

const Faults& faults() {
  static const Faults all = [] {
    Faults made;
    add_element_faults(made);
    add_rounding_faults(made);
    add_call_faults(made);
    add_product_faults(made);
    add_norm_faults(made);
    add_softmax_faults(made);
    add_other_faults(made);
    return made;
  }();
  return all;
}

}  // namespace ampgate::validate::selftest
