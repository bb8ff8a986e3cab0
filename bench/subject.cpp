#include "bench/subject.h"

#include "bench/inference_subject.h"
#include "bench/output_check.h"
#include "bench/training_subject.h"

namespace ampgate::bench {

std::string missing_check(const Common& common, const Trial& trial) {
  return common.definition.training ? missing_steps(trial.evidence)
                                    : missing_outputs(common.definition, trial.evidence);
}

std::unique_ptr<Subject> make_subject(const Common& common, const Trial& trial,
                                      const backends::Backend& backend) {
  if (common.definition.training) return std::make_unique<TrainingSubject>(common, trial, backend);
  return std::make_unique<InferenceSubject>(common, trial, backend);
}

}  // namespace ampgate::bench
