// See table.h for the bytes.
#include "wire/table.h"

#include <bit>
#include <limits>

namespace stepscope::wire {
namespace {

void put_text(std::string_view text, ByteWriter& out) {
  out.varint(text.size());
  out.raw(text);
}

struct Column {
  std::string_view name, cells;
  std::uint8_t type = 0;
};

// The next column; nothing at the end or at what is none.
std::optional<Column> next_column(ByteReader& in) {
  if (in.left() == 0) return std::nullopt;
  Column column;
  column.name = in.raw(in.varint());
  const std::string_view type = in.raw(1);
  column.cells = in.raw(in.varint());
  if (in.failed()) return std::nullopt;
  column.type = static_cast<std::uint8_t>(type[0]);
  return column;
}

}  // namespace

void TableWriter::begin(std::string_view table, std::uint64_t first_row, std::uint32_t rows) {
  table_ = table;
  first_row_ = first_row;
  rows_ = rows;
  columns_ = 0;
  columns_bytes_.clear();
}

void TableWriter::begin_column(std::string_view name, CellType type) {
  column_name_ = name;
  column_type_ = type;
  last_ = 0;
  cells_.clear();
}

void TableWriter::real(double number) { cells_.fixed64(std::bit_cast<std::uint64_t>(number)); }

void TableWriter::end_column() {
  ++columns_;
  put_text(column_name_, columns_bytes_);
  columns_bytes_.raw(std::string(1, static_cast<char>(column_type_)));
  put_text(cells_.bytes(), columns_bytes_);
}

std::string_view TableWriter::finish() {
  payload_.clear();
  put_text(table_, payload_);
  payload_.varint(first_row_);
  payload_.varint(rows_);
  payload_.varint(columns_);
  payload_.raw(columns_bytes_.bytes());
  return payload_.bytes();
}

WireString ColumnReader::string() {
  if (!has_more()) return 0;
  const std::uint64_t number = in_.varint();
  return static_cast<WireString>(number > std::numeric_limits<WireString>::max() ? in_.fail() : number);
}

double ColumnReader::real() {
  if (in_.left() < sizeof(double)) in_.fail();
  return in_.failed() ? 0 : std::bit_cast<double>(in_.fixed64());
}

std::optional<std::uint32_t> ColumnReader::row() {
  if (!has_more()) return std::nullopt;
  const std::uint64_t code = in_.varint();
  if (code > std::numeric_limits<std::uint32_t>::max()) in_.fail();
  if (code == 0 || in_.failed()) return std::nullopt;
  return static_cast<std::uint32_t>(code - 1);
}

bool TableReader::open(std::string_view payload) {
  ByteReader in(payload);
  name_ = in.raw(in.varint());
  first_row_ = in.varint();
  const std::uint64_t rows = in.varint();
  const std::uint64_t columns = in.varint();
  if (in.failed() || rows > payload.size()) return false;
  rows_ = static_cast<std::uint32_t>(rows);
  columns_ = in.raw(in.left());
  ByteReader walk(columns_);
  for (std::uint64_t i = 0; i < columns; ++i) {
    if (!next_column(walk)) return false;
  }
  return true;
}

std::optional<ColumnReader> TableReader::column(std::string_view name, CellType type) const {
  ByteReader in(columns_);
  while (const std::optional<Column> column = next_column(in)) {
    if (column->name == name && column->type == static_cast<std::uint8_t>(type))
      return ColumnReader(column->name, column->type, column->cells);
  }
  return std::nullopt;
}

}  // namespace stepscope::wire
