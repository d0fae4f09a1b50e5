// A table of the pages on memory: columns that keep two spaces between them whatever stands in them.
//
// The usual places of the columns are those that the eye knows from page to page; a value that is wider than them (no
// machine's, but a damaged file's) moves what stands behind it to the right, in all rows alike. So a table is laid out
// when all its cells are known. Widths from the cells alone were rejected: tables of one page would not line up.
#pragma once

#include <string>
#include <vector>

#include "report/page.h"

namespace stepscope {

struct MemoryColumn {
  bool is_right = true;
  std::size_t place = 0;  // where its cells usually end; of a left column, begin
};

struct MemoryCell {
  std::string text;
  Ink ink = Ink::kPlain;
};

class MemoryTable {
 public:
  explicit MemoryTable(std::vector<MemoryColumn> columns) : columns_(std::move(columns)) {}

  // Columns that end at `right_edges`, and one of names behind them.
  [[nodiscard]] static MemoryTable of_numbers(const std::vector<std::size_t>& right_edges, std::size_t name_column);

  // A cell for each column, as far as there are; of the last column what fits.
  void add(std::vector<MemoryCell> cells) { rows_.push_back(std::move(cells)); }
  void add(std::vector<std::string> cells, Ink ink = Ink::kPlain);
  void write(Page& page) const;

 private:
  [[nodiscard]] std::vector<std::size_t> places() const;

  std::vector<MemoryColumn> columns_;
  std::vector<std::vector<MemoryCell>> rows_;
};

}  // namespace stepscope
