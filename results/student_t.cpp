#include "results/student_t.h"

#include <cmath>
#include <numbers>
#include <stdexcept>

namespace ampgate::results {
namespace {

// P(|T| <= t): Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 (odd degrees) and 26.7.4
// (even).
double probability_within(double t, int degrees) {
  const double theta = std::atan(t / std::sqrt(degrees));
  const double cosine = std::cos(theta);
  const bool odd = degrees % 2 == 1;
  double term = odd ? cosine : 1;
  double sum = degrees == 1 ? 0 : term;
  for (int k = odd ? 3 : 2; k <= degrees - 2; k += 2) {
    term *= cosine * cosine * (k - 1) / k;
    sum += term;
  }
  sum *= std::sin(theta);
  return odd ? 2 / std::numbers::pi * (theta + sum) : sum;
}

}  // namespace

double student_t(double level, int degrees) {
  if (!(level > 0 && level < 1) || degrees < 1) {
    throw std::invalid_argument("Student's t needs a level inside (0, 1) and at least one degree of freedom");
  }
  double low = 0;
  double high = 1;
  while (high < 1e15 && probability_within(high, degrees) < level) high *= 2;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (probability_within(middle, degrees) < level ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace ampgate::results
