// Compare: measurements as a table, one a label, to be read by people.
//
// Rows are sub_labels, grouped by thread count and told apart by env; columns are descriptions. Repetitions of one task
// are merged first. The layout is the one of torch.utils.benchmark.Compare; beyond it, a table wider than asked for
// continues below with its further columns instead of running over the edge, and the best can be marked without
// colours.
//
//   [------------- sort -------------]
//                |  n=1000  |  n=10000
//   1 thread: ------------------------
//     std::sort  |    21.3  |    271.0
//
//   Times are in microseconds (us).
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "stepscope/measurement.h"

namespace stepscope {

// Which cells are compared with each other.
enum class CompareWithin {
  kColumn,  // the rows of one thread count in one column
  kRow,     // the columns of one row
};

class Compare {
 public:
  explicit Compare(std::vector<Measurement> measurements = {}) : measurements_(std::move(measurements)) {}

  void add(Measurement measurement) { measurements_.push_back(std::move(measurement)); }

  // Shows only the figures of each median that mean something (Measurement::significant_figures).
  void trim_significant_figures(bool on = true) { trim_ = on; }
  // Puts "(! 39 %)", the IQR over the median, behind the medians of measurements that have warnings, and the sentences
  // of their notes below the table.
  void highlight_warnings(bool on = true) { warnings_ = on; }
  // Puts a * behind the best cell, and those within 1 % of it.
  void mark_best(CompareWithin within = CompareWithin::kColumn) { mark_ = true, mark_within_ = within; }
  // Terminal colours: green the best and within 1 % of it, blue within 10 %, faint red from 2 times it, red from 5
  // times.
  void colorize(CompareWithin within = CompareWithin::kColumn) { colour_ = true, colour_within_ = within; }

  // The tables, each ending in a newline, an empty line between them; empty without measurements. No line is longer
  // than `width` columns unless one name and one number do not fit; 0: as wide as it gets.
  [[nodiscard]] std::string to_string(std::size_t width = 80) const;

 private:
  std::vector<Measurement> measurements_;
  bool trim_ = false;
  bool warnings_ = false;
  bool mark_ = false;
  bool colour_ = false;
  CompareWithin mark_within_ = CompareWithin::kColumn;
  CompareWithin colour_within_ = CompareWithin::kColumn;
};

}  // namespace stepscope
