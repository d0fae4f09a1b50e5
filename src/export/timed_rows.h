// The rows of a thread or stream as one sequence in which parents come before children, and its cut into lanes whose
// rows nest: what every format of nested slices needs (Perfetto's tracks, speedscope's profiles, folded stacks).
//
// A thread's rows stand in four tables. Most nest; a damaged file, spans that begin and end on two threads, or kernels
// of graphs may overlap in part, which a stack cannot show. Such a row goes to the next lane instead of being bent.
// Lanes are at most kMostLanes: hostile rows that all overlap would else take time with the square of their number; in
// the last lane rows are cut at the end of the row that they begin in.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/trace.h"

namespace stepscope {

// In the order in which rows of equal times contain each other.
enum class RowTable : std::uint8_t { kSpan, kFrame, kOp, kCall, kGpuSpan, kGpuEvent };

struct TimedRow {
  TimeNs start_ns = 0;
  TimeNs end_ns = 0;
  std::uint32_t row = 0;  // in its table
  RowTable table = RowTable::kSpan;
  // Spans and frames, operators, calls: of the row's name.
  [[nodiscard]] StringId name(const Trace& trace) const;
};

// Spans that are begun and ended by events of their own (Spans::is_async) are left out of the first.
[[nodiscard]] std::vector<TimedRow> rows_of_thread(const Trace& trace, ThreadId thread);
[[nodiscard]] std::vector<TimedRow> async_rows_of_thread(const Trace& trace, ThreadId thread);

// GPU events and the marks of each stream.
struct StreamRows {
  Column<StreamId, std::vector<TimedRow>> events;
  Column<StreamId, std::vector<TimedRow>> spans;
};
[[nodiscard]] StreamRows rows_of_streams(const Trace& trace);

// An event of CUDA's driver API; the runtime's begin with "cuda". Other runtimes are listed as libkineto does it, under
// the runtime's category.
[[nodiscard]] bool is_driver_call(std::string_view name);

inline constexpr std::size_t kMostLanes = 64;

// visitor.begin_lane(lane), .begin(row), .end(row, end_ns), .end_lane(lane): begins and ends in the order of time, each
// end that of the row begun last. Rows sorted as rows_of_thread returns them.
template <class Visitor>
void for_each_lane(std::vector<TimedRow> rows, Visitor& visitor) {
  std::vector<TimedRow> overlapping, open;
  for (std::size_t lane = 0; !rows.empty(); ++lane) {
    visitor.begin_lane(lane);
    overlapping.clear();
    for (TimedRow row : rows) {
      while (!open.empty() && open.back().end_ns <= row.start_ns) {
        visitor.end(open.back(), open.back().end_ns);
        open.pop_back();
      }
      if (!open.empty() && row.end_ns > open.back().end_ns) {
        if (lane + 1 < kMostLanes) {
          overlapping.push_back(row);
          continue;
        }
        row.end_ns = open.back().end_ns;
      }
      visitor.begin(row);
      open.push_back(row);
    }
    for (; !open.empty(); open.pop_back()) visitor.end(open.back(), open.back().end_ns);
    visitor.end_lane(lane);
    std::swap(rows, overlapping);
  }
}

}  // namespace stepscope
