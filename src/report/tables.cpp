// One call of compute_averages, its rows parted into kernels (rows of a device) and operators (rows of the CPU).
#include "report/tables.h"

#include <algorithm>

#include "report/text.h"

namespace stepscope {
namespace {

KernelRow kernel_row(const AverageRow& row) {
  GpuEventKind kind = GpuEventKind::kKernel;
  if (row.key.starts_with("Memcpy")) kind = GpuEventKind::kCopy;
  if (row.key.starts_with("Memset")) kind = GpuEventKind::kSet;
  return {clean_text(row.key), classify_kernel_name(row.key, kind), classify_tensor_cores(row.key), row.count,
          row.self_device_time_total_ns};
}

OperatorRow operator_row(const AverageRow& row) {
  return {clean_text(row.key), row.count, row.self_device_time_total_ns, row.self_cpu_time_total_ns};
}

template <class Row>
void keep_top(std::vector<Row>& rows, DurationNs Row::*time_ns, std::size_t count) {
  std::stable_sort(rows.begin(), rows.end(), [time_ns](const Row& a, const Row& b) { return a.*time_ns > b.*time_ns; });
  while (!rows.empty() && rows.back().*time_ns <= 0) rows.pop_back();
  if (rows.size() > count) rows.resize(count);
}

}  // namespace

Tables build_tables(const Trace& trace, const Facts& facts, std::size_t top_count) {
  AveragesOptions options;
  options.window = facts.steps.window;
  const Averages averages = compute_averages(trace, options);
  Tables tables;
  for (const AverageRow& row : averages.rows) {
    if (row.device_type != "DeviceType.CPU") {
      if (row.is_user_annotation) continue;  // marks, not work
      tables.kernels.push_back(kernel_row(row));
      tables.kernel_total_ns += row.self_device_time_total_ns;
    } else {
      tables.operators_by_cpu.push_back(operator_row(row));
      tables.operator_device_total_ns += row.self_device_time_total_ns;
      tables.operator_cpu_total_ns += row.self_cpu_time_total_ns;
    }
  }
  tables.kernel_count = tables.kernels.size();
  tables.operator_count = tables.operators_by_cpu.size();
  tables.operators_by_device = tables.operators_by_cpu;
  keep_top(tables.kernels, &KernelRow::total_ns, top_count);
  keep_top(tables.operators_by_device, &OperatorRow::self_device_ns, top_count);
  keep_top(tables.operators_by_cpu, &OperatorRow::self_cpu_ns, top_count);
  return tables;
}

}  // namespace stepscope
