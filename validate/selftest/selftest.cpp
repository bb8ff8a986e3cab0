#include "validate/selftest/selftest.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include "cases/execute.h"
#include "cases/fills.h"
#include "validate/failure.h"
#include "validate/selftest/expectations.h"

namespace ampgate::validate::selftest {

using results::Json;
using results::Verdict;

namespace {

constexpr std::size_t kMostExamples = 5;

// Findings that say that a result is wrong, by kind of input and verdict.
using Alarms = std::set<std::pair<std::string, std::string>>;

bool is_alarm(const std::string& verdict, bool suspect_allowed) {
  try {
    return !results::opens_gate(results::verdict_from(verdict), suspect_allowed);
  } catch (const std::invalid_argument&) {
    return false;  // a property, an ill-conditioned input
  }
}

Alarms alarms(const Json& body, bool suspect_allowed) {
  Alarms found;
  for (const auto& finding : body.at("findings")) {
    const auto verdict = finding.at("verdict").get<std::string>();
    if (is_alarm(verdict, suspect_allowed)) found.emplace(finding.at("input").get<std::string>(), verdict);
  }
  return found;
}

// What caught a fault: the trial's verdict, and findings that are not there without the fault.
Json catches(const Json& body, const Alarms& before, bool suspect_allowed, std::string& why) {
  Json list = Json::array();
  const auto verdict = body.at("verdict").get<std::string>();
  if (is_alarm(verdict, suspect_allowed)) {
    list.push_back({{"input", "ordinary"}, {"verdict", verdict}});
    why = body.at("reason").get<std::string>();
  }
  for (const auto& [input, word] : alarms(body, suspect_allowed)) {
    if (before.contains({input, word})) continue;
    list.push_back({{"input", input}, {"verdict", word}});
  }
  if (!why.empty() || list.empty()) return list;
  for (const auto& finding : body.at("findings")) {
    if (finding.at("input") == list[0].at("input") && finding.at("verdict") == list[0].at("verdict"))
      why = finding.at("text").get<std::string>();
  }
  return list;
}

// A trial that crashed says nothing about the detector, unless the fault is one that operators refuse.
std::string outcome(const Fault& fault, const Trace& trace, const Json& body, const Json& caught_by) {
  const bool crashed = body.at("verdict") == results::to_string(Verdict::kCrashed);
  if (!trace.broken.empty() || (crashed && !fault.may_throw)) return "broken";
  if (!trace.put_in) return "not-put-in";
  if (!caught_by.empty()) return "caught";
  return trace.effect ? "missed" : "no-effect";
}

Json peers_json(const Peers& peers) {
  return {{"torch_testing", peers.torch_testing},
          {"one_percent", peers.one_percent},
          {"k_over_100", peers.k_over_100}};
}

// Of the calls that the kind fits, the one that is hit; the first where all are.
struct Aim {
  std::int64_t only = -1;
  Target target;
};

std::optional<Aim> aim(const Kind& kind, const Fault& fault, const std::vector<Target>& targets,
                       std::uint64_t seed) {
  std::vector<const Target*> fitting;
  for (const auto& target : targets) {
    if (names(kind.operators, target.name)) fitting.push_back(&target);
  }
  if (fitting.empty()) return {};
  if (fault.hits == Hits::kAll) return Aim{-1, *fitting.front()};
  const std::size_t chosen = mixed(seed, std::hash<std::string>{}(kind.name)) % fitting.size();
  return Aim{static_cast<std::int64_t>(chosen), *fitting[chosen]};
}

}  // namespace

SelfTest::SelfTest(const Session& session, const cases::Case& definition, cases::Shape shape,
                   std::vector<const precision::Precision*> precisions, Extent extent)
    : session_(session),
      original_(definition),
      faulty_(faulty_copy(definition)),
      shape_(std::move(shape)),
      precisions_(std::move(precisions)),
      extent_(extent) {}

Json SelfTest::judge(const precision::Precision& precision) {
  Json result{{"case", original_.name}, {"shape", shape_.name}, {"precision", precision.name}};
  const auto failure = catch_failure([&] { result.update(body(precision)); });
  if (failure) {
    result["verdict"] = results::to_string(failure->verdict);
    result["reason"] = failure->reason;
  }
  return result;
}

Json SelfTest::body(const precision::Precision& precision) {
  const Json right = judged(precision);
  Json result{{"verdict", right.at("verdict")}, {"reason", right.at("reason")}};
  if (is_alarm(right.at("verdict").get<std::string>(), session_.rules.suspect_opens_gate)) return result;
  result["faults"] = faults(precision, right);
  if (!clean_) run_clean();
  const Clean& clean = clean_->at(std::string(precision.name));
  result["clean"] = {{"trials", clean.trials},
                     {"false_alarms", clean.false_alarms},
                     {"suspects", clean.suspects},
                     {"examples", clean.examples}};
  return result;
}

// A trial as the pipeline judges it. The baseline is judged anew each time that it is asked for itself.
Json SelfTest::judged(const precision::Precision& precision) {
  if (precision.name == precision::baseline().name) {
    return CaseRun(session_, faulty_, shape_, /*with_edges=*/true).judge(precision);
  }
  if (!run_) run_.emplace(session_, faulty_, shape_, /*with_edges=*/true);
  return run_->judge(precision);
}

Json SelfTest::faults(const precision::Precision& precision, const Json& right) {
  const cases::State original =
      original_.setup(shape_, cases::Fill(session_.seed, original_.name, shape_.name));
  const auto device = session_.backend.device();
  const auto found =
      targets(original_, cases::prepare(original, precision, device), precision, device.type());
  Subject subject{{}, original_.model};
  for (const auto& target : found) subject.operators.insert(target.name);
  const std::int64_t length = original_.facts(shape_).bound.length;
  const bool suspect_allowed = session_.rules.suspect_opens_gate;
  const Alarms before = alarms(right, suspect_allowed);

  Json list = Json::array();
  for (std::size_t number = 0; number < kinds().size(); ++number) {
    const Kind& kind = kinds()[number];
    const Fault& fault = selftest::faults().at(kind.name);
    const auto aimed = aim(kind, fault, found, session_.seed);
    if (!aimed || !is_chosen(number, precision)) continue;
    const auto& [expectation, reason] = expected(kind, subject, aimed->target.type);
    if (expectation == Expectation::kNotApplicable) continue;
    const ActiveFault active(fault, kind.operators, aimed->only, precision, length, session_.seed);
    const Json body = judged(precision);
    const Trace& trace = active.trace();
    std::string why = trace.broken;
    const Json caught_by = catches(body, before, suspect_allowed, why);
    list.push_back({{"kind", kind.name},
                    {"operator", aimed->target.name},
                    {"type", precision::type_name(aimed->target.type)},
                    {"expectation", to_string(expectation)},
                    {"reason", reason},
                    {"outcome", outcome(fault, trace, body, caught_by)},
                    {"caught_by", caught_by},
                    {"why", why},
                    {"peers", peers_json(trace.peers)}});
  }
  return list;
}

// In the short form each kind goes into one of the precisions, by turns over kinds and cases.
bool SelfTest::is_chosen(std::size_t kind, const precision::Precision& precision) const {
  if (extent_.deep) return true;
  const auto position = std::find(precisions_.begin(), precisions_.end(), &precision) - precisions_.begin();
  const std::size_t turn = mixed(std::hash<std::string>{}(original_.name), kind) % precisions_.size();
  return static_cast<std::size_t>(position) == turn;
}

void SelfTest::run_clean() {
  clean_.emplace();
  for (const auto* precision : precisions_) (*clean_)[std::string(precision->name)];
  Session seeded = session_;
  for (int i = 0; i < extent_.clean_seeds; ++i) {
    seeded.seed = session_.seed + static_cast<std::uint64_t>(i);
    CaseRun run(seeded, original_, shape_, /*with_edges=*/false);
    for (const auto* precision : precisions_) {
      const Json body = run.judge(*precision);
      const auto verdict = body.at("verdict").get<std::string>();
      if (verdict == results::to_string(Verdict::kUnsupported)) continue;
      Clean& clean = (*clean_)[std::string(precision->name)];
      ++clean.trials;
      if (verdict == results::to_string(Verdict::kSuspect)) ++clean.suspects;
      if (!is_alarm(verdict, /*suspect_allowed=*/true)) continue;
      ++clean.false_alarms;
      if (clean.examples.size() < kMostExamples) {
        clean.examples.push_back(
            {{"seed", seeded.seed}, {"verdict", verdict}, {"reason", body.at("reason")}});
      }
    }
  }
}

Json table() {
  Json list = Json::array();
  for (const auto& kind : kinds()) {
    Json lines = Json::array();
    for (const auto& line : kind.lines) {
      lines.push_back({{"where", line.where},
                       {"types", line.types},
                       {"expectation", to_string(line.expectation)},
                       {"reason", line.reason}});
    }
    list.push_back({{"kind", kind.name},
                    {"fault", kind.fault},
                    {"operators", kind.operators},
                    {"lines", std::move(lines)}});
  }
  return list;
}

}  // namespace ampgate::validate::selftest
