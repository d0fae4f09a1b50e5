// key_averages: time, memory and FLOPs by operator name, input shapes or stack, as PyTorch computes them.
//
// The rules are in definitions.md (section key_averages) and were checked row by row against torch's own tables.
// Times here are integer ns; torch prints us.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/interval.h"
#include "trace/trace.h"

namespace stepscope {

enum class GroupBy : std::uint8_t { kName, kShape, kStack, kModule };

struct AverageRow {
  std::string key;                 // name; ProfilerStep#... folded into ProfilerStep*
  std::string input_shapes;        // torch's list text; empty unless grouped by shape
  std::vector<std::string> stack;  // grouped by stack: frames, innermost first
  std::string device_type;         // "DeviceType.CPU", "DeviceType.CUDA"
  bool is_async = false;
  bool is_user_annotation = false;
  std::int64_t count = 0;         // torch's, after its merge of a same-named only child
  std::int64_t record_count = 0;  // events in the file
  std::int64_t device_count = 0;  // of count, calls that have device time of their own
  DurationNs inclusive_ns = 0;    // total with nested repeats counted once
  DurationNs cpu_time_total_ns = 0, self_cpu_time_total_ns = 0;
  DurationNs device_time_total_ns = 0, self_device_time_total_ns = 0;
  std::int64_t cpu_memory_usage_bytes = 0, self_cpu_memory_usage_bytes = 0;
  std::int64_t device_memory_usage_bytes = 0, self_device_memory_usage_bytes = 0;
  std::int64_t flops = 0;  // told by the program, else by PyTorch's own seven formulas
  // Grouped by module: device_time_total_ns in its two parts. 0 otherwise.
  DurationNs forward_device_time_ns = 0, backward_device_time_ns = 0;
};

struct AveragesOptions {
  GroupBy group_by = GroupBy::kName;
  std::size_t stack_depth = 5;
  // Grouped by stack: false takes the stacks that operators carry in the file (`Call stack`), as torch does; torch
  // 2.11 writes none, so there the rows are those by name. True takes the Python frames around each operator when
  // the operators carry none.
  bool python_stacks = false;
  std::optional<Interval> window{};  // only events that start in it; missing: the whole file, as torch does
  IntervalSet left_out{};            // of the window: gaps between steps, disturbed steps
  // Does what starts then count?
  [[nodiscard]] bool counts(TimeNs start_ns) const;
};

struct Averages {
  std::vector<AverageRow> rows;              // in order of first appearance
  DurationNs self_cpu_time_total_ns = 0;     // the base of CPU percentages
  DurationNs self_device_time_total_ns = 0;  // the base of device percentages: no user annotations
};

[[nodiscard]] Averages compute_averages(const Trace& trace, const AveragesOptions& options);

// Sort keys are torch's attribute names (self_cpu_time_total, self_device_time_total or the old
// self_cuda_time_total, count, flops, ...) and record_count and inclusive_time, descending; equal rows keep their
// order. Missing for a name that is none.
[[nodiscard]] std::optional<std::vector<std::size_t>> sorted_rows(const Averages& averages, std::string_view sort_key);
[[nodiscard]] std::vector<std::string_view> sort_keys();

}  // namespace stepscope
