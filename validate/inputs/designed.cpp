#include "validate/inputs/designed.h"

#include "validate/inputs/every_value.h"
#include "validate/inputs/exact_judge.h"

namespace ampgate::validate {

void judge_designed_inputs(const CaseSetup& setup, const precision::Precision& precision,
                           results::Json& accuracy, results::Json& absent, Judgement& judgement) {
  const auto add = [&](const char* name, results::Json answer) {
    results::Json& object = answer.is_string() ? absent : accuracy;
    object[name] = std::move(answer);
  };
  if (setup.definition.model) {
    for (const char* name : {"exact_integers", "every_value"}) add(name, "not for models");
    return;
  }
  add("exact_integers", judge_exact_integers(setup, precision, judgement));
  add("every_value", judge_every_value(setup, precision, judgement));
}

}  // namespace ampgate::validate
