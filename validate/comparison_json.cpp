#include "validate/comparison_json.h"

namespace ampgate::validate {

using results::Json;

Json comparison_json(const std::string& output, const Comparison& comparison) {
  Json json{{"output", output},
            {"max_abs_error", results::number(comparison.max_abs_error)},
            {"position", comparison.position},
            {"expected", results::number(comparison.expected)},
            {"actual", results::number(comparison.actual)},
            {"max_ulp", comparison.max_ulp},
            {"mean_signed_error", results::number(comparison.mean_signed_error)},
            {"elements", comparison.elements},
            {"rejected", comparison.rejected}};
  if (comparison.max_abs_error > 0.0) json["max_abs_error_position"] = comparison.largest_at;
  if (!comparison.digest.empty()) json["digest"] = comparison.digest;
  return json;
}

}  // namespace ampgate::validate
