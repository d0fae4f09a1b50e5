// Two tasks may fall into one cell (same names, another setup). The second one then gets a row of its own: dropping it,
// or letting the last one win, would hide a measurement.
#include "timing/compare_table.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace stepscope {
namespace {

std::size_t index_of(std::vector<std::string>& columns, const std::string& name) {
  const auto at = std::find(columns.begin(), columns.end(), name);
  const auto index = static_cast<std::size_t>(at - columns.begin());
  if (at == columns.end()) columns.push_back(name);
  return index;
}

void add_cell(Table& table, std::map<std::tuple<int, std::string, std::string>, std::vector<std::size_t>>& rows_of,
              const Measurement& measurement) {
  const TaskSpec& task = measurement.task();
  const std::size_t column = index_of(table.columns, task.description);
  std::vector<std::size_t>& rows = rows_of[{task.num_threads, task.env, task.row_name()}];
  const auto is_free = [&](std::size_t row) {
    const auto& cells = table.rows[row].cells;
    return column >= cells.size() || cells[column] == nullptr;
  };
  const auto free_row = std::find_if(rows.begin(), rows.end(), is_free);
  std::size_t row = table.rows.size();
  if (free_row != rows.end()) {
    row = *free_row;
  } else {
    rows.push_back(row);
    table.rows.push_back({task.num_threads, task.env, task.row_name(), {}});
  }
  auto& cells = table.rows[row].cells;
  cells.resize(std::max(cells.size(), column + 1));
  cells[column] = &measurement;
}

Table build_table(const std::vector<const Measurement*>& measurements) {
  Table table;
  table.label = measurements.front()->task().label;
  std::map<std::tuple<int, std::string, std::string>, std::vector<std::size_t>> rows_of;
  double least_ns = measurements.front()->median_ns();
  for (const Measurement* each : measurements) {
    add_cell(table, rows_of, *each);
    least_ns = std::min(least_ns, each->median_ns());
  }
  table.unit = TimeUnit::pick(least_ns);
  table.has_envs = std::any_of(table.rows.begin(), table.rows.end(),
                               [&](const TableRow& row) { return row.env != table.rows.front().env; });
  for (TableRow& row : table.rows) row.cells.resize(table.columns.size());
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const TableRow& a, const TableRow& b) {
    return std::tie(a.num_threads, a.env) < std::tie(b.num_threads, b.env);
  });
  return table;
}

}  // namespace

std::vector<Table> build_tables(const std::vector<Measurement>& merged) {
  std::vector<std::vector<const Measurement*>> groups;
  std::map<std::string, std::size_t> group_of_label;
  for (const Measurement& each : merged) {
    const auto [at, is_new] = group_of_label.emplace(each.task().label, groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].push_back(&each);
  }
  std::vector<Table> tables;
  tables.reserve(groups.size());
  for (const auto& group : groups) tables.push_back(build_table(group));
  return tables;
}

int digits_before_point(double value) { return value >= 1 ? static_cast<int>(std::floor(std::log10(value))) + 1 : 1; }

double round_to_figures(double value, int figures) {
  if (!(value > 0)) return value;
  const double scale = std::pow(10.0, std::floor(std::log10(value)) + 1 - figures);
  return std::round(value / scale) * scale;
}

}  // namespace stepscope
