// What a trial failed by, for whoever takes that again.
#pragma once

#include "results/rules.h"
#include "validate/judgement.h"
#include "validate/training/isolation.h"
#include "validate/training/watched_run.h"

namespace ampgate::validate {

// What a failing trial failed by, as it was judged stage by stage: the last one that made its verdict.
class Cause {
 public:
  explicit Cause(const Judgement& judgement) : judgement_(judgement) {}
  void after(Trouble::Kind kind) {
    if (judgement_.verdict == before_) return;
    before_ = judgement_.verdict;
    kind_ = kind;
  }
  Trouble::Kind kind() const { return kind_; }

 private:
  const Judgement& judgement_;
  results::Verdict before_ = results::Verdict::kPass;
  Trouble::Kind kind_ = Trouble::Kind::kSteps;
};

// `gradient`: the state of the shadow step that failed; may be null. `skips_too_often`: by their share.
Trouble trouble_of(const results::Rules::Training& rules, Trouble::Kind kind, const WatchedRun& watched,
                   const cases::Checkpoint* gradient, bool skips_too_often);

// At the first step whose update changed nothing: are the gradients zero, and no larger scale revives them?
bool has_nothing_to_learn(const TrainingSetup& setup, const Way& way, const WatchedRun& watched);

}  // namespace ampgate::validate
