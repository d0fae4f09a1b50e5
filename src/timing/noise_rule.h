// When to stop sampling: when the noise is small, or when more samples do not make it smaller.
//
// Noise is standard deviation over mean. A kernel whose times scatter by nature never gets under a limit; its noise,
// computed after each sample, settles instead. The constants are nvbench's (stdrel criterion): the last 512 values of
// the noise, at least 64 of them, looked at every 16th sample, settled when their own deviation is under 5% of their
// mean.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace stepscope {

class NoiseRule {
 public:
  explicit NoiseRule(double max_noise_ratio) : max_noise_ratio_(max_noise_ratio) {}

  void add(double sample);
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] double mean() const { return mean_; }
  // Of the sample (n - 1). Missing with fewer than 2 samples, the ratio also when the mean is 0.
  [[nodiscard]] std::optional<double> standard_deviation() const;
  [[nodiscard]] std::optional<double> noise_ratio() const;

  [[nodiscard]] bool is_small() const;
  [[nodiscard]] bool is_stable() const;

 private:
  double max_noise_ratio_;
  std::int64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;  // sum of squared distances from the mean (Welford)
  std::vector<double> history_;
  std::size_t next_ = 0;  // place of the next value once history_ is full
};

}  // namespace stepscope
