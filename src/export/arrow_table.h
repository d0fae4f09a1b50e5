// Tables for data frames: columns of a trace or of an analysis as Arrow sees them, without a copy of their numbers.
//
// pandas, polars, pyarrow and DuckDB take a table through Arrow's C stream interface. A column of numbers is handed
// over where it lies; text columns are indexes into one dictionary that all of them share, so a name is made UTF-8 once
// and not once a row; a missing number becomes a null by a bitmap beside the column. Whoever holds an exported array
// keeps the trace alive, so it may outlive everything else of ours.
//
// Linking to Arrow was rejected: its library is fifty times larger than ours, and the interface needs none of it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/id.h"
#include "export/arrow_abi.h"

namespace stepscope {

struct ArrowColumn {
  std::string name;
  std::string doc;     // unit and meaning; travels as the field's metadata, key "doc"
  std::string format;  // Arrow's letters: l int64, u text, ...
  std::int64_t length = 0;
  std::int64_t null_count = 0;
  const void* validity = nullptr;  // bitmap, 1 present; nullptr: nothing is missing
  const void* values = nullptr;    // of text: offsets
  const void* text = nullptr;      // of text: the bytes
  // Owners of the memory behind the pointers.
  std::vector<std::shared_ptr<const void>> keep{};
  std::shared_ptr<const ArrowColumn> dictionary{};  // values are indexes into it
};

struct ArrowTable {
  std::vector<ArrowColumn> columns;  // of equal length
  [[nodiscard]] std::int64_t row_count() const { return columns.empty() ? 0 : columns.front().length; }
};

using ArrowOwner = std::shared_ptr<const void>;

// Numbers where they lie; `owner` keeps them.
template <class T>
[[nodiscard]] ArrowColumn view_numbers(std::string name, std::string doc, std::span<const T> values, ArrowOwner owner);
// Numbers of our own making.
template <class T>
[[nodiscard]] ArrowColumn own_numbers(std::string name, std::string doc, std::vector<T> values);
// Numbers where they lie, each that equals `missing` a null.
template <class T>
[[nodiscard]] ArrowColumn view_numbers_or_null(std::string name, std::string doc, std::span<const T> values, T missing,
                                               ArrowOwner owner);
[[nodiscard]] ArrowColumn view_maybe(std::string name, std::string doc, std::span<const MaybeInt> values,
                                     ArrowOwner owner);
// Text: what is not UTF-8 becomes U+FFFD.
[[nodiscard]] ArrowColumn own_text(std::string name, std::string doc, const std::vector<std::string_view>& values);
// Indexes where they lie (T: uint32_t or uint8_t), each below the dictionary's length; with `missing`, that index is a
// null.
template <class T>
[[nodiscard]] ArrowColumn view_words(std::string name, std::string doc, std::span<const T> indexes,
                                     std::shared_ptr<const ArrowColumn> dictionary, ArrowOwner owner);

// Fills `out`, which the receiver releases: one schema, one batch. Every array that it hands out keeps the table.
void export_stream(std::shared_ptr<const ArrowTable> table, ArrowArrayStream* out);

}  // namespace stepscope
