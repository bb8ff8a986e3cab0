#include "bench/training_subject.h"

#include <ATen/ops/isfinite.h>

#include <algorithm>

#include "backends/digest.h"
#include "bench/output_check.h"
#include "cases/fills.h"

namespace ampgate::bench {
namespace {

using results::Json;

const Json& steps_of(const Trial& trial) { return trial.evidence.at("training"); }

StepWindow window_of(const Trial& trial) {
  const Json& steps = steps_of(trial);
  return {steps.at("first_step").get<std::int64_t>(), std::ssize(steps.at("weights")) - 1};
}

std::unique_ptr<cases::Trainer> make_trainer(const Common& common, const Trial& trial,
                                             const backends::Backend& backend) {
  return std::make_unique<cases::Trainer>(common.definition, common.shape,
                                          cases::Fill(common.seed, common.definition.name, common.shape.name),
                                          common.original,
                                          cases::TrainerSetup{.precision = *trial.precision,
                                                              .scaler = cases::needs_scaler(*trial.precision),
                                                              .device = backend.device()});
}

bool all_finite(const std::vector<at::Tensor>& weights) {
  return std::all_of(weights.begin(), weights.end(),
                     [](const at::Tensor& weight) { return at::isfinite(weight).all().item<bool>(); });
}

}  // namespace

std::string missing_steps(const Json& evidence) {
  constexpr std::size_t kLeadInAndTimed = 2;
  const auto training = evidence.find("training");
  if (training == evidence.end() || !training->is_object()) return "/training";
  for (const auto* key : {"first_step", "weights", "held_out"})
    if (!training->contains(key)) return std::string("/training/") + key;
  return training->at("weights").size() > kLeadInAndTimed
             ? ""
             : "/training/weights after two steps (rules /training/updates: 2 at least)";
}

TrainingSubject::TrainingSubject(const Common& common, const Trial& trial, const backends::Backend& backend)
    : Subject(trial),
      body_(make_trainer(common, trial, backend), *trial.precision, backend.device().type(),
            window_of(trial)),
      by_digest_(check_method(trial.evidence) == CheckMethod::kDigest) {}

std::string TrainingSubject::begin() {
  body_.prepare(1);
  std::string problem = wrong_weights();
  if (problem.empty()) {
    run_calls(body_, 1);
    problem = wrong_weights();
  }
  if (!problem.empty()) return "before anything was timed, " + problem;
  for (int i = 0; i < TrainingSpread::kReferences && !by_digest_; ++i) {
    run_window();
    weights_.add_reference(body_.trainer().weights());
    held_out_.add_reference(body_.trainer().evaluate());
  }
  return "";
}

std::string TrainingSubject::look(const Cell& cell, bool must) {
  if (!must && !budget_.allows(cell.time_ns)) return "";
  ++cells_;
  return budget_.spend([&] { return wrong_weights(); });
}

// All steps that phase 1 left the weights of, and the model on held-out data at their end.
std::string TrainingSubject::check(const CheckPlan&) {
  run_window();
  if (std::string problem = wrong_weights(); !problem.empty()) return problem;
  if (by_digest_) return wrong_held_out();
  std::string problem = weights_.strayed(body_.trainer().weights());
  return problem.empty() ? held_out_.strayed(body_.trainer().evaluate()) : problem;
}

void TrainingSubject::run_window() {
  body_.prepare(body_.window().steps);
  run_calls(body_, body_.window().steps);
}

// As they are now, so many steps after the window's first.
std::string TrainingSubject::wrong_weights() const {
  const auto weights = body_.trainer().weights();
  const std::string when = "after " + std::to_string(body_.trainer().iteration()) + " steps ";
  if (!by_digest_) return all_finite(weights) ? "" : when + "the weights are not finite";
  const auto validated =
      steps_of(trial()).at("weights").at(static_cast<std::size_t>(body_.position())).get<std::string>();
  const std::string now = backends::digest_of_all(weights);
  return now == validated ? "" : when + "the weights have digest " + now + ", validated was " + validated;
}

std::string TrainingSubject::wrong_held_out() {
  const std::string now = backends::digest_of_all(body_.trainer().evaluate());
  const auto validated = steps_of(trial()).at("held_out").get<std::string>();
  if (now == validated) return "";
  return "the trained model's outputs on held-out data have digest " + now + ", validated was " + validated;
}

Json TrainingSubject::answer() const {
  return {{"output_check", to_string(check_method(trial().evidence))},
          {"cells_checked", cells_},
          {"training",
           {{"first_step", body_.window().first},
            {"steps", body_.window().steps},
            {"found_inf_reads", body_.found_inf_reads()}}}};
}

}  // namespace ampgate::bench
