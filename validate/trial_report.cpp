#include "validate/trial_report.h"

#include "validate/case_fault.h"
#include "validate/failure.h"
#include "validate/returned.h"

namespace ampgate::validate {

using results::Json;
using results::Verdict;

namespace {

Json shape_json(const cases::Shape& shape) {
  Json dims = Json::object();
  for (const auto& [dim, size] : shape.dims) dims[dim] = size;
  return {{"name", shape.name}, {"dims", std::move(dims)}};
}

}  // namespace

TrialAnswer without_numbers(Verdict verdict, std::string reason) {
  TrialAnswer answer;
  answer.judgement.worsen(verdict, std::move(reason));
  return answer;
}

// Runs `make`; an exception becomes the trial's verdict.
TrialAnswer guarded(const std::function<TrialAnswer()>& make) {
  TrialAnswer answer;
  const auto failure = catch_failure([&] {
    try {
      answer = make();
    } catch (const CaseFault& error) {
      answer = without_numbers(Verdict::kBaselineInvalid,
                               std::string("the case itself is at fault: ") + error.what());
    } catch (const OutputError& error) {
      answer = without_numbers(Verdict::kInaccurate, error.what());
    }
  });
  return failure ? without_numbers(failure->verdict, failure->reason) : answer;
}

Json finding_json(const Finding& finding, const std::string& shape) {
  return {{"input", finding.input}, {"shape", shape}, {"verdict", finding.verdict}, {"text", finding.text}};
}

Json trial_report(const cases::Case& definition, const cases::Shape& shape,
                  const precision::Precision& precision, const TrialAnswer& answer) {
  const Judgement& judgement = answer.judgement;
  Json body{{"case", definition.name},
            {"shape", shape_json(shape)},
            {"precision", precision.name},
            {"verdict", results::to_string(judgement.verdict)},
            {"reason", judgement.reason}};
  body.update(answer.body);
  body.update(answer.extra);
  body["findings"] = Json::array();
  for (const auto& finding : judgement.findings)
    body["findings"].push_back(finding_json(finding, shape.name));
  if (answer.body.empty()) {
    body["absent"] = Json::object();
    for (const char* field : {"accuracy", "decisions", "operators", "evidence"})
      body["absent"][field] = "not judged";
  }
  return body;
}

}  // namespace ampgate::validate
