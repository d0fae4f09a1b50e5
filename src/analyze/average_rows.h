// The rows of a table under construction: which row an event belongs to, and the sums of each row.
//
// By name, the row of an event is one load from a dense array indexed by the name's StringId. By shape or stack a
// second number joins the name (a text of shapes or a stack, interned), and a hash of two 32-bit numbers finds the row.
// String keys were rejected: they cost 100 ns an event, a whole table 1.5 M of them.
#pragma once

#include <tsl/robin_map.h>

#include <array>
#include <limits>
#include <map>

#include "analyze/averages.h"
#include "analyze/operator_stacks.h"
#include "base/hash.h"

namespace stepscope {

// What stands beside the name in the key of a row. PyTorch keeps user annotations and the GPU apart.
enum class RowKind : std::uint8_t { kHost, kSpan, kAsyncSpan, kGpu, kGpuSpan };
inline constexpr std::size_t kRowKindCount = 5;

using RowIndex = std::uint32_t;

// Where a row first appears: rows are printed in this order, which is torch's.
struct FirstSeen {
  TimeNs start_ns = std::numeric_limits<TimeNs>::max();
  TimeNs end_ns = 0;
  std::uint64_t file_order = 0;
  [[nodiscard]] bool operator<(const FirstSeen& other) const {
    if (start_ns != other.start_ns) return start_ns < other.start_ns;
    if (end_ns != other.end_ns) return end_ns > other.end_ns;
    return file_order < other.file_order;
  }
};

class AverageRows {
 public:
  // `stacks` must outlive the rows.
  AverageRows(const Trace& trace, const AveragesOptions& options, const OperatorStacks& stacks);

  // ProfilerStep#... is one name for all its numbers.
  [[nodiscard]] StringId canonical_name(StringId name);
  // `extra` is a number from shapes() or OperatorStacks, 0 for none.
  [[nodiscard]] RowIndex find(RowKind kind, StringId name, std::uint32_t extra = 0);
  [[nodiscard]] RowIndex find_text(std::string_view name);  // host row of a name that no event carries as its own

  [[nodiscard]] std::uint32_t shapes(StringId input_dims);

  [[nodiscard]] AverageRow& operator[](RowIndex row) { return rows_[row]; }
  void saw(RowIndex row, const FirstSeen& at) {
    if (at < first_[row]) first_[row] = at;
  }
  // Rows that count something, in order of first appearance, and the two bases of percentages.
  [[nodiscard]] Averages finish() &&;

 private:
  static constexpr RowIndex kNoRow = std::numeric_limits<RowIndex>::max();
  RowIndex add_row(RowKind kind, StringId name, std::uint32_t extra);

  const Trace& trace_;
  const OperatorStacks& stacks_;
  GroupBy group_by_;
  std::array<std::vector<RowIndex>, kRowKindCount> by_name_;  // by StringId; extra == 0
  tsl::robin_map<std::uint64_t, RowIndex, MixedHash> by_name_and_extra_;
  StringId first_profiler_step_;
  std::map<std::string, RowIndex, std::less<>> by_text_;

  std::vector<std::uint32_t> shapes_by_id_;                           // by StringId; interned number + 1, 0 = unknown
  std::map<std::string, std::uint32_t, std::less<>> shapes_by_text_;  // distinct texts: some hundreds
  std::vector<std::string> shapes_text_;

  std::vector<AverageRow> rows_;
  std::vector<FirstSeen> first_;
};

}  // namespace stepscope
