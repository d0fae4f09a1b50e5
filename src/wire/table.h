// Rows of a table as columns: how a trace of another tool is kept in a capture file, each cell as it was.
//
// Records (layout.h) say what an agent saw; a trace that was read from another format has more (flows, categories,
// external ids) and is in columns already. So its tables are written as they are: a column is a name, a type and its
// cells as differences from the row before. A reader takes the columns whose names it knows and skips the others, so a
// column may be added in a minor version.
//
//   payload of chunk kind 1:
//     text name of the table | varint number of its first row | varint rows | varint columns | columns
//   column: text name | type (1 byte) | varint bytes of the cells | cells
//   cells by type: 0 integers: zigzag of the difference from the cell above (0 above the first)
//                  1 integers that may be missing: maybe, of the difference from the last that was there
//                  2 strings: varint number of the string
//                  3 reals: 8 bytes IEEE double
//                  4 rows of another table: varint 0 none, else row + 1
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wire/bytes.h"
#include "wire/records.h"

namespace stepscope::wire {

enum class CellType : std::uint8_t { kInteger, kMaybeInteger, kString, kReal, kRow };

class TableWriter {
 public:
  void begin(std::string_view table, std::uint64_t first_row, std::uint32_t rows);
  void begin_column(std::string_view name, CellType type);
  void integer(std::int64_t number) {
    cells_.varint(zigzag(difference(number, last_)));
    last_ = number;
  }
  void maybe(MaybeInt number) {
    cells_.maybe(number.has_value(), difference(number.raw, last_));
    if (number.has_value()) last_ = number.raw;
  }
  void string(WireString number) { cells_.varint(number); }
  void real(double number);
  // Row `row` of another table; missing: none.
  void row(std::optional<std::uint32_t> row) { cells_.varint(row ? std::uint64_t{*row} + 1 : 0); }
  void end_column();
  // The payload, good until the next begin().
  [[nodiscard]] std::string_view finish();

 private:
  std::string table_;
  std::uint64_t first_row_ = 0;
  std::uint32_t rows_ = 0;
  std::uint32_t columns_ = 0;
  std::int64_t last_ = 0;
  std::string column_name_;
  CellType column_type_{};
  ByteWriter cells_, columns_bytes_, payload_;
};

// The cells of one column. After a cell that makes no sense (or is not there) failed() is true and all others are 0.
class ColumnReader {
 public:
  ColumnReader(std::string_view name, std::uint8_t type, std::string_view cells)
      : name_(name), type_(type), in_(cells) {}

  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] bool is(CellType type) const { return type_ == static_cast<std::uint8_t>(type); }
  [[nodiscard]] std::int64_t integer() {
    if (!has_more()) return 0;
    return last_ = sum(last_, from_zigzag(in_.varint()));
  }
  [[nodiscard]] MaybeInt maybe() {
    std::int64_t step = 0;
    if (!has_more() || !in_.maybe(step)) return {};
    return MaybeInt(last_ = sum(last_, step));
  }
  // Numbers over 32 bits fail.
  [[nodiscard]] WireString string();
  [[nodiscard]] double real();
  [[nodiscard]] std::optional<std::uint32_t> row();
  [[nodiscard]] bool failed() const { return in_.failed(); }

 private:
  // Unlike fields of records, cells are all there.
  bool has_more() {
    if (in_.left() == 0) in_.fail();
    return !in_.failed();
  }

  std::string_view name_;
  std::uint8_t type_;
  ByteReader in_;
  std::int64_t last_ = 0;
};

class TableReader {
 public:
  // False: the payload makes no sense. No table has more rows than its payload has bytes.
  [[nodiscard]] bool open(std::string_view payload);
  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] std::uint64_t first_row() const { return first_row_; }
  [[nodiscard]] std::uint32_t rows() const { return rows_; }
  // The column of this name and type, from its first cell; missing if there is none.
  [[nodiscard]] std::optional<ColumnReader> column(std::string_view name, CellType type) const;

 private:
  std::string_view name_, columns_;
  std::uint64_t first_row_ = 0;
  std::uint32_t rows_ = 0;
};

}  // namespace stepscope::wire
