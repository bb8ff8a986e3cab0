#include "validate/edge_inputs.h"

#include <ATen/ATen.h>

#include <optional>

#include "cases/execute.h"
#include "cases/fills.h"
#include "validate/compare.h"
#include "validate/criterion.h"
#include "validate/failure.h"
#include "validate/inputs/edge_shapes.h"
#include "validate/inputs/excuses.h"
#include "validate/inputs/headroom.h"
#include "validate/inputs/layouts.h"
#include "validate/inputs/patterns.h"
#include "validate/text.h"
#include "validate/trial_run.h"

namespace ampgate::validate {
using results::Verdict;

namespace {

class EdgeTrials {
 public:
  EdgeTrials(const Session& session, const cases::Case& definition, const precision::Precision& precision)
      : session_(session), definition_(definition), precision_(precision) {}

  std::vector<EdgeFinding> take() { return std::move(findings_); }

  void fills(const cases::Shape& shape) {
    for (const auto kind : cases::edge_fills()) {
      const std::string name(cases::fill_name(kind));
      std::vector<std::size_t> filled;
      attempt(name, shape, [&] { filled = tensors_filled(shape, kind); });
      const bool several = filled.size() > 1;
      // One NaN among several hides what the others do.
      if (!several || !is_non_finite(kind))
        attempt(name, shape, [&] { judge(reaching(shape, kind, filled), {}); });
      if (!several || !(is_non_finite(kind) || kind == cases::FillKind::kSubnormal)) continue;
      for (const std::size_t tensor : filled) {
        attempt(name + " " + setup(shape).tensors[tensor].name, shape,
                [&] { judge(reaching(shape, kind, {tensor}), {}); });
      }
    }
  }

  void patterns(const cases::Shape& shape) {
    for (const auto pattern : all_patterns()) {
      attempt(std::string(pattern_name(pattern)), shape, [&] {
        const auto state = arranged(definition_.facts(shape).bound, setup(shape), pattern);
        if (state) judge(*state, {});
      });
    }
  }

  void layouts(const cases::Shape& shape) {
    for (const auto layout : all_layouts()) {
      const std::string name(layout_name(layout));
      attempt(name, shape, [&] { judge(setup(shape), layout); });
      const std::string far = name + ", " + std::string(pattern_name(Pattern::kFarMean));
      attempt(far, shape, [&] {
        const auto state = arranged(definition_.facts(shape).bound, setup(shape), Pattern::kFarMean);
        if (state) judge(*state, layout);
      });
    }
  }

  void shape(const std::string& input, const cases::Shape& shape) {
    attempt(input, shape, [&] {
      if (oracle_takes(shape)) judge(setup(shape), {});
    });
  }

  void empty(const cases::Shape& shape) {
    attempt("empty", shape, [&] {
      if (is_common(shape) && oracle_takes(shape)) judge_empty(setup(shape));
    });
  }

 private:
  // `work` adds findings about input_ and shape_.
  template <typename Work>
  void attempt(const std::string& input, const cases::Shape& shape, Work&& work) {
    input_ = input;
    shape_ = &shape;
    const auto failure = catch_failure(work);
    if (failure && failure->verdict == Verdict::kCrashed) add("crashed", failure->reason);
  }

  void add(const std::string& verdict, const std::string& text) {
    findings_.push_back({{input_, verdict, text}, shape_->name});
  }

  cases::State setup(const cases::Shape& shape, cases::FillKind kind = cases::FillKind::kOrdinary,
                     std::uint64_t other_seed = 0) const {
    return definition_.setup(shape,
                             cases::Fill(session_.seed + other_seed, definition_.name, shape.name, kind));
  }

  static bool is_non_finite(cases::FillKind kind) {
    return kind == cases::FillKind::kNaN || kind == cases::FillKind::kInfinite;
  }

  // Those that an edge kind replaces: not indices, nor values that have a domain.
  std::vector<std::size_t> tensors_filled(const cases::Shape& shape, cases::FillKind kind) const {
    const cases::State ordinary = setup(shape);
    const cases::State other = setup(shape, kind);
    std::vector<std::size_t> filled;
    for (std::size_t i = 0; i < ordinary.tensors.size(); ++i) {
      if (!ordinary[i].is_floating_point()) continue;
      if (!at::equal(ordinary[i].contiguous().view(at::kInt), other[i].contiguous().view(at::kInt)))
        filled.push_back(i);
    }
    return filled;
  }

  // `kind` in `tensors`, the others ordinary. Where values are picked by an index, with the first of a few
  // seeds by which it picks what is not finite.
  cases::State reaching(const cases::Shape& shape, cases::FillKind kind,
                        const std::vector<std::size_t>& tensors) const {
    constexpr std::uint64_t kMostSeeds = 64;
    for (std::uint64_t other_seed = 0;; ++other_seed) {
      cases::State state = setup(shape, cases::FillKind::kOrdinary, other_seed);
      const cases::State filled = setup(shape, kind, other_seed);
      bool picks = false;
      for (const auto& entry : state.tensors) picks = picks || !entry.tensor.is_floating_point();
      for (const std::size_t i : tensors) state.tensors[i] = filled.tensors[i];
      if (!picks || !is_non_finite(kind) || other_seed == kMostSeeds || reaches_output(state)) return state;
    }
  }

  bool reaches_output(const cases::State& state) const {
    for (const auto& output : oracle(definition_, cases::converted(state, at::kDouble))) {
      if (output.is_floating_point() && !output.isfinite().all().item<bool>()) return true;
    }
    return false;
  }

  // An empty batch, or sums of nothing. Other dimensions that are 0 no program means, and LibTorch dies of
  // some (attention with no heads divides by zero).
  bool is_common(const cases::Shape& shape) const {
    if (catch_failure([&] { setup(shape); })) return false;  // no index into nothing can be drawn
    const cases::Facts facts = definition_.facts(shape);
    if (facts.bound.length == 0) return true;
    if (facts.independent.empty()) return false;
    const auto& [tensor, dim] = facts.independent.front().operands.front();
    return setup(shape)[tensor].size(dim) == 0;
  }

  // Some operators take no single or empty rows: then there is nothing to judge.
  bool oracle_takes(const cases::Shape& shape) const {
    const auto refused =
        catch_failure([&] { oracle(definition_, cases::converted(setup(shape), at::kDouble)); });
    return !refused;
  }

  void judge(const cases::State& original, std::optional<Layout> layout) {
    std::optional<cases::State> arranged_state;
    cases::State prepared = cases::prepare(original, precision_, session_.backend.device());
    if (layout) {
      arranged_state = laid_out(prepared, *layout);
      if (!arranged_state) return;
    }
    const cases::Facts facts = definition_.facts(*shape_);
    References references(session_.rules, definition_, facts, original);
    const TrialRun run =
        run_prepared(session_, definition_, arranged_state ? *arranged_state : prepared, precision_);
    const Criterion criterion =
        operator_criterion(session_.rules, definition_, precision_, prepared, run.outputs, references);
    cases::Outputs outputs = run.outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Reference& reference = references.get(prepared, precision_, judged_type(run.outputs, i));
      outputs[i] = excused(definition_, facts.bound, reference, outputs[i], i);
    }
    const Judgement judgement = criterion.judge(outputs);
    // Another order of summation, or elements that could not be judged, say nothing about the operator.
    const bool silent = judgement.verdict == Verdict::kPass || judgement.verdict == Verdict::kSuspect ||
                        judgement.verdict == Verdict::kAmbiguous;
    if (!silent) add(std::string(results::to_string(judgement.verdict)), judgement.reason);
  }

  // Sums of nothing are exact.
  void judge_empty(const cases::State& original) {
    const TrialRun run = run_prepared(
        session_, definition_, cases::prepare(original, precision_, session_.backend.device()), precision_);
    const cases::Outputs right = oracle(definition_, cases::converted(original, at::kDouble));
    for (std::size_t i = 0; i < run.outputs.size(); ++i) {
      if (!right[i].is_floating_point()) continue;
      Bound none;
      none.error = at::zeros_like(right[i]);
      const Comparison comparison = compare(run.outputs[i], right[i], none, session_.rules);
      const std::string& name = definition_.outputs[i];
      if (!comparison.problem.empty()) {
        add("inaccurate", name + " cannot be compared: " + comparison.problem);
      } else if (comparison.rejected > 0) {
        add("inaccurate", name + text(comparison.position) + " is " + text(comparison.actual) + " where " +
                              text(comparison.expected) + " is right");
      }
    }
  }

  const Session& session_;
  const cases::Case& definition_;
  const precision::Precision& precision_;
  std::string input_;
  const cases::Shape* shape_ = nullptr;
  std::vector<EdgeFinding> findings_;
};

}  // namespace

std::vector<EdgeFinding> edge_findings(const Session& session, const cases::Case& definition,
                                       const precision::Precision& precision) {
  const auto shape = edge_shape(definition);
  if (!shape) {
    const std::string why = "edge inputs were not tried: the case has no shape that is cheap enough";
    return {{{"edge", "property", why}, "none"}};
  }
  if (definition.model) {
    const auto finding = headroom_finding(session, definition, *shape, precision);
    return finding ? std::vector<EdgeFinding>{{*finding, shape->name}} : std::vector<EdgeFinding>{};
  }
  // Compiled, or answers given, for these inputs alone.
  if (!definition.opaque.empty() || definition.expected) return {};
  EdgeTrials trials(session, definition, precision);
  trials.fills(*shape);
  trials.patterns(*shape);
  trials.layouts(*shape);
  if (const auto longest = long_shape(definition)) trials.shape("long reduction", *longest);
  if (!definition.dims.empty()) trials.shape("single elements", single_shape(definition));
  for (const auto& empty : empty_shapes(definition)) trials.empty(empty);
  return trials.take();
}

}  // namespace ampgate::validate
