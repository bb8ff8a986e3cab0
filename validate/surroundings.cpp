#include "validate/surroundings.h"

#include <ATen/ATen.h>

#include "backends/poison_allocator.h"
#include "validate/guarded_state.h"

namespace ampgate::validate {
namespace {

using backends::GuardedSide;
using results::Json;
using results::Verdict;

constexpr std::int64_t kSurroundingBytes = 1 << 20;  // on either side; a multiple of every alignment

// A copy of the tensor between NaN bytes.
at::Tensor between_nan(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return tensor;
  std::int64_t last = 0;
  for (std::int64_t dim = 0; dim < tensor.dim(); ++dim) last += (tensor.size(dim) - 1) * tensor.stride(dim);
  const auto width = static_cast<std::int64_t>(tensor.element_size());
  const std::int64_t bytes = (last + 1) * width + 2 * kSurroundingBytes;
  const at::Tensor memory = at::empty({(bytes + 1) / 2}, tensor.options().dtype(at::kShort));
  memory.fill_(static_cast<std::int16_t>(backends::kPoison));
  at::Tensor copy = at::empty({0}, tensor.options());
  copy.set_(memory.storage(), kSurroundingBytes / width, tensor.sizes(), tensor.strides());
  return copy.copy_(tensor);
}

struct Place {
  Judgement& judgement;
  const Criterion& criterion;
  bool suspect_allowed;

  // What came out at other addresses must be right as well. Gives whether it is.
  bool judge(const TrialRun& run, const cases::Outputs& outputs, const std::string& where) const {
    if (digests_of(outputs) == run.digests) return true;
    const Judgement judged = criterion.judge(outputs);
    if (results::opens_gate(judged.verdict, suspect_allowed)) return true;
    if (!results::opens_gate(judgement.verdict, suspect_allowed))
      return true;  // it is wrong wherever they lie
    judgement.worsen(judged.verdict, "with its inputs " + where + ": " + judged.reason);
    return false;
  }
};

// `run`: the deciding one. The borders are behind the tensors, then before them.
Json on_guarded_pages(const Session& session, const cases::Case& definition,
                      const precision::Precision& precision, const TrialRun& run, const Place& place) {
  Json json{{"check", "guarded pages"}, {"runs", 0}, {"right", true}};
  for (const auto side : {GuardedSide::kEnd, GuardedSide::kBegin}) {
    GuardedState guarded(run.prepared, side);
    TrialRun moved = run;
    moved.prepared = guarded.state();
    const cases::Outputs outputs =
        guarded.run([&] { return run_again(session, definition, moved, precision); });
    json["runs"] = json["runs"].get<int>() + 1;
    json["right"] = place.judge(run, outputs, "at other addresses, between memory full of NaN");
    if (const std::string reached = guarded.reached(); !reached.empty()) {
      place.judgement.worsen(Verdict::kCrashed,
                             "it " + reached + ", which is a segmentation fault where no memory is");
      json["reached"] = reached;
      json["right"] = false;
    }
    if (!json["right"].get<bool>()) break;
  }
  return json;
}

}  // namespace

void judge_surroundings(const Session& session, const cases::Case& definition,
                        const precision::Precision& precision, const TrialRun& run,
                        const Criterion& criterion, Json& accuracy, Json& absent, Judgement& judgement) {
  if (!run.written.empty()) {
    absent["surroundings"] = "the run writes to its own tensors";
    return;
  }
  const Place place{judgement, criterion, session.rules.suspect_opens_gate};
  if (!session.backend.device().is_cpu()) {
    TrialRun moved = run;
    for (auto& entry : moved.prepared.tensors) entry.tensor = between_nan(entry.tensor);
    const bool right =
        place.judge(run, run_again(session, definition, moved, precision), "between memory full of NaN");
    accuracy["surroundings"] = {{"check", "NaN"}, {"runs", 1}, {"right", right}};
    return;
  }
  try {
    accuracy["surroundings"] = on_guarded_pages(session, definition, precision, run, place);
  } catch (const backends::NoRoom& problem) {
    absent["surroundings"] = problem.what();
  }
}

}  // namespace ampgate::validate
