// Quantiles of Student's t distribution.
#pragma once

namespace ampgate::results {

// The t with P(|T| <= t) = level for `degrees` >= 1 degrees of freedom: 4.303 for 0.95 and 2.
// Throws std::invalid_argument for a level outside (0, 1) or degrees below 1.
double student_t(double level, int degrees);

}  // namespace ampgate::results
