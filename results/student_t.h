// Quantiles of Student's t distribution.
#pragma once

namespace ampgate::results {

// The t with P(|T| <= t) = level for `degrees` of freedom, at least 1 and not always whole: 4.303 for 0.95
// and 2. Throws std::invalid_argument for a level outside (0, 1) or degrees below 1.
double student_t(double level, double degrees);

}  // namespace ampgate::results
