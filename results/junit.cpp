#include <vector>

#include "results/exit_code.h"
#include "results/exports.h"
#include "results/rules.h"

namespace ampgate::results {
namespace {

struct Test {
  std::string group;  // JUnit's classname: case and shape
  std::string name;
  std::string outcome;  // "", "failure", "error", "skipped"
  std::string why;
};

// XML 1.0 knows no control characters but tab and line ends, escaped or not.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\n':
        result += "&#10;";
        break;
      default:
        result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return result;
}

std::string attribute(const char* name, const std::string& value) {
  return std::string(" ") + name + "=\"" + escaped(value) + "\"";
}

std::string document(const std::string& suite, const std::string& began, const std::vector<Test>& tests) {
  int failures = 0, errors = 0, skipped = 0;
  std::string body;
  for (const Test& test : tests) {
    failures += test.outcome == "failure" ? 1 : 0;
    errors += test.outcome == "error" ? 1 : 0;
    skipped += test.outcome == "skipped" ? 1 : 0;
    body += "    <testcase" + attribute("classname", test.group) + attribute("name", test.name);
    body += test.outcome.empty()
                ? "/>\n"
                : ">\n      <" + test.outcome + attribute("message", test.why) + "/>\n    </testcase>\n";
  }
  const std::string counts = attribute("tests", std::to_string(tests.size())) +
                             attribute("failures", std::to_string(failures)) +
                             attribute("errors", std::to_string(errors)) +
                             attribute("skipped", std::to_string(skipped));
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" + attribute("name", "ampgate") + counts +
         ">\n  <testsuite" + attribute("name", suite) + counts +
         (began.empty() ? "" : attribute("timestamp", began)) + ">\n" + body +
         "  </testsuite>\n</testsuites>\n";
}

Test named(const Json& trial) {
  const auto id = trial.at("id").get<std::string>();
  const auto slash = id.rfind('/');
  return {id.substr(0, slash), id.substr(slash + 1), "", ""};
}

Test test_of(const Json& trial, const Rules& rules, bool measures) {
  Test test = named(trial);
  if (is_needless(trial)) {
    test.outcome = "skipped";
    test.why = trial.at("reason").get<std::string>();
  } else if (!is_fine(trial, rules, measures)) {
    const Json measured = trial.value("measurement", Json::object());
    test.outcome = "failure";
    test.why = trial.at("verdict").get<std::string>() + ": " + trial.at("reason").get<std::string>();
    if (trial.at("verdict") == "pass" && measured.contains("verdict"))
      test.why = measured.at("verdict").get<std::string>() + ": " + measured.value("reason", "");
  } else if (trial.at("verdict") == "unsupported") {
    test.outcome = "skipped";
    test.why = trial.at("reason").get<std::string>();
  }
  return test;
}

// The worst that a comparison says of a trial and its modes.
Test compared(const Json& trial) {
  Test test = named(trial);
  const auto note = [&](const char* outcome, const std::string& why) {
    const auto rank = [](const std::string& word) {
      return word == "failure" ? 3 : word == "error" ? 2 : word == "skipped" ? 1 : 0;
    };
    if (rank(outcome) <= rank(test.outcome)) return;
    test.outcome = outcome;
    test.why = why;
  };
  if (trial.contains("refused"))
    note("error", "not comparable: " + trial["refused"].at("in_words").get<std::string>());
  const auto look = [&](const Json& part) {
    for (const char* key : {"verdict", "measurement_verdict"}) {
      if (part.contains(key) && part[key].at("change") == "worse")
        note("failure", "verdict from " + part[key].at("a").get<std::string>() + " to " +
                            part[key].at("b").get<std::string>());
    }
    if (part.value("measured_by_one", false)) note("error", "measured in one record only");
    const Json time = part.value("time", Json::object());
    const auto verdict = time.value("verdict", "");
    if (verdict == "slower") note("failure", time.at("in_words").get<std::string>());
    if (verdict == "ambiguous") note("skipped", "ambiguous: " + time.at("in_words").get<std::string>());
  };
  look(trial);
  const Json variants = trial.value("variants", Json::object());
  for (const auto& part : variants) look(part);
  return test;
}

}  // namespace

std::string junit_of_record(const Json& record) {
  const Rules rules = parse_rules(record.at("rules").dump(), "/rules");
  std::vector<Test> tests;
  for (const auto& trial : record.at("trials"))
    tests.push_back(test_of(trial, rules, record.contains("bench")));
  return document("ampgate " + record.at("id").get<std::string>(), record.at("run").value("started", ""), tests);
}

std::string junit_of_comparison(const Json& comparison) {
  std::vector<Test> tests;
  for (const auto& trial : comparison.at("trials")) tests.push_back(compared(trial));
  return document("ampgate compare " + comparison.at("a").at("id").get<std::string>() + " " +
                      comparison.at("b").at("id").get<std::string>(),
                  "", tests);
}

}  // namespace ampgate::results
