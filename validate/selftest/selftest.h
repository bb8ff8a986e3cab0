// The detector on trial: faults of the table put into the operators of one case, and the same case without
// faults over many seeds. docs/selftest.md says how to read the answers.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cases/case.h"
#include "precision/precision.h"
#include "results/json.h"
#include "validate/case_run.h"
#include "validate/selftest/faulty_case.h"
#include "validate/session.h"

namespace ampgate::validate::selftest {

struct Extent {
  bool deep = false;    // every kind in every precision; else each kind in one of the precisions
  int clean_seeds = 0;  // from the session's own on
};

class SelfTest {
 public:
  // `precisions`: those that will be asked for. All arguments but the last two outlive the object.
  SelfTest(const Session& session, const cases::Case& definition, cases::Shape shape,
           std::vector<const precision::Precision*> precisions, Extent extent);
  SelfTest(const SelfTest&) = delete;
  SelfTest& operator=(const SelfTest&) = delete;

  // The body of `trial_finished` of phase `selftest`, without `id`.
  results::Json judge(const precision::Precision& precision);

 private:
  struct Clean {
    std::int64_t trials = 0, false_alarms = 0, suspects = 0;
    results::Json examples = results::Json::array();
  };

  results::Json body(const precision::Precision& precision);
  results::Json faults(const precision::Precision& precision, const results::Json& right);
  results::Json judged(const precision::Precision& precision);
  void run_clean();
  bool is_chosen(std::size_t kind, const precision::Precision& precision) const;

  const Session& session_;
  const cases::Case& original_;
  const cases::Case faulty_;
  const cases::Shape shape_;
  const std::vector<const precision::Precision*> precisions_;
  const Extent extent_;
  std::optional<CaseRun> run_;
  std::optional<std::map<std::string, Clean, std::less<>>> clean_;
};

// The table as JSON, for documents and tests: [{"kind", "fault", "operators", "lines"}].
results::Json table();

}  // namespace ampgate::validate::selftest
