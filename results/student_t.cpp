#include "results/student_t.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace ampgate::results {
namespace {

// Continued fraction of the incomplete beta function (Abramowitz and Stegun, Handbook of Mathematical
// Functions, 26.5.8), by Lentz's method. Converges fast for x < (a + 1) / (a + b + 2).
double beta_fraction(double x, double a, double b) {
  constexpr double kTiny = 1e-300;
  const auto away_from_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double result = d;
  for (int m = 1; m < 10000; ++m) {
    for (const bool even : {true, false}) {
      const double at = a + 2.0 * m;
      const double numerator =
          even ? m * (b - m) * x / ((at - 1) * at) : -(a + m) * (a + b + m) * x / (at * (at + 1));
      d = 1 / away_from_zero(1 + numerator * d);
      c = away_from_zero(1 + numerator / c);
      result *= c * d;
    }
    if (std::abs(c * d - 1) < 1e-15) break;
  }
  return result;
}

// I_x(a, b), given x and 1 - x, so that neither loses digits.
double incomplete_beta(double x, double rest, double a, double b) {
  if (x <= 0) return 0;
  if (rest <= 0) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log(rest));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(x, a, b) / a;
  return 1 - front * beta_fraction(rest, b, a) / b;
}

// P(|T| > t): Abramowitz and Stegun, 26.7.1 and 26.5.27.
double probability_beyond(double t, double degrees) {
  const double square = t * t;
  return incomplete_beta(degrees / (degrees + square), square / (degrees + square), degrees / 2, 0.5);
}

}  // namespace

double student_t(double level, double degrees) {
  if (!(level > 0 && level < 1) || !(degrees >= 1)) {
    throw std::invalid_argument("Student's t needs a level inside (0, 1) and at least one degree of freedom");
  }
  double low = 0;
  double high = 1;
  while (high < 1e15 && probability_beyond(high, degrees) > 1 - level) high *= 2;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (probability_beyond(middle, degrees) > 1 - level ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace ampgate::results
