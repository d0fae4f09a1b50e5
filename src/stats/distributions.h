// Quantiles of the normal and of Student's t distribution, which intervals of small samples need.
//
// Found by bisection of the distribution function: a few microseconds, a handful of times a comparison. For whole
// degrees of freedom Student's function is a finite sum (Abramowitz and Stegun 26.7.3 and 26.7.4), so neither the
// incomplete beta function nor a library for it is needed.
#pragma once

#include <cstdint>

namespace stepscope {

[[nodiscard]] double normal_cdf(double z);
// `probability` in (0, 1).
[[nodiscard]] double normal_quantile(double probability);

// `freedom_count` at least 1; above 1,000 the normal distribution, from which it differs by less than 0.2 % there.
[[nodiscard]] double student_cdf(double t, std::int64_t freedom_count);
[[nodiscard]] double student_quantile(double probability, std::int64_t freedom_count);

}  // namespace stepscope
