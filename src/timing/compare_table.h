// What stands where in a table of Compare, before any text is laid out.
#pragma once

#include <string>
#include <vector>

#include "stepscope/measurement.h"
#include "timing/time_text.h"

namespace stepscope {

struct TableRow {
  int num_threads = 1;
  std::string env;
  std::string name;
  std::vector<const Measurement*> cells;  // one a column; nullptr: not measured
};

struct Table {
  std::string label;
  TimeUnit unit;                     // of every cell: that of the smallest median
  std::vector<std::string> columns;  // descriptions, in the order in which they first appear
  std::vector<TableRow> rows;        // by thread count, then env, then first appearance
  bool has_envs = false;             // more than one env: rows name theirs
};

// One table a label, in the order in which the labels first appear. The tables point into `merged`.
[[nodiscard]] std::vector<Table> build_tables(const std::vector<Measurement>& merged);

// Rounded to so many figures: (31.4159, 2) is 31, (1234, 2) is 1200.
[[nodiscard]] double round_to_figures(double value, int figures);
// Digits before the decimal point, at least 1.
[[nodiscard]] int digits_before_point(double value);

}  // namespace stepscope
