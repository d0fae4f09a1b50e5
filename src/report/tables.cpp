// Kernels are summed by name, operators by compute_averages; both own what was launched in the steps.
//
// When the host runs ahead, the host does the work of step k long before the GPU's step k begins. Cutting host events
// at the GPU's window, as was done first, lost a quarter of resnet_healthy's operators (15 of 20 convolution_backward
// a step). So operators and calls are those that start between the first step's host start and the last one's host end,
// and a GPU event counts where its launch call does. One whose launch is unknown counts by its own start.
#include "report/tables.h"

#include <algorithm>

#include "analyze/device_averages.h"
#include "report/text.h"

namespace stepscope {
namespace {

bool contains(Interval interval, TimeNs time_ns) { return time_ns >= interval.start_ns && time_ns < interval.end_ns; }

// What of the file the tables own, on the host's clock and on the GPU's.
struct Owned {
  Interval host;
  IntervalSet left_out;  // of it: in no step
  const Steps& steps;
  std::optional<DeviceId> device;  // missing: all
};

bool is_owned(const Trace& trace, GpuEventId event, const Owned& owned) {
  if (owned.device && trace.gpu_events.device[event] != *owned.device) return false;
  const CallId call = trace.gpu_events.call[event];
  if (!call.has_value()) return owned.steps.counts_at_gpu_time(trace.gpu_events.start_ns[event]);
  const TimeNs time_ns = trace.calls.start_ns[call];
  const auto next = std::partition_point(owned.left_out.begin(), owned.left_out.end(),
                                         [&](const Interval& each) { return each.end_ns <= time_ns; });
  return contains(owned.host, time_ns) && (next == owned.left_out.end() || time_ns < next->start_ns);
}

// In order of first appearance in the file's strings, so that equal times have one order.
std::vector<KernelRow> sum_kernels(const Trace& trace, const Owned& owned) {
  struct Sum {
    std::int64_t count = 0;
    DurationNs total_ns = 0;
    GpuEventKind kind = GpuEventKind::kKernel;
  };
  const GpuEvents& events = trace.gpu_events;
  std::vector<Sum> sums(trace.strings.size());
  for (const GpuEventId id : events.ids().ids()) {
    if (events.fault[id] == TimeFault::kDuplicate || !is_owned(trace, id, owned)) continue;
    Sum& sum = sums[events.name[id].value];
    ++sum.count;
    sum.total_ns += events.end_ns[id] - events.start_ns[id];
    sum.kind = events.kind[id];
  }
  std::vector<KernelRow> rows;
  for (std::uint32_t i = 0; i < sums.size(); ++i) {
    if (sums[i].count == 0) continue;
    const std::string_view name = trace.text(StringId{i});
    rows.push_back({clean_text(name), classify_kernel_name(name, sums[i].kind), classify_tensor_cores(name),
                    sums[i].count, sums[i].total_ns});
  }
  return rows;
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

void add_operators(const Trace& trace, const Owned& owned, Tables& tables) {
  AveragesOptions options;
  options.window = owned.host;
  options.left_out = owned.left_out;
  const Averages averages =
      owned.device ? compute_averages_of_device(trace, options, *owned.device) : compute_averages(trace, options);
  for (const AverageRow& row : averages.rows) {
    if (row.device_type != "DeviceType.CPU") continue;
    tables.operators_by_cpu.push_back(operator_row(row));
    OperatorRow& on_device = tables.operators_by_device.emplace_back(operator_row(row));
    if (owned.device) on_device.count = row.device_count;  // the other calls gave other devices work
    tables.operator_device_total_ns += row.self_device_time_total_ns;
    tables.operator_cpu_total_ns += row.self_cpu_time_total_ns;
  }
}

}  // namespace

Interval host_window(const Steps& steps, bool whole_file_window) {
  if (whole_file_window || steps.steps.empty()) return steps.window;
  return {steps.steps.front().host.start_ns, steps.steps.back().host.end_ns};
}

Tables build_tables(const Trace& trace, const Facts& facts, bool whole_file_window, std::size_t top_count,
                    bool every_device) {
  const bool is_one_of_several = facts.busy.size() > 1 && !every_device;
  const Owned owned{host_window(facts.steps, whole_file_window),
                    whole_file_window ? IntervalSet{} : facts.steps.left_out_host, facts.steps,
                    is_one_of_several ? std::optional(facts.main_busy()->device) : std::nullopt};
  Tables tables;
  tables.kernels = sum_kernels(trace, owned);
  for (const KernelRow& row : tables.kernels) tables.kernel_total_ns += row.total_ns;
  add_operators(trace, owned, tables);
  tables.kernel_count = tables.kernels.size();
  tables.operator_count = tables.operators_by_cpu.size();
  keep_top(tables.kernels, &KernelRow::total_ns, top_count);
  keep_top(tables.operators_by_device, &OperatorRow::self_device_ns, top_count);
  keep_top(tables.operators_by_cpu, &OperatorRow::self_cpu_ns, top_count);
  return tables;
}

}  // namespace stepscope
