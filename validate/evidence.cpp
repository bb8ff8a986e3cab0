#include "validate/evidence.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>

#include "backends/build_id.h"
#include "backends/digest.h"
#include "backends/to_json.h"
#include "cases/checks.h"
#include "precision/formats.h"
#include "validate/compare.h"
#include "validate/elements.h"

namespace ampgate::validate {
namespace {

using results::Json;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<std::int64_t> seeded_positions(std::int64_t elements, std::int64_t count, std::uint64_t seed) {
  std::vector<std::int64_t> positions;
  if (elements <= count) {
    positions.resize(static_cast<std::size_t>(elements));
    std::iota(positions.begin(), positions.end(), 0);
    return positions;
  }
  // The generator is the same everywhere; the library's distributions are not. The bias of % does no harm
  // here.
  std::mt19937_64 random(seed);
  std::set<std::int64_t> chosen;
  while (std::ssize(chosen) < count) {
    chosen.insert(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(elements)));
  }
  return {chosen.begin(), chosen.end()};
}

// Integers must be what they are.
Limits exact_limits(const at::Tensor& oracle, const std::vector<std::int64_t>& positions) {
  Limits result;
  const at::Tensor values = oracle.to(at::kDouble).contiguous();
  for (const std::int64_t position : positions)
    result.low.push_back(values.const_data_ptr<double>()[position]);
  result.high = result.low;
  return result;
}

// What two right outputs may differ by: at each element RN(y + E) - RN(y - E) is at most 2 E and a unit in
// the last place. A part says less about the rest, which gets twice as much.
struct Allowance {
  double largest;
  double rms;
};

Allowance allowance(const at::Tensor& oracle, const Bound& bound, c10::ScalarType type, bool hard,
                    bool whole) {
  if (!oracle.is_floating_point()) return {0.0, 0.0};
  const precision::Format& format = precision::format_of(type);
  const double ulp = 2.0 * format.unit_roundoff();
  const at::Tensor error = hard ? bound.hard : bound.error;
  // Where the oracle is not finite masks decide; an E that is NaN allows everything.
  const at::Tensor width =
      at::nan_to_num(2.0 * error + (oracle.abs() + error) * ulp + format.smallest_subnormal(), kInfinity,
                     kInfinity)
          .masked_fill(at::isfinite(oracle).logical_not(), 0.0);
  double rms = std::sqrt(width.square().mean().item<double>());
  if (bound.rms_limit > 0.0) rms = std::min(rms, 2.0 * bound.rms_limit);
  const double factor = whole ? 1.0 : 2.0;
  return {factor * width.max().item<double>(), factor * rms};
}

Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(results::number(value));
  return list;
}

}  // namespace

Json input_digests(const cases::State& original) {
  Json inputs = Json::object();
  Json weights = Json::object();
  for (const auto& entry : original.tensors) {
    (entry.role == cases::Role::kInput ? inputs : weights)[entry.name] = backends::digest(entry.tensor);
  }
  return {{"inputs", std::move(inputs)}, {"weights", std::move(weights)}};
}

Json output_check(const std::string& name, const at::Tensor& oracle, const Bound& bound,
                  const at::Tensor& output, const Sample& sample, std::int64_t count, std::uint64_t seed,
                  bool hard) {
  auto positions = seeded_positions(oracle.numel(), count, seed);
  const Limits checked = oracle.is_floating_point()
                             ? limits(oracle, bound, output.scalar_type(), positions, hard)
                             : exact_limits(oracle, positions);
  for (auto& position : positions) {
    position = index_of(sample.whole_position(position_of(position, oracle.sizes())), output.sizes());
  }
  const Allowance allowed = allowance(oracle, bound, output.scalar_type(), hard, sample.whole());
  Json check{{"output", name},
             {"positions", positions},
             {"low", numbers(checked.low)},
             {"high", numbers(checked.high)},
             {"max_difference", results::number(allowed.largest)},
             {"rms_difference", results::number(allowed.rms)}};
  // An output of another size was refused, and has no such positions.
  const auto beyond = [&](std::int64_t position) { return position >= output.numel(); };
  if (std::none_of(positions.begin(), positions.end(), beyond)) {
    check["values"] = numbers(cases::values_at(output, positions));
  }
  return check;
}

Json evidence(const Session& session, const cases::Case& definition, const cases::Shape& shape,
              const precision::Precision& precision, const Json& input_digests, const TrialRun& run) {
  Json outputs = Json::object();
  for (std::size_t i = 0; i < run.digests.size(); ++i) outputs[definition.outputs[i]] = run.digests[i];
  Json made{{"device", session.device},
            {"libtorch", session.libtorch},
            {"build_id", backends::build_id()},
            {"settings", backends::fields_json(run.settings)},
            {"case", definition.name},
            {"shape", shape.name},
            {"precision", precision.name},
            {"seed", session.seed},
            {"rules_sha256", session.rules_sha256},
            {"inputs", input_digests.at("inputs")},
            {"weights", input_digests.at("weights")},
            {"outputs", std::move(outputs)}};
  if (!definition.file_sha256.empty()) made["case_file"] = definition.file_sha256;
  return made;
}

}  // namespace ampgate::validate
