#include "validate/unwritten.h"

#include "validate/elements.h"
#include "validate/text.h"

namespace ampgate::validate {

UnwrittenElements unwritten_elements(const cases::Outputs& outputs) {
  UnwrittenElements result;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const FiniteScan scan = scan_finite(outputs[i]);
    result.elements += scan.elements;
    if (scan.unwritten == 0) continue;
    if (result.count == 0) {
      result.output = i;
      result.first = scan.first_unwritten;
    }
    result.count += scan.unwritten;
  }
  return result;
}

std::string sentence(const UnwrittenElements& unwritten, const std::optional<UnfilledMemory>& memory,
                     const cases::Case& definition, const cases::Outputs& outputs) {
  const bool own = memory && !memory->read_by;
  return std::to_string(unwritten.count) + " of " + std::to_string(unwritten.elements) +
         (own ? " elements are never written" : " elements depend on memory that was never written") +
         ", the first of them " + definition.outputs[unwritten.output] +
         text(position_of(unwritten.first, outputs[unwritten.output].sizes()));
}

}  // namespace ampgate::validate
