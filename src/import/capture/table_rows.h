// Chunks of tables (wire/table.h) back to a Fragment: the other way of export/capture_trace.cpp.
//
// Nothing in them is believed: a chunk with one row that breaks an invariant of the model (a thread that is none, an
// end before its start, a kind that is none) is refused whole, as if its checksum had failed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trace/builder.h"
#include "wire/table.h"

namespace stepscope::capture_format {

class TableRows {
 public:
  // Text of a string's number.
  using TextOf = std::function<std::string_view(WireString)>;
  explicit TableRows(TextOf text_of) : text_of_(std::move(text_of)) {}

  // False: the chunk makes no sense. Tables of unknown names are taken as read.
  [[nodiscard]] bool take(std::string_view payload);
  [[nodiscard]] bool has_any() const { return has_any_; }
  // Tables that a newer version writes.
  [[nodiscard]] std::uint64_t unknown_count() const { return unknown_count_; }
  void finish(Builder& builder);
  // The notes of the trace as it was written. What linking finds in the rows is among them.
  [[nodiscard]] const Notes& notes() const { return notes_; }

 private:
  template <class Table>
  bool append(const wire::TableReader& reader, Table Fragment::*member);
  template <class T>
  void fill(wire::ColumnReader& reader, std::vector<T>& cells, std::size_t from, bool& is_sound);
  bool take_info(const wire::TableReader& reader);
  void take_info_row(std::string_view key, const std::string& text, MaybeInt number);
  void take_process_group_row(std::string_view key, const std::string& text, std::optional<std::int64_t> size);
  bool take_notes(const wire::TableReader& reader);
  StringId intern(WireString number);

  TextOf text_of_;
  bool has_any_ = false;
  std::uint64_t unknown_count_ = 0;
  Fragment fragment_;
  TraceInfo info_;
  Notes notes_;
  tsl::robin_map<WireString, StringId, MixedHash> interned_;
};

}  // namespace stepscope::capture_format
