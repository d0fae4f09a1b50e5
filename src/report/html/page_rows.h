// Which rows of a trace are in its page, under which number: shared by the makers of the page's tables.
//
// Host rows are the operators, spans, calls and Python frames of each thread merged into one sequence in which parents
// come first, so that the page finds nesting with a stack. GPU rows are the sound GPU events, stream by stream. Numbers
// in link columns are row + 1, and 0 is none.
#pragma once

#include <vector>

#include "trace/trace.h"

namespace stepscope {

enum class HostRowKind : std::uint8_t { kSpan, kOperator, kCall, kFrame, kAsyncSpan };

struct HostRow {
  TimeNs start_ns = 0;
  TimeNs end_ns = 0;
  HostRowKind kind = HostRowKind::kOperator;
  std::uint32_t row = 0;  // in its table of the trace
};

struct PageRows {
  TimeNs origin_ns = 0;  // all times of the page count from here: the first event
  std::vector<HostRow> host;
  std::vector<std::uint32_t> host_count_of_thread;
  std::vector<std::uint32_t> left_out_of_thread;        // shorter than shortest_host_ns
  DurationNs shortest_host_ns = 0;                      // 0: nothing was left out
  std::vector<std::uint32_t> host_of_op, host_of_call;  // by row of the trace: host row + 1; 0 none

  std::vector<GpuEventId> gpu;
  std::vector<std::uint32_t> gpu_count_of_stream;
  std::vector<std::uint32_t> left_out_of_stream;
  DurationNs shortest_gpu_ns = 0;
  std::vector<std::uint32_t> gpu_row;  // by GpuEventId: gpu row + 1; 0 none
};

// At most about `most_host_count` and `most_gpu_count` rows; of more, the shortest events are left out.
[[nodiscard]] PageRows choose_page_rows(const Trace& trace, std::size_t most_host_count, std::size_t most_gpu_count);

}  // namespace stepscope
