// See the header for why sums and bisection are enough.
#include "stats/distributions.h"

#include <cmath>
#include <numbers>

namespace stepscope {
namespace {

constexpr std::int64_t kMostFreedom = 1000;

// P(|T| < t), by the sum for odd or even degrees of freedom.
double student_within(double t, std::int64_t freedom) {
  const double angle = std::atan(t / std::sqrt(static_cast<double>(freedom)));
  const double cosine = std::cos(angle), squared = cosine * cosine;
  const bool odd = freedom % 2 != 0;
  double term = odd ? cosine : 1.0, sum = freedom > 1 ? term : 0.0;
  for (std::int64_t k = odd ? 3 : 2; k < freedom; k += 2) {
    term *= squared * static_cast<double>(k - 1) / static_cast<double>(k);
    sum += term;
  }
  if (!odd) return std::sin(angle) * sum;
  return 2 / std::numbers::pi * (angle + std::sin(angle) * sum);
}

// The point where the rising `cdf` meets `probability`; 200 halvings reach the last bit of a double.
template <class Cdf>
double bisect(double probability, Cdf&& cdf) {
  double low = -1, high = 1;
  while (cdf(low) > probability && low > -1e300) low *= 2;
  while (cdf(high) < probability && high < 1e300) high *= 2;
  for (int i = 0; i < 200; ++i) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    (cdf(middle) < probability ? low : high) = middle;
  }
  return high;
}

}  // namespace

double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

double normal_quantile(double probability) { return bisect(probability, normal_cdf); }

double student_cdf(double t, std::int64_t freedom_count) {
  if (freedom_count > kMostFreedom) return normal_cdf(t);
  const double within = student_within(std::fabs(t), freedom_count);
  return t < 0 ? 0.5 - within / 2 : 0.5 + within / 2;
}

double student_quantile(double probability, std::int64_t freedom_count) {
  return bisect(probability, [&](double t) { return student_cdf(t, freedom_count); });
}

}  // namespace stepscope
