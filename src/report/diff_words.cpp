// A difference is told as the reader would say it: percent while it is small, "2.2 times as long" when it is not.
#include "report/diff_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "report/kernel_name.h"
#include "report/numbers.h"
#include "report/text.h"

namespace stepscope {
namespace {

// From here on "times" says more than percent.
constexpr double kManyTimes = 1.5;

std::string percent_number(double ratio, double smallest) {
  const double percent = std::abs(ratio) * 100;
  const int decimals = smallest * 100 < 0.1 ? 2 : smallest * 100 < 10 ? 1 : 0;
  return fmt::format("{:.{}f}", percent, decimals);
}

std::string signed_percent(double ratio) {
  return fmt::format("{}{}", ratio < 0 ? '-' : '+', percent_number(ratio, std::max(std::abs(ratio), 0.001)));
}

std::string times_words(double times) {
  if (times < 9.95) return fmt::format("{:.1f}", times);
  return fmt::format("{:.0f}", times);
}

// "44.9 ms instead of 43.5 ms"
std::string step_words(const RankDifference& rank) {
  const DurationNs change = std::abs(rank.after.median_ns - rank.before.median_ns);
  const auto format = DurationFormat::pick(std::max(rank.after.median_ns, rank.before.median_ns), change);
  return fmt::format("{} instead of {}", format.text(rank.after.median_ns), format.text(rank.before.median_ns));
}

std::string slower_words(const RankDifference& rank) {
  const double ratio = *rank.step.ratio;
  const ConfidenceInterval& interval = *rank.step.interval;
  if (ratio >= kManyTimes) {
    return fmt::format("B takes {} times as long: a step takes {} ({} to {} times).", times_words(ratio),
                       step_words(rank), times_words(interval.low), times_words(interval.high));
  }
  const double least = std::max(interval.low - 1, 0.0);
  return fmt::format("B is {} % slower: a step takes {} ({} to {} %).", percent_number(ratio - 1, ratio - 1),
                     step_words(rank), percent_number(least, ratio - 1), percent_number(interval.high - 1, ratio - 1));
}

std::string faster_words(const RankDifference& rank) {
  const double ratio = *rank.step.ratio;
  const ConfidenceInterval& interval = *rank.step.interval;
  if (1 / ratio >= kManyTimes) {
    return fmt::format("B is {} times as fast: a step takes {} ({} to {} times).", times_words(1 / ratio),
                       step_words(rank), times_words(1 / interval.high), times_words(1 / interval.low));
  }
  const double least = std::max(1 - interval.high, 0.0);
  return fmt::format("B is {} % faster: a step takes {} ({} to {} %).", percent_number(1 - ratio, 1 - ratio),
                     step_words(rank), percent_number(least, 1 - ratio), percent_number(1 - interval.low, 1 - ratio));
}

std::string no_difference_words(const RankDifference& rank) {
  const ConfidenceInterval& interval = *rank.step.interval;
  return fmt::format("No difference can be told: a step takes {} ({} to {} %).", step_words(rank),
                     signed_percent(interval.low - 1), signed_percent(interval.high - 1));
}

// What the steps are too noisy to show, the GPU's own time may; not where they are too few to tell anything.
std::string busy_words(const RankDifference& rank) {
  if (!rank.gpu_work.is_told || rank.gpu_work.before_ns <= 0) return "";
  const double ratio = static_cast<double>(rank.gpu_work.after_ns) / static_cast<double>(rank.gpu_work.before_ns) - 1;
  const auto format = DurationFormat::pick(rank.gpu_work.after_ns, std::abs(rank.gpu_work.difference_ns()));
  const std::string change = ratio + 1 >= kManyTimes ? times_words(ratio + 1) + " times as long"
                                                     : fmt::format("{} % {}", percent_number(ratio, std::abs(ratio)),
                                                                   ratio > 0 ? "longer" : "less");
  return fmt::format(" But the GPU works {} in every step: {} instead of {}.", change,
                     format.text(rank.gpu_work.after_ns), format.text(rank.gpu_work.before_ns));
}

std::string count_words(double count) {
  return std::abs(count - std::round(count)) < 0.005 ? show_count(std::llround(count)) : fmt::format("{:.1f}", count);
}

std::string calls_words(double count) {
  const std::string words = count_words(count);
  return words + (words == "1" ? " call" : " calls");
}

}  // namespace

std::string_view compare_verdict_name(CompareVerdict verdict) {
  switch (verdict) {
    case CompareVerdict::kTooFew:
      return "too_few";
    case CompareVerdict::kNoDifference:
      return "no_difference";
    case CompareVerdict::kFaster:
      return "faster";
    case CompareVerdict::kSlower:
      return "slower";
  }
  return "";
}

std::string_view compare_unit_name(CompareUnit unit) {
  switch (unit) {
    case CompareUnit::kPairs:
      return "pairs";
    case CompareUnit::kRuns:
      return "runs";
    case CompareUnit::kSteps:
      return "steps";
  }
  return "";
}

std::string_view diff_verdict_name(const RunDifference& difference) {
  return difference.withheld ? "withheld" : compare_verdict_name(difference.typical_rank.step.verdict);
}

std::string diff_answer(const RunDifference& difference) {
  if (difference.withheld) return "No verdict can be given. " + clean_text(*difference.withheld);
  const RankDifference& rank = difference.typical_rank;
  if (difference.is_same_recording) {
    const auto format = DurationFormat::pick(rank.after.median_ns, rank.after.median_ns);
    return fmt::format("Both sides are the same recording: a step takes {}.", format.text(rank.after.median_ns));
  }
  switch (rank.step.verdict) {
    case CompareVerdict::kSlower:
      return slower_words(rank);
    case CompareVerdict::kFaster:
      return faster_words(rank);
    case CompareVerdict::kNoDifference:
      return no_difference_words(rank) + busy_words(rank);
    case CompareVerdict::kTooFew:
      return fmt::format("Too few steps to tell: a step takes {} ({}).", step_words(rank), rank.step.reason);
  }
  return "";
}

std::string noise_words(const RankDifference& rank) {
  const Comparison& step = rank.step;
  const char* unit = step.unit == CompareUnit::kRuns ? "runs" : "steps";
  std::string words =
      step.base_count == step.other_count
          ? fmt::format("{} {} a side", show_count(step.base_count), unit)
          : fmt::format("{} and {} {}", show_count(step.base_count), show_count(step.other_count), unit);
  if (rank.between_runs_ratio) {
    words += fmt::format("; one run a side does not show how runs differ: {} assumed",
                         show_percent(*rank.between_runs_ratio));
  }
  return words;
}

std::string signed_ms(DurationNs difference_ns, int decimals) {
  const std::string text = fmt::format("{:+.{}f}", static_cast<double>(difference_ns) / 1e6, decimals);
  const bool is_zero = text.find_first_not_of("+-0.") == std::string::npos;
  return is_zero ? text.substr(1) : text;
}

int ms_decimals(const PartChange& whole) {
  const double largest = static_cast<double>(std::max(whole.before_ns, whole.after_ns)) / 1e6;
  return largest >= 1000 ? 0 : largest >= 100 ? 1 : largest >= 1 ? 2 : 4;
}

std::string signed_duration(DurationNs difference_ns) {
  if (difference_ns == 0) return "0 ms";
  return fmt::format("{}{}", difference_ns < 0 ? '-' : '+', show_duration(std::abs(difference_ns)));
}

const WorkIdentity& shown_identity(const WorkDifference& row) {
  const bool is_after_missing = row.match == WorkMatch::kGone || row.after == WorkIdentity{};
  return is_after_missing ? row.before : row.after;
}

KernelClass class_of(const WorkDifference& row) { return shown_identity(row).kernel_class; }

std::string work_change_words(const WorkDifference& row) {
  if (row.match == WorkMatch::kNew) return "new, " + calls_words(row.after_call_count);
  if (row.match == WorkMatch::kGone) return "gone, " + calls_words(row.before_call_count);
  std::string words;
  if (row.match == WorkMatch::kRenamed) words = "another kernel, ";
  if (row.match == WorkMatch::kReshaped) words = "other shapes, ";
  if (row.match == WorkMatch::kMoved) words = "at another place, ";
  if (row.match == WorkMatch::kReplaced) words = "instead of " + clean_text(row.before.operator_name) + ", ";
  if (row.before_call_count <= 0 || row.after_call_count <= 0) return words + "in part";
  if (std::abs(row.by_calls_ns) > std::abs(row.by_time_ns)) {
    return words +
           fmt::format("{} calls instead of {}", count_words(row.after_call_count), count_words(row.before_call_count));
  }
  const double before = static_cast<double>(row.busy.before_ns) / row.before_call_count;
  const double after = static_cast<double>(row.busy.after_ns) / row.after_call_count;
  if (!(before > 0)) return words + calls_words(row.after_call_count);
  const double ratio = after / before;
  if (ratio >= kManyTimes) return words + fmt::format("{} times as long a call", times_words(ratio));
  return words + fmt::format("{} % {} a call", percent_number(ratio - 1, std::max(std::abs(ratio - 1), 0.001)),
                             ratio >= 1 ? "longer" : "shorter");
}

std::string work_name(const WorkIdentity& identity, std::size_t width) {
  const std::string name = clean_text(identity.operator_name), kernel = clean_text(identity.kernel);
  if (kernel.empty()) return shorten_end(name.empty() ? "small rows, together" : name, width);
  if (name.empty()) return fold_kernel_name(kernel, width);
  constexpr std::size_t kLeastKernel = 12;
  const std::size_t used = display_width(name) + 2;
  if (used + kLeastKernel > width) return shorten_end(name, width);
  return name + "  " + fold_kernel_name(kernel, width - used);
}

const WorkDifference* largest_row_of(const RankDifference& rank, const ClassDifference& of) {
  const bool is_slower = of.busy.difference_ns() > 0;
  for (const WorkDifference& row : rank.work) {  // largest difference first
    if (class_of(row) == of.kernel_class && (row.busy.difference_ns() > 0) == is_slower) return &row;
  }
  return nullptr;
}

}  // namespace stepscope
