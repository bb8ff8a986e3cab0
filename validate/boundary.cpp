#include "validate/boundary.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <array>

#include "cases/execute.h"
#include "validate/decisions.h"
#include "validate/oracle.h"

namespace ampgate::validate {
namespace {

constexpr std::array kLadder{1e-1, 1e-2, 1e-3, 1e-4};
constexpr std::int64_t kRows = 128;
constexpr int kBisections = 40;  // more than the 24 bits that separate two FP32 inputs

// For each row the next one, cyclically, with another decision; the row itself where there is none.
at::Tensor partners(const std::vector<Decision>& decisions) {
  const std::size_t rows = decisions.size();
  at::Tensor partner = at::arange(static_cast<std::int64_t>(rows), at::kLong);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t step = 1; step < rows; ++step) {
      const std::size_t other = (row + step) % rows;
      if (decisions[other].chosen == decisions[row].chosen) continue;
      partner.mutable_data_ptr<std::int64_t>()[row] = static_cast<std::int64_t>(other);
      break;
    }
  }
  return partner;
}

bool moves(const cases::NamedTensor& entry) {
  return entry.role == cases::Role::kInput && entry.tensor.is_floating_point();
}

at::Tensor per_row(const at::Tensor& values, const at::Tensor& like) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(like.dim()), 1);
  sizes[0] = -1;
  return values.view(sizes);
}

cases::State first_rows(const cases::State& original) {
  cases::State state = original;
  for (auto& entry : state.tensors) {
    if (entry.role != cases::Role::kInput || entry.tensor.dim() == 0) continue;
    entry.tensor = entry.tensor.narrow(0, 0, std::min(kRows, entry.tensor.size(0))).contiguous();
  }
  return state;
}

// x + t (x[partner] - x), row by row, in FP32: what the model would really be given.
cases::State moved(const cases::State& original, const at::Tensor& partner, const at::Tensor& t) {
  cases::State state = original;
  for (auto& entry : state.tensors) {
    if (!moves(entry)) continue;
    const at::Tensor from = entry.tensor.to(at::kDouble);
    entry.tensor = (from + per_row(t, from) * (from.index_select(0, partner) - from)).to(at::kFloat);
  }
  return state;
}

at::Tensor margins(const at::Tensor& scores, const std::vector<Decision>& decisions) {
  at::Tensor result = at::empty({scores.size(0)}, at::kDouble);
  const auto values = scores.accessor<double, 2>();
  for (std::size_t row = 0; row < decisions.size(); ++row) {
    const auto i = static_cast<std::int64_t>(row);
    result.mutable_data_ptr<double>()[row] =
        values[i][decisions[row].chosen] - values[i][decisions[row].runner_up];
  }
  return result;
}

at::Tensor same_decision(const std::vector<Decision>& a, const std::vector<Decision>& b) {
  at::Tensor result = at::empty({static_cast<std::int64_t>(a.size())}, at::kBool);
  for (std::size_t row = 0; row < a.size(); ++row)
    result.mutable_data_ptr<bool>()[row] = a[row].chosen == b[row].chosen;
  return result;
}

}  // namespace

std::vector<BoundaryRung> boundary_inputs(const cases::Case& definition, const cases::State& whole,
                                          const cases::Decisions& decisions) {
  const cases::State original = first_rows(whole);
  const auto scores_of = [&](const cases::State& state) {
    return oracle(definition, cases::converted(state, at::kDouble))[decisions.output].contiguous();
  };
  const at::Tensor start_scores = scores_of(original);
  const auto start = decide(start_scores, "lowest-index");
  const at::Tensor partner = partners(start);
  const at::Tensor paired = partner.ne(at::arange(partner.numel(), at::kLong));
  if (!paired.any().item<bool>()) return {};

  // The decision at `low` is the row's own, at `high` another: the boundary lies between them.
  at::Tensor low = at::zeros({partner.numel()}, at::kDouble);
  at::Tensor high = at::ones({partner.numel()}, at::kDouble);
  const at::Tensor start_margins = margins(start_scores, start);
  std::vector<at::Tensor> reached;  // t of each rung and row
  std::vector<at::Tensor> below;
  for (const double margin : kLadder) {
    reached.push_back(at::zeros_like(low));
    below.push_back(start_margins.lt(margin));
  }
  for (int step = 0; step < kBisections; ++step) {
    const at::Tensor middle = (low + high) / 2;
    const at::Tensor scores = scores_of(moved(original, partner, middle));
    const auto found = decide(scores, "lowest-index");
    const at::Tensor same = same_decision(start, found);
    const at::Tensor margin = margins(scores, found);
    for (std::size_t rung = 0; rung < kLadder.size(); ++rung) {
      const at::Tensor first =
          margin.lt(kLadder[rung]).logical_and(below[rung].logical_not()).logical_and(paired);
      reached[rung] = at::where(first, middle, reached[rung]);
      below[rung] = below[rung].logical_or(first);
    }
    if (below.back().logical_or(paired.logical_not()).all().item<bool>()) break;
    low = at::where(same, middle, low);
    high = at::where(same, high, middle);
  }
  std::vector<BoundaryRung> rungs;
  for (std::size_t rung = 0; rung < kLadder.size(); ++rung) {
    rungs.push_back(
        {kLadder[rung], below[rung].sum().item<std::int64_t>(), moved(original, partner, reached[rung])});
  }
  return rungs;
}

}  // namespace ampgate::validate
