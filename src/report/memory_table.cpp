// Columns from left to right: each stands at its usual place, or as far to the right as the widest cells before it and
// in it need.
#include "report/memory_table.h"

#include <algorithm>

#include "report/memory_text.h"
#include "report/text.h"

namespace stepscope {
namespace {

constexpr std::size_t kGap = 2;

}  // namespace

MemoryTable MemoryTable::of_numbers(const std::vector<std::size_t>& right_edges, std::size_t name_column) {
  std::vector<MemoryColumn> columns;
  for (const std::size_t edge : right_edges) columns.push_back({true, edge});
  columns.push_back({false, name_column});
  return MemoryTable(std::move(columns));
}

void MemoryTable::add(std::vector<std::string> cells, Ink ink) {
  std::vector<MemoryCell>& row = rows_.emplace_back();
  for (std::string& cell : cells) row.push_back({std::move(cell), ink});
}

std::vector<std::size_t> MemoryTable::places() const {
  std::vector<std::size_t> places;
  std::size_t taken = 0;  // by the columns before, with the gap behind them
  for (std::size_t k = 0; k < columns_.size(); ++k) {
    std::size_t widest = 0;
    for (const auto& row : rows_) {
      if (k < row.size()) widest = std::max(widest, display_width(row[k].text));
    }
    const MemoryColumn& column = columns_[k];
    places.push_back(std::max(column.place, taken + (column.is_right ? widest : 0)));
    taken = places.back() + (column.is_right ? 0 : widest) + kGap;
  }
  return places;
}

void MemoryTable::write(Page& page) const {
  const std::vector<std::size_t> places = this->places();
  for (const std::vector<MemoryCell>& row : rows_) {
    Line line = page.line();
    for (std::size_t k = 0; k < std::min(row.size(), columns_.size()); ++k) {
      const auto& [text, ink] = row[k];
      if (text.empty()) continue;
      if (columns_[k].is_right) {
        line.add_right(places[k], text, ink);
        continue;
      }
      const bool is_last = k + 1 == columns_.size();
      const std::size_t room = page.style().width - std::min(page.style().width, places[k]);
      if (is_last && room == 0) continue;
      line.pad_to(places[k]).add(is_last ? fit_line(text, room) : text, ink);
    }
    page.add(line);
  }
}

}  // namespace stepscope
