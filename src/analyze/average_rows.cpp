// See average_rows.h.
#include "analyze/average_rows.h"

#include <algorithm>
#include <numeric>

#include "efficiency/argument_text.h"

namespace stepscope {
namespace {

constexpr std::string_view kProfilerStep = "ProfilerStep#";
constexpr std::string_view kNoShapes = "[]";

bool is_on_gpu(RowKind kind) { return kind == RowKind::kGpu || kind == RowKind::kGpuSpan; }
bool is_annotation(RowKind kind) { return kind != RowKind::kHost && kind != RowKind::kGpu; }

}  // namespace

AverageRows::AverageRows(const Trace& trace, const AveragesOptions& options, const OperatorStacks& stacks)
    : trace_(trace), stacks_(stacks), group_by_(options.group_by) {
  for (auto& rows : by_name_) rows.assign(trace.strings.size(), kNoRow);
  shapes_by_id_.assign(trace.strings.size(), 0);
  // Number 0 is "nothing recorded".
  shapes_text_.emplace_back(kNoShapes);
  shapes_by_text_.emplace(kNoShapes, 0);
}

StringId AverageRows::canonical_name(StringId name) {
  if (!trace_.text(name).starts_with(kProfilerStep)) return name;
  if (first_profiler_step_.empty()) first_profiler_step_ = name;
  return first_profiler_step_;
}

RowIndex AverageRows::find(RowKind kind, StringId name, std::uint32_t extra) {
  if (extra == 0) {
    RowIndex& row = by_name_[static_cast<std::size_t>(kind)][name.value];
    if (row == kNoRow) row = add_row(kind, name, 0);
    return row;
  }
  // The kind fits beside the name: only host rows and spans have a second half, and a StringId stays below 2^29.
  const std::uint64_t key =
      (std::uint64_t{name.value} << 35) | (std::uint64_t{static_cast<std::uint8_t>(kind)} << 32) | extra;
  const auto found = by_name_and_extra_.find(key);
  if (found != by_name_and_extra_.end()) return found->second;
  const RowIndex row = add_row(kind, name, extra);
  by_name_and_extra_.emplace(key, row);
  return row;
}

RowIndex AverageRows::find_text(std::string_view name) {
  if (const StringId known = trace_.strings.find(name); !known.empty()) return find(RowKind::kHost, known);
  if (const auto found = by_text_.find(name); found != by_text_.end()) return found->second;
  const RowIndex row = add_row(RowKind::kHost, StringId(), 0);
  rows_[row].key = name;
  by_text_.emplace(name, row);
  return row;
}

std::uint32_t AverageRows::shapes(StringId input_dims) {
  if (input_dims.empty()) return 0;
  std::uint32_t& known = shapes_by_id_[input_dims.value];
  if (known == 0) {
    std::string text = torch_shapes_text(trace_.text(input_dims));
    const auto [at, is_new] =
        shapes_by_text_.try_emplace(std::move(text), static_cast<std::uint32_t>(shapes_text_.size()));
    if (is_new) shapes_text_.push_back(at->first);
    known = at->second + 1;
  }
  return known - 1;
}

RowIndex AverageRows::add_row(RowKind kind, StringId name, std::uint32_t extra) {
  AverageRow row;
  const bool is_step = name == first_profiler_step_ && !name.empty();
  row.key = is_step ? "ProfilerStep*" : std::string(trace_.text(name));
  row.device_type = is_on_gpu(kind) ? "DeviceType.CUDA" : "DeviceType.CPU";
  row.is_async = kind == RowKind::kAsyncSpan;
  row.is_user_annotation = is_annotation(kind);
  if (group_by_ == GroupBy::kShape) row.input_shapes = shapes_text_[extra];
  if (group_by_ == GroupBy::kStack) {
    for (const std::string_view frame : stacks_.frames(extra)) row.stack.emplace_back(frame);
  }
  rows_.push_back(std::move(row));
  first_.emplace_back();
  return static_cast<RowIndex>(rows_.size() - 1);
}

Averages AverageRows::finish() && {
  std::vector<RowIndex> order(rows_.size());
  std::iota(order.begin(), order.end(), RowIndex{0});
  // A mark on a GPU row that is as long as the event in it comes after it, wherever the file has it: converted files
  // have marks elsewhere.
  const auto is_mark = [&](RowIndex row) {
    return rows_[row].is_user_annotation && rows_[row].device_type != "DeviceType.CPU";
  };
  std::stable_sort(order.begin(), order.end(), [&](RowIndex a, RowIndex b) {
    const bool same_time = first_[a].start_ns == first_[b].start_ns && first_[a].end_ns == first_[b].end_ns;
    if (same_time && is_mark(a) != is_mark(b)) return is_mark(b);
    return first_[a] < first_[b];
  });
  Averages out;
  for (const RowIndex index : order) {
    AverageRow& row = rows_[index];
    // Every record was merged into a row above it, unless graphs gave it time without a call.
    if (row.count == 0 && row.self_device_time_total_ns == 0) continue;
    out.self_cpu_time_total_ns += row.self_cpu_time_total_ns;
    const bool is_device_work = row.device_type != "DeviceType.CPU" && !row.is_user_annotation;
    if (is_device_work) out.self_device_time_total_ns += row.self_device_time_total_ns;
    out.rows.push_back(std::move(row));
  }
  return out;
}

}  // namespace stepscope
