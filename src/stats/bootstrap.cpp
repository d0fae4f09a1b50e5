// A resample is never built: draws are counted by rank, and the median is found by walking the counts, 2 ns a draw.
#include "stats/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stats/distributions.h"
#include "stats/quantiles.h"
#include "stats/random.h"

namespace stepscope {
namespace {

constexpr std::size_t kMostDraws = 20'000'000;  // 0.1 s
constexpr std::size_t kLeastResamples = 1000;   // below, the ends themselves are noise: 0.5 % of probability
constexpr std::size_t kMostValues = kMostDraws / kLeastResamples;

std::vector<std::uint32_t> sort_order(std::span<const double> sample) {
  std::vector<std::uint32_t> order(sample.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return sample[a] < sample[b]; });
  return order;
}

// Medians of resamples of one sample.
class Resampler {
 public:
  Resampler(std::span<const double> sample, std::size_t block_length)
      : block_length_(std::clamp<std::size_t>(block_length, 1, sample.size())),
        place_(sample.size()),
        counts_(sample.size()) {
    const auto order = sort_order(sample);
    sorted_.reserve(sample.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      place_[order[i]] = i;
      sorted_.push_back(sample[order[i]]);
    }
  }

  double draw_median(Random& random) {
    std::fill(counts_.begin(), counts_.end(), 0U);
    const auto count = static_cast<std::uint32_t>(place_.size());
    if (block_length_ == 1) {
      for (std::uint32_t drawn = 0; drawn < count; ++drawn) ++counts_[random.below(count)];
    } else {
      for (std::size_t drawn = 0; drawn < count; drawn += block_length_) {
        count_block(random.below(count), std::min(block_length_, count - drawn));
      }
    }
    return median_of_counts();
  }

 private:
  void count_block(std::size_t at, std::size_t length) {
    for (; length > 0; --length) {
      ++counts_[place_[at]];
      if (++at == place_.size()) at = 0;
    }
  }

  [[nodiscard]] double median_of_counts() const {
    const std::size_t lower_rank = (place_.size() - 1) / 2, upper_rank = place_.size() / 2;
    std::size_t seen = 0, i = 0;
    while ((seen += counts_[i]) <= lower_rank) ++i;
    const double lower = sorted_[i];
    while (seen <= upper_rank) seen += counts_[++i];
    return lower + (sorted_[i] - lower) / 2;
  }

  std::size_t block_length_;
  std::vector<std::uint32_t> place_;  // of each value, in sorted order
  std::vector<std::uint32_t> counts_;
  std::vector<double> sorted_;
};

std::size_t resamples_for(std::size_t value_count, std::size_t asked) {
  const std::size_t affordable = std::max(kLeastResamples, kMostDraws / std::max<std::size_t>(value_count, 1));
  return std::max<std::size_t>(std::min(asked, affordable), 1);
}

// Very long samples: neighbours are joined to their median, so that the work stays bounded.
std::vector<double> join_neighbours(std::span<const double> sample, std::size_t& block_length) {
  if (sample.size() <= kMostValues) return {sample.begin(), sample.end()};
  const std::size_t group = (sample.size() + kMostValues - 1) / kMostValues;
  std::vector<double> joined;
  for (std::size_t at = 0; at < sample.size(); at += group) {
    joined.push_back(*quantile(sample.subspan(at, std::min(group, sample.size() - at)), 0.5));
  }
  block_length = (block_length + group - 1) / group;
  return joined;
}

// The ends that leave `tail` of the replicates outside on either side.
ConfidenceInterval take_ends(std::vector<double>& replicates, double tail) {
  std::sort(replicates.begin(), replicates.end());
  const auto count = replicates.size();
  const auto rank = static_cast<std::size_t>(std::floor(tail * static_cast<double>(count + 1)));
  const std::size_t outside = std::min(rank == 0 ? 0 : rank - 1, (count - 1) / 2);
  return {replicates[outside], replicates[count - 1 - outside]};
}

// Blocks are few, and what is guessed from few is guessed too narrow: the ends of a ratio move out as those of a
// median.
double tail_of_ratio(std::size_t base_count, std::size_t other_count, bool has_blocks, double confidence_ratio) {
  if (!has_blocks) return (1 - confidence_ratio) / 2;
  return normal_cdf(-expanded_quantile(confidence_ratio, std::min(base_count, other_count)));
}

bool is_enough(std::size_t value_count, std::size_t block_length, double confidence_ratio) {
  return value_count / std::max<std::size_t>(block_length, 1) >= least_sample_count(confidence_ratio);
}

}  // namespace

std::size_t least_sample_count(double confidence_ratio) {
  const double outside = std::max(1 - confidence_ratio, 1e-12);
  return static_cast<std::size_t>(std::ceil(1 - std::log2(outside) - 1e-9));
}

double expanded_quantile(double confidence_ratio, std::size_t sample_count) {
  const auto n = static_cast<double>(sample_count);
  return std::sqrt(n / (n - 1)) *
         student_quantile(0.5 + confidence_ratio / 2, static_cast<std::int64_t>(sample_count) - 1);
}

std::optional<ConfidenceInterval> bootstrap_median(std::span<const double> sample, const BootstrapOptions& options) {
  if (!is_enough(sample.size(), options.block_length, options.confidence_ratio)) return std::nullopt;
  std::size_t block_length = options.block_length;
  const std::vector<double> values = join_neighbours(sample, block_length);
  Resampler resampler(values, block_length);
  Random random(options.seed);
  std::vector<double> medians(resamples_for(values.size(), options.resample_count));
  for (double& median : medians) median = resampler.draw_median(random);
  const std::size_t independent = values.size() / std::max<std::size_t>(block_length, 1);
  return take_ends(medians, normal_cdf(-expanded_quantile(options.confidence_ratio, independent)));
}

std::optional<ConfidenceInterval> bootstrap_median_ratio(std::span<const double> base, std::span<const double> other,
                                                         const BootstrapOptions& options, std::size_t base_block,
                                                         std::size_t other_block) {
  if (!is_enough(base.size(), base_block, options.confidence_ratio)) return std::nullopt;
  if (!is_enough(other.size(), other_block, options.confidence_ratio)) return std::nullopt;
  const std::vector<double> base_values = join_neighbours(base, base_block);
  const std::vector<double> other_values = join_neighbours(other, other_block);
  base_block = std::max<std::size_t>(base_block, 1);
  other_block = std::max<std::size_t>(other_block, 1);
  Resampler base_resampler(base_values, base_block), other_resampler(other_values, other_block);
  Random random(options.seed);
  std::vector<double> ratios(resamples_for(std::max(base_values.size(), other_values.size()), options.resample_count));
  for (double& ratio : ratios) {
    const double below = base_resampler.draw_median(random);
    ratio = other_resampler.draw_median(random) / below;
  }
  return take_ends(ratios, tail_of_ratio(base_values.size() / base_block, other_values.size() / other_block,
                                         std::max(base_block, other_block) > 1, options.confidence_ratio));
}

std::vector<double> rank_values(std::span<const double> sample) {
  const auto order = sort_order(sample);
  std::vector<double> ranks(sample.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && sample[order[end]] == sample[order[begin]]) ++end;
    const double rank = static_cast<double>(begin + end + 1) / 2;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = rank;
    begin = end;
  }
  return ranks;
}

std::size_t choose_block_length(std::span<const double> sample) {
  const std::vector<double> ranks = rank_values(sample);
  const auto n = static_cast<double>(ranks.size());
  const double mean = (n + 1) / 2;
  double together = 0, alone = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    alone += (ranks[i] - mean) * (ranks[i] - mean);
    if (i > 0) together += (ranks[i] - mean) * (ranks[i - 1] - mean);
  }
  if (alone <= 0) return 1;
  const double likeness = std::clamp(together / alone, 0.0, 0.99);
  const double apart = 1 - likeness * likeness;
  const double length = std::cbrt(6 * likeness * likeness / (apart * apart) * n);
  return std::clamp<std::size_t>(static_cast<std::size_t>(std::ceil(length)), 1,
                                 std::max<std::size_t>(ranks.size(), 1));
}

}  // namespace stepscope
