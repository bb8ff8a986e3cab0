#include "validate/exact.h"

#include <limits>

#include "validate/elements.h"
#include "validate/text.h"

namespace ampgate::validate {

using results::Verdict;

ExactComparison compare_exactly(const at::Tensor& actual, const at::Tensor& oracle,
                                const at::Tensor& varies) {
  const at::Tensor out = actual.detach().to(at::kCPU, at::kLong).contiguous();
  const at::Tensor right = oracle.to(at::kCPU, at::kLong).contiguous();
  const at::Tensor excused = varies.defined() ? varies.contiguous() : varies;
  const auto* a = out.const_data_ptr<std::int64_t>();
  const auto* y = right.const_data_ptr<std::int64_t>();
  const bool* excuse = excused.defined() ? excused.const_data_ptr<bool>() : nullptr;
  ExactComparison result{.elements = out.numel()};
  for (std::int64_t i = 0; i < result.elements; ++i) {
    if (a[i] == y[i]) continue;
    const bool unexplained = excuse == nullptr || !excuse[i];
    if (result.differ == 0 || (unexplained && result.unexplained == 0)) {
      result.position = position_of(i, oracle.sizes());
      result.expected = y[i];
      result.actual = a[i];
    }
    ++result.differ;
    result.unexplained += unexplained ? 1 : 0;
  }
  return result;
}

void judge_exact(const std::string& output, const ExactComparison& comparison, Judgement& judgement) {
  if (comparison.differ == 0) return;
  const std::string place = output + text(comparison.position) + " is " + std::to_string(comparison.actual) +
                            " where the oracle gives " + std::to_string(comparison.expected);
  const std::string of = " of " + std::to_string(comparison.elements) + " integers differ";
  if (comparison.unexplained > 0) {
    judgement.worsen(Verdict::kInaccurate, place + "; " + std::to_string(comparison.unexplained) + of);
  } else {
    judgement.findings.push_back({"ordinary", "integers-changed",
                                  place + "; " + std::to_string(comparison.differ) + of +
                                      ", all where the replay with random rounding changes them too"});
  }
}

results::Json exact_json(const std::string& output, const ExactComparison& comparison) {
  const double margin = comparison.unexplained > 0 ? std::numeric_limits<double>::infinity() : 0.0;
  results::Json json{{"criterion", "exact equality"},
                     {"output", output},
                     {"margin", results::number(margin)},
                     {"elements", comparison.elements},
                     {"rejected", comparison.unexplained}};
  if (comparison.differ == 0) return json;
  json["position"] = comparison.position;
  json["expected"] = comparison.expected;
  json["actual"] = comparison.actual;
  return json;
}

}  // namespace ampgate::validate
