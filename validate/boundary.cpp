#include "validate/boundary.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <array>

#include "cases/execute.h"
#include "validate/decisions/decide.h"
#include "validate/oracle.h"

namespace ampgate::validate {
namespace {

constexpr std::array kLadder{1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6};
constexpr std::int64_t kSamples = 128;
constexpr int kBisections = 40;  // more than the 24 bits that separate two FP32 inputs

// All decisions of one sample, and the smallest margin of them; NaN where one cannot be made.
struct SampleDecision {
  std::vector<std::int64_t> outcome;
  double margin = 0.0;
};

std::vector<SampleDecision> decide_samples(const at::Tensor& scores, const cases::Decisions& rule) {
  const ScoreRows rows = score_rows(scores, rule);
  std::vector<SampleDecision> samples(static_cast<std::size_t>(rows.samples));
  std::size_t row = 0;
  for (const Decision& decision : decide(rows, rule, "lowest-index")) {
    SampleDecision& sample = samples[row / static_cast<std::size_t>(rows.rows_per_sample)];
    sample.outcome.insert(sample.outcome.end(), decision.outcome.begin(), decision.outcome.end());
    const bool first = row++ % static_cast<std::size_t>(rows.rows_per_sample) == 0;
    // Written so that a NaN stays.
    if (first || !(decision.margin >= sample.margin)) sample.margin = decision.margin;
  }
  return samples;
}

bool is_batched(const cases::NamedTensor& entry, std::int64_t samples) {
  return entry.role == cases::Role::kInput && entry.tensor.dim() > 0 && entry.tensor.size(0) == samples;
}

bool moves(const cases::NamedTensor& entry, std::int64_t samples) {
  return is_batched(entry, samples) && entry.tensor.is_floating_point();
}

cases::State first_samples(const cases::State& whole, std::int64_t samples) {
  cases::State state = whole;
  for (auto& entry : state.tensors) {
    if (is_batched(entry, samples)) entry.tensor = entry.tensor.narrow(0, 0, kSamples).contiguous();
  }
  return state;
}

// For each sample the next one, cyclically, with another decision; itself where there is none.
std::vector<std::int64_t> partners(const std::vector<SampleDecision>& samples) {
  std::vector<std::int64_t> partner(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    partner[i] = static_cast<std::int64_t>(i);
    for (std::size_t step = 1; step < samples.size(); ++step) {
      const std::size_t other = (i + step) % samples.size();
      if (samples[other].outcome == samples[i].outcome) continue;
      partner[i] = static_cast<std::int64_t>(other);
      break;
    }
  }
  return partner;
}

// x + t (x[partner] - x), sample by sample, in FP32: what the model would really be given.
class Line {
 public:
  Line(const cases::State& from, const std::vector<std::int64_t>& partner) : from_(from) {
    const at::Tensor index = at::tensor(partner, at::kLong);
    const auto samples = static_cast<std::int64_t>(partner.size());
    for (const auto& entry : from.tensors) {
      at::Tensor step;
      if (moves(entry, samples)) {
        const at::Tensor start = entry.tensor.to(at::kDouble);
        step = start.index_select(0, index) - start;
      }
      steps_.push_back(step);
    }
  }

  cases::State at(const std::vector<double>& t) const {
    cases::State state = from_;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (!steps_[i].defined()) continue;
      std::vector<std::int64_t> sizes(static_cast<std::size_t>(steps_[i].dim()), 1);
      sizes[0] = -1;
      const at::Tensor along = at::tensor(t, at::kDouble).view(sizes);
      at::Tensor& tensor = state.tensors[i].tensor;
      tensor = (tensor.to(at::kDouble) + along * steps_[i]).to(at::kFloat);
    }
    return state;
  }

 private:
  const cases::State& from_;
  std::vector<at::Tensor> steps_;  // FP64; undefined for what stays
};

// How far along its line each sample first came below each rung, while the interval that holds its boundary
// is halved.
class Search {
 public:
  Search(std::vector<SampleDecision> start, const std::vector<std::int64_t>& partner)
      : start_(std::move(start)), low_(start_.size(), 0.0), high_(start_.size(), 1.0) {
    for (std::size_t i = 0; i < start_.size(); ++i)
      paired_.push_back(partner[i] != static_cast<std::int64_t>(i));
    for (const double margin : kLadder) {
      reached_.emplace_back(start_.size(), 0.0);
      below_.emplace_back();
      for (const auto& sample : start_) below_.back().push_back(sample.margin < margin);
    }
  }

  std::vector<double> middle() const {
    std::vector<double> t(start_.size());
    for (std::size_t i = 0; i < t.size(); ++i) t[i] = (low_[i] + high_[i]) / 2;
    return t;
  }

  void note(const std::vector<double>& t, const std::vector<SampleDecision>& found) {
    for (std::size_t i = 0; i < t.size(); ++i) {
      for (std::size_t rung = 0; rung < kLadder.size(); ++rung) {
        if (!paired_[i] || below_[rung][i] || !(found[i].margin < kLadder[rung])) continue;
        below_[rung][i] = true;
        reached_[rung][i] = t[i];
      }
      // The decision at `low` is the sample's own, at `high` another: the boundary lies between them.
      (found[i].outcome == start_[i].outcome ? low_ : high_)[i] = t[i];
    }
  }

  bool finished() const {
    for (std::size_t i = 0; i < paired_.size(); ++i) {
      if (paired_[i] && !below_.back()[i]) return false;
    }
    return true;
  }

  BoundaryRung rung(std::size_t number, const Line& line) const {
    const auto& below = below_[number];
    return {kLadder[number], below, std::count(below.begin(), below.end(), true), line.at(reached_[number])};
  }

 private:
  std::vector<SampleDecision> start_;
  std::vector<bool> paired_;
  std::vector<double> low_, high_;
  std::vector<std::vector<double>> reached_;  // by rung
  std::vector<std::vector<bool>> below_;
};

}  // namespace

Boundary boundary_inputs(const cases::Case& definition, const cases::State& whole,
                         const cases::Decisions& decisions, std::int64_t samples, bool whole_batch) {
  const bool slices = samples > kSamples && !whole_batch;
  const cases::State original = slices ? first_samples(whole, samples) : whole;
  if (slices) samples = kSamples;
  if (std::none_of(original.tensors.begin(), original.tensors.end(),
                   [&](const auto& entry) { return moves(entry, samples); })) {
    return {{}, "no boundary found: no floating input has one entry a sample that could be moved"};
  }
  const auto found_at = [&](const cases::State& state) {
    const at::Tensor scores = oracle(definition, cases::converted(state, at::kDouble))[decisions.output];
    return decide_samples(scores, decisions);
  };
  const auto start = found_at(original);
  if (static_cast<std::int64_t>(start.size()) != samples) {
    return {{}, "no boundary found: the case gives other numbers of scores than it is given samples"};
  }
  const auto partner = partners(start);
  bool any = false;
  for (std::size_t i = 0; i < start.size(); ++i) any = any || partner[i] != static_cast<std::int64_t>(i);
  if (!any) return {{}, "no boundary found: all rows decide alike"};

  const Line line(original, partner);
  Search search(start, partner);
  for (int step = 0; step < kBisections && !search.finished(); ++step) {
    const auto t = search.middle();
    search.note(t, found_at(line.at(t)));
  }
  Boundary boundary;
  for (std::size_t rung = 0; rung < kLadder.size(); ++rung) boundary.rungs.push_back(search.rung(rung, line));
  return boundary;
}

}  // namespace ampgate::validate
