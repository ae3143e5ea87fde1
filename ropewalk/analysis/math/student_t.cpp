#include "ropewalk/analysis/math/student_t.h"

#include <cmath>
#include <limits>

namespace ropewalk {
namespace {

// Regularised incomplete beta I_x(a, b) by its continued fraction (DLMF 8.17.22), modified Lentz.
double continued_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  double c = 1;
  double d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::abs(d) < kTiny ? kTiny : d);
  double value = d;
  for (int m = 1; m <= 500; ++m) {
    const double steps[2] = {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                             -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))};
    double change = 1;
    for (const double step : steps) {
      d = 1 + step * d;
      d = 1 / (std::abs(d) < kTiny ? kTiny : d);
      c = 1 + step / c;
      if (std::abs(c) < kTiny) c = kTiny;
      change = c * d;
      value *= change;
    }
    if (std::abs(change - 1) < 1e-15) break;
  }
  return value;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  // The fraction converges fast on this side of the mean; the other side follows by symmetry.
  if (x < (a + 1) / (a + b + 2)) return front * continued_fraction(a, b, x) / a;
  return 1 - front * continued_fraction(b, a, 1 - x) / b;
}

}  // namespace

double student_t_cdf(double t, double df) {
  if (std::isnan(t)) return t;
  const double tail = incomplete_beta(df / 2, 0.5, df / (df + t * t)) / 2;
  return t > 0 ? 1 - tail : tail;
}

double student_t_95(double df) {
  if (df < 1) return std::numeric_limits<double>::infinity();
  double low = 1.9;  // below the normal limit of 1.96
  double high = 13;  // above the 12.71 of df = 1
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (student_t_cdf(middle, df) < 0.975 ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace ropewalk
