// Samples are checked once, where they come in; everything after that is order statistics on a sorted copy.
//
// The two IQR limits and the 25 ns are torch.utils.benchmark's, so that a warning there is a warning here.
#include "stepscope/measurement.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "stats/spread.h"
#include "timing/time_text.h"

namespace stepscope {
namespace {

constexpr double kWarnRatio = 0.1;
constexpr double kGrossWarnRatio = 0.25;
constexpr double kLeastIntervalNs = 25;
// Fewer have no quarters to speak of.
constexpr std::size_t kFewestForIqr = 4;

Error bad_measurement(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message), ""}; }

}  // namespace

std::string TaskSpec::title() const {
  const std::string& name = label.empty() ? statement : label;
  if (name.empty()) return sub_label;
  if (sub_label.empty()) return name;
  if (name.find('\n') != std::string::npos) return name + "\n(" + sub_label + ")";
  return name + ": " + sub_label;
}

std::string TaskSpec::row_name() const {
  if (!sub_label.empty()) return sub_label;
  return statement.empty() ? "[unknown]" : statement;
}

Result<Measurement> Measurement::make(TaskSpec task, std::vector<double> raw_times_ns, std::int64_t number_per_run,
                                      std::vector<std::string> notes) {
  if (raw_times_ns.empty()) return bad_measurement("a measurement needs at least one time");
  if (number_per_run < 1) return bad_measurement("a measurement needs at least one run a block");
  for (const double time_ns : raw_times_ns) {
    if (!std::isfinite(time_ns) || time_ns < 0) return bad_measurement("a time of a measurement is no time");
  }
  Measurement made;
  made.task_ = std::move(task);
  made.number_per_run_ = number_per_run;
  made.raw_times_ns_ = std::move(raw_times_ns);
  made.sorted_ns_ = made.times_ns();
  std::sort(made.sorted_ns_.begin(), made.sorted_ns_.end());
  made.notes_ = std::move(notes);
  return made;
}

std::vector<double> Measurement::times_ns() const {
  std::vector<double> times = raw_times_ns_;
  for (double& time_ns : times) time_ns /= static_cast<double>(number_per_run_);
  return times;
}

double Measurement::mean_ns() const { return mean(sorted_ns_).value_or(0); }

double Measurement::percentile_ns(double percent) const {
  const double q = percent > 0 ? std::min(percent / 100, 1.0) : 0;
  return sorted_quantile(sorted_ns_, q).value_or(0);
}

int Measurement::significant_figures() const {
  return stepscope::significant_figures(sorted_ns_, kLeastIntervalNs).value_or(1);
}

bool Measurement::meets_confidence(double threshold) const { return spread_is_under(sorted_ns_, threshold); }

std::vector<std::string> Measurement::warnings() const {
  std::vector<std::string> sentences = notes_;
  if (meets_confidence(kWarnRatio)) return sentences;
  const std::string size = median_ns() > 0 ? "The IQR is " + show_ratio(iqr_ns() / median_ns()) + " of the median: "
                                           : std::string("The median is 0 and the IQR is not: ");
  sentences.push_back(size + (meets_confidence(kGrossWarnRatio) ? "the times fluctuate."
                                                                : "something beside the code decides these times."));
  return sentences;
}

std::string Measurement::to_string() const {
  const std::size_t count = sorted_ns_.size();
  const TimeUnit unit = TimeUnit::pick(median_ns());
  const auto number = [&](double ns) { return show_fixed(ns / unit.ns, 2); };
  std::string text;
  if (!task_.title().empty()) text += task_.title() + "\n";
  if (!task_.description.empty()) text += task_.description + "\n";
  if (!task_.env.empty()) text += "env: " + task_.env + "\n";
  if (!task_.setup.empty()) {
    const bool many_lines = task_.setup.find('\n') != std::string::npos;
    text += many_lines ? "setup:\n" + indented(task_.setup, "  ") + "\n" : "setup: " + task_.setup + "\n";
  }
  text += std::string("  ") + (count > 1 ? "Median: " : "") + number(median_ns()) + " " + unit.symbol + "\n";
  if (count >= kFewestForIqr) {
    text += "  IQR:    " + number(iqr_ns()) + " " + unit.symbol + " (" + number(percentile_ns(25)) + " to " +
            number(percentile_ns(75)) + ")\n";
  }
  text += "  " + show_counted(count, "measurement", "measurements") + ", " +
          show_counted(static_cast<std::size_t>(number_per_run_), "run", "runs") + (count > 1 ? " each" : "");
  if (task_.num_threads > 0) {
    text += ", " + show_counted(static_cast<std::size_t>(task_.num_threads), "thread", "threads");
  }
  text += "\n";
  for (const std::string& sentence : warnings()) text += show_warning(sentence);
  text.pop_back();
  return text;
}

std::vector<Measurement> merge_measurements(const std::vector<Measurement>& measurements) {
  std::vector<std::vector<const Measurement*>> groups;
  std::map<TaskSpec, std::size_t> group_of_task;
  for (const Measurement& each : measurements) {
    const auto [at, is_new] = group_of_task.emplace(each.task(), groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].push_back(&each);
  }
  std::vector<Measurement> merged;
  for (const auto& group : groups) {
    if (group.size() == 1) {
      merged.push_back(*group.front());
      continue;
    }
    std::vector<double> times_ns;
    std::vector<std::string> notes;
    for (const Measurement* member : group) {
      const std::vector<double> more = member->times_ns();
      times_ns.insert(times_ns.end(), more.begin(), more.end());
      for (const std::string& note : member->notes()) {
        if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
      }
    }
    // Every member was checked when it was made, so this cannot fail.
    Result<Measurement> whole = Measurement::make(group.front()->task(), std::move(times_ns), 1, std::move(notes));
    if (whole) merged.push_back(std::move(whole).value());
  }
  return merged;
}

}  // namespace stepscope
