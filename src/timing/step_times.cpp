// What StepTimes says about its numbers, and its text.
//
// The median is an element of the sample (n / 2 of the sorted ones) and not the mean of two: it is a step that
// happened. That element lies at n / 2, and the interpolated p90 at 0.9 * (n - 1): below it where n is 2, and nowhere
// else. Rejected: elements for p10 and p90 too, which would no longer be the percentiles of `stepscope report`.
#include <algorithm>

#include "stats/outliers.h"
#include "stats/quantiles.h"
#include "stepscope/step_timer.h"
#include "timing/time_text.h"

namespace stepscope {
namespace {

constexpr std::size_t kColumns = 80;

std::optional<std::int64_t> upper_median(std::vector<std::int64_t> sample) {
  if (sample.empty()) return std::nullopt;
  const auto middle = sample.begin() + static_cast<std::ptrdiff_t>(sample.size() / 2);
  std::nth_element(sample.begin(), middle, sample.end());
  return *middle;
}

std::optional<std::int64_t> p90_of(const std::vector<std::int64_t>& sample) {
  const std::optional<std::int64_t> interpolated = quantile_ns(sample, 0.9);
  if (!interpolated) return std::nullopt;
  return std::max(*interpolated, *upper_median(sample));
}

std::string show(std::int64_t ns) { return show_time(static_cast<double>(ns)); }

std::string spread_line(const char* what, std::int64_t median_ns, std::int64_t p10_ns, std::int64_t p90_ns) {
  return std::string("  ") + what + "  median " + show(median_ns) + ", p10 " + show(p10_ns) + ", p90 " + show(p90_ns);
}

// The longest ones, in the order in which they happened.
std::vector<StepOutlier> longest_of(std::vector<StepOutlier> outliers, std::size_t most) {
  if (outliers.size() <= most) return outliers;
  std::stable_sort(outliers.begin(), outliers.end(),
                   [](const StepOutlier& a, const StepOutlier& b) { return a.duration_ns > b.duration_ns; });
  outliers.resize(most);
  std::sort(outliers.begin(), outliers.end(),
            [](const StepOutlier& a, const StepOutlier& b) { return a.step < b.step; });
  return outliers;
}

// "step 7: 97.10 ms, step 12: 66.00 ms" in lines, broken between steps only.
std::string outlier_lines(const StepTimes& times, std::size_t most) {
  const std::vector<StepOutlier> shown = longest_of(times.outliers, most);
  std::vector<std::string> items;
  items.reserve(shown.size() + 1);
  for (const StepOutlier& outlier : shown) {
    items.push_back("step " + std::to_string(outlier.step) + ": " + show(outlier.duration_ns));
  }
  if (shown.size() < times.outliers.size()) {
    items.push_back("and " + std::to_string(times.outliers.size() - shown.size()) + " shorter");
  }
  std::string text = "  " + show_counted(times.outliers.size(), "outlier", "outliers") + ", at least " +
                     show_fixed(kOutlierRatio, 1) + " times the " + show(times.typical_ns) + " of the others:\n";
  std::string line = "   ";
  for (std::size_t index = 0; index < items.size(); ++index) {
    const std::string item = items[index] + (index + 1 < items.size() ? "," : "");
    if (line.size() + 1 + item.size() > kColumns) {
      text += line + "\n";
      line = "   ";
    }
    line += " " + item;
  }
  return text + line + "\n";
}

}  // namespace

std::int64_t StepTimes::median_ns() const { return upper_median(steps_ns).value_or(0); }
std::int64_t StepTimes::p10_ns() const { return quantile_ns(steps_ns, 0.1).value_or(0); }
std::int64_t StepTimes::p90_ns() const { return p90_of(steps_ns).value_or(0); }
std::optional<std::int64_t> StepTimes::data_median_ns() const { return upper_median(data_ns); }
std::optional<std::int64_t> StepTimes::data_p10_ns() const { return quantile_ns(data_ns, 0.1); }
std::optional<std::int64_t> StepTimes::data_p90_ns() const { return p90_of(data_ns); }

std::string StepTimes::to_string(std::size_t most_outliers) const {
  std::string text = show_counted(steps_ns.size(), "step", "steps") + " after " +
                     show_counted(warmup_ns.size(), "warm-up step", "warm-up steps") + ", clock " + clock +
                     (waited_for_each ? "" : ", deferred") + "\n";
  text += spread_line("step", median_ns(), p10_ns(), p90_ns()) + "\n";
  if (const auto data = data_median_ns()) {
    text += spread_line("data", *data, *data_p10_ns(), *data_p90_ns()) + " (host, before the step)\n";
  }
  if (!outliers.empty()) text += outlier_lines(*this, most_outliers);
  for (const std::string& sentence : warnings) text += show_warning(sentence);
  return text;
}

}  // namespace stepscope
