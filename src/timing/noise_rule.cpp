// Running mean and deviation (Welford), and a ring of the noise values seen last.
#include "timing/noise_rule.h"

#include <cmath>

namespace stepscope {
namespace {
constexpr std::size_t kHistoryCount = 512;
constexpr std::size_t kMinHistoryCount = 64;
constexpr std::int64_t kLookEvery = 16;
constexpr double kStableRatio = 0.05;
}  // namespace

void NoiseRule::add(double sample) {
  ++count_;
  const double before = sample - mean_;
  mean_ += before / static_cast<double>(count_);
  squares_ += before * (sample - mean_);
  const std::optional<double> noise = noise_ratio();
  if (!noise) return;
  if (history_.size() < kHistoryCount) {
    history_.push_back(*noise);
  } else {
    history_[next_] = *noise;
    next_ = (next_ + 1) % kHistoryCount;
  }
}

std::optional<double> NoiseRule::standard_deviation() const {
  if (count_ < 2) return std::nullopt;
  return std::sqrt(squares_ / static_cast<double>(count_ - 1));
}

std::optional<double> NoiseRule::noise_ratio() const {
  const std::optional<double> deviation = standard_deviation();
  if (!deviation || mean_ == 0) return std::nullopt;
  return *deviation / std::abs(mean_);
}

bool NoiseRule::is_small() const {
  const std::optional<double> noise = noise_ratio();
  return noise && *noise < max_noise_ratio_;
}

bool NoiseRule::is_stable() const {
  if (history_.size() <= kMinHistoryCount || count_ % kLookEvery != 0) return false;
  double sum = 0;
  for (double noise : history_) sum += noise;
  const double mean = sum / static_cast<double>(history_.size());
  double squares = 0;
  for (double noise : history_) squares += (noise - mean) * (noise - mean);
  return std::sqrt(squares / static_cast<double>(history_.size() - 1)) < kStableRatio * mean;
}

}  // namespace stepscope
