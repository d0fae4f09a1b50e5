// What a Timer measured: the times of its blocks, what was timed, and how far the numbers can be trusted.
//
// One time says nothing about its own noise, so a measurement keeps all of them and answers with the median, its spread
// and warnings in words. The statistics and the shape of the text are those that users of torch.utils.benchmark know,
// so that both can be laid side by side. Definitions: docs/glossary.md; medians and percentiles interpolate as numpy
// does.
//
// Times are ns as double: a block's time is whole ns, but a run's share of it is not.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/result.h"

namespace stepscope {

// What was timed. Two measurements with equal specs are repetitions of one task (see merge_measurements). An empty text
// means: not given.
struct TaskSpec {
  std::string statement;    // the code itself, as text; shown where there is no label
  std::string setup;        // what was done before each block, as text
  std::string label;        // the task: one table of Compare has one label
  std::string sub_label;    // tells apart what has the same label: the rows of the table
  std::string description;  // the columns of the table
  std::string env;          // where it ran ("branch", "main"): told apart within the table
  int num_threads = 1;      // 0: left as it was

  [[nodiscard]] std::string title() const;     // "label: sub_label", else the statement
  [[nodiscard]] std::string row_name() const;  // sub_label, else the statement, else "[unknown]"
  friend auto operator<=>(const TaskSpec&, const TaskSpec&) = default;
};

class Measurement {
 public:
  // `raw_times_ns[i]` is how long the i-th block of `number_per_run` runs took. `notes` are sentences about the
  // circumstances that belong to every later reading of the numbers. kInvalidArgument: no times, a time that is
  // negative or no number, fewer than 1 run a block.
  [[nodiscard]] static Result<Measurement> make(TaskSpec task, std::vector<double> raw_times_ns,
                                                std::int64_t number_per_run, std::vector<std::string> notes = {});

  [[nodiscard]] const TaskSpec& task() const { return task_; }
  [[nodiscard]] std::int64_t number_per_run() const { return number_per_run_; }
  [[nodiscard]] const std::vector<double>& raw_times_ns() const { return raw_times_ns_; }  // a block, as measured
  [[nodiscard]] std::vector<double> times_ns() const;                                      // a run, in the same order
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

  // All of one run: a block's time over number_per_run.
  [[nodiscard]] double median_ns() const { return percentile_ns(50); }
  [[nodiscard]] double mean_ns() const;
  [[nodiscard]] double percentile_ns(double percent) const;  // clamped to 0..100
  [[nodiscard]] double iqr_ns() const { return percentile_ns(75) - percentile_ns(25); }

  // How many figures of the median mean something, 1 to 4 (middle half, 90 % interval, at least 25 ns).
  [[nodiscard]] int significant_figures() const;
  // IQR / median < threshold. No spread always does.
  [[nodiscard]] bool meets_confidence(double threshold = 0.1) const;
  // The notes, and a sentence when the IQR is 10 % or 25 % of the median and more.
  [[nodiscard]] std::vector<std::string> warnings() const;
  [[nodiscard]] bool has_warnings() const { return !notes_.empty() || !meets_confidence(); }

  // Several lines, no newline at the end:
  //   Broadcasting add: 4x8
  //     Median: 5.73 us
  //     IQR:    2.25 us (4.01 to 6.26)
  //     372 measurements, 100 runs each, 1 thread
  //     WARNING: ...
  [[nodiscard]] std::string to_string() const;

 private:
  Measurement() = default;

  TaskSpec task_;
  std::int64_t number_per_run_ = 1;
  std::vector<double> raw_times_ns_;
  std::vector<double> sorted_ns_;  // of one run
  std::vector<std::string> notes_;
};

// Repetitions put together: one measurement for each task, in the order in which the tasks first appear. Blocks of
// different sizes count by their time of one run, so what comes from more than one measurement has number_per_run 1.
[[nodiscard]] std::vector<Measurement> merge_measurements(const std::vector<Measurement>& measurements);

}  // namespace stepscope
