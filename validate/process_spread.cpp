#include "validate/process_spread.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cases/checks.h"
#include "validate/elements.h"
#include "validate/text.h"

namespace ampgate::validate {

using results::Json;

Json process_spread(const cases::Case& definition, const cases::Outputs& outputs, const Json& checks) {
  std::int64_t differing = 0;
  std::int64_t outside = 0;
  std::int64_t all = 0;
  double largest = 0.0;
  std::string place;
  for (const Json& check : checks) {
    const auto name = check.at("output").get<std::string>();
    const auto found = std::find(definition.outputs.begin(), definition.outputs.end(), name);
    if (found == definition.outputs.end()) continue;
    const at::Tensor& output = outputs[static_cast<std::size_t>(found - definition.outputs.begin())];
    const auto positions = check.at("positions").get<std::vector<std::int64_t>>();
    const auto values = cases::values_at(output, positions);
    for (std::size_t i = 0; i < positions.size(); ++i) {
      ++all;
      const double before = results::number_from(check.at("values").at(i));
      if (values[i] != before && !(std::isnan(values[i]) && std::isnan(before))) {
        ++differing;
        const double distance = std::abs(values[i] - before);
        largest =
            std::max(largest, std::isnan(distance) ? std::numeric_limits<double>::infinity() : distance);
      }
      const double low = results::number_from(check.at("low").at(i));
      const double high = results::number_from(check.at("high").at(i));
      if (cases::allowed(values[i], low, high)) continue;
      if (outside++ > 0) continue;
      place = name + text(position_of(positions[i], output.sizes())) + " is " + text(values[i]) +
              ", allowed from " + text(low) + " to " + text(high);
    }
  }
  Json json{{"positions", all},
            {"differing", differing},
            {"outside", outside},
            {"max_abs_difference", results::number(largest)}};
  if (!place.empty()) json["place"] = place;
  return json;
}

}  // namespace ampgate::validate
