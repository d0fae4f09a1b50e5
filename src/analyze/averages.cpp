// One walk over each thread builds the tree and adds to the rows in the same breath.
//
// A node's row needs its children's sums, and a node that is the only child of a parent of the same name must vanish
// into it; both are known when the node closes, so an explicit stack of open nodes is all the tree there ever is (a few
// dozen entries, never the million of a whole trace). Rules and their source: docs/averages.md.
#include "analyze/averages.h"

#include <algorithm>
#include <limits>

#include "analyze/average_rows.h"
#include "analyze/device_averages.h"
#include "analyze/disturbed_steps.h"
#include "analyze/host_nodes.h"
#include "analyze/memory_in_interval.h"
#include "analyze/modules.h"
#include "analyze/operator_device_time.h"
#include "analyze/operator_memo.h"
#include "analyze/operator_stacks.h"
#include "efficiency/operator_flops.h"

namespace stepscope {
namespace {

// Bookkeeping operators that PyTorch leaves out of its tables, with all they would be parents of.
constexpr std::string_view kHiddenOperators[] = {"[memory]",
                                                 "[OutOfMemory]",
                                                 "profiler::_record_function_enter",
                                                 "profiler::_record_function_enter_new",
                                                 "profiler::_record_function_exit",
                                                 "aten::is_leaf",
                                                 "aten::output_nr",
                                                 "aten::_version"};

// libkineto widens a GPU annotation by 1 ns at either end when it writes the file; torch's table sums the
// unwidened length.
constexpr DurationNs kGpuSpanWidening = 2;

// What is known of an event by name alone.
struct NameTraits {
  bool is_hidden = false;
  bool has_flops = false;
};

struct Node {
  TimeNs start_ns = 0, end_ns = 0;
  StringId name;
  RowIndex row = 0;
  std::uint64_t file_order = 0;
  std::int64_t record_count = 1;
  std::int64_t child_count = 0;
  DurationNs children_cpu_ns = 0;  // the time that children cover
  TimeNs covered_until_ns = std::numeric_limits<TimeNs>::min();
  DurationNs own_device_ns = 0, children_device_ns = 0;
  MemoryChange memory, children_memory;
  std::int64_t flops = 0;
  bool covers_flops = false;       // those of operators nested in it are among `flops`
  bool has_waiting_child = false;  // the only child so far has this node's name: kept in waiting_ until more is known
};

void add_memory(AverageRow& row, const MemoryChange& total, const MemoryChange& self) {
  row.cpu_memory_usage_bytes = wrapping_add(row.cpu_memory_usage_bytes, total.cpu_bytes);
  row.device_memory_usage_bytes = wrapping_add(row.device_memory_usage_bytes, total.device_bytes);
  row.self_cpu_memory_usage_bytes = wrapping_add(row.self_cpu_memory_usage_bytes, self.cpu_bytes);
  row.self_device_memory_usage_bytes = wrapping_add(row.self_device_memory_usage_bytes, self.device_bytes);
}

class AveragesBuilder {
 public:
  // With `device`, kernels and device times of that one alone.
  AveragesBuilder(const Trace& trace, const AveragesOptions& options, std::optional<DeviceId> device);
  Averages build() &&;

 private:
  void add_gpu_events();
  void add_named_device_time(GpuEventId id, DurationNs length);
  void add_gpu_spans();
  void add_overhead();
  void add_thread(ThreadId thread);
  void add_memory_without_owner();
  void add_async_span(const HostNode& host);
  void open(const HostNode& host);
  void close();
  void merge_waiting_child(Node& node);
  void flush_waiting_child(std::size_t depth);
  void commit(const Node& node);
  [[nodiscard]] std::uint32_t second_key(const HostNode& host);
  [[nodiscard]] std::int64_t flops_of(OpId op);

  const Trace& trace_;
  const AveragesOptions& options_;
  std::optional<DeviceId> device_;
  OperatorStacks stacks_;
  AverageRows rows_;
  OperatorDeviceTime device_time_;
  MemoryInInterval memory_;
  OperatorMemo<std::int64_t> flops_memo_;
  std::vector<NameTraits> traits_;         // by StringId
  std::vector<std::int32_t> open_in_row_;  // open nodes of each row
  std::int64_t open_with_flops_ = 0;
  std::vector<Node> stack_;
  std::vector<Node> waiting_;  // by depth of the parent
};

AveragesBuilder::AveragesBuilder(const Trace& trace, const AveragesOptions& options, std::optional<DeviceId> device)
    : trace_(trace),
      options_(options),
      device_(device),
      stacks_(trace, options),
      rows_(trace, options, stacks_),
      device_time_(compute_operator_device_time(trace, device)),
      memory_(trace),
      traits_(trace.strings.size()) {
  for (std::uint32_t i = 0; i < traits_.size(); ++i) {
    const std::string_view name = trace.text(StringId{i});
    traits_[i].is_hidden =
        std::find(std::begin(kHiddenOperators), std::end(kHiddenOperators), name) != std::end(kHiddenOperators);
    traits_[i].has_flops = has_torch_flops(name);
  }
}

Averages AveragesBuilder::build() && {
  add_gpu_events();
  add_gpu_spans();
  add_overhead();
  for (const ThreadId thread : trace_.threads.ids().ids()) add_thread(thread);
  add_memory_without_owner();
  return std::move(rows_).finish();
}

void AveragesBuilder::add_gpu_events() {
  const GpuEvents& events = trace_.gpu_events;
  for (const GpuEventId id : events.ids().ids()) {
    if (events.fault[id] == TimeFault::kDuplicate || !options_.counts(events.start_ns[id])) continue;
    if (device_ && events.device[id] != *device_) continue;
    const RowIndex index = rows_.find(RowKind::kGpu, events.name[id]);
    AverageRow& row = rows_[index];
    const DurationNs length = events.end_ns[id] - events.start_ns[id];
    ++row.count;
    ++row.record_count;
    row.inclusive_ns += length;
    row.device_time_total_ns += length;
    row.self_device_time_total_ns += length;
    rows_.saw(index, {events.start_ns[id], events.end_ns[id], events.file_order[id]});
    if (!events.op_name[id].empty() && !events.op[id].has_value()) add_named_device_time(id, length);
  }
}

// Replays of a graph: the operator of the capture has the time, and no call, since it did not run.
void AveragesBuilder::add_named_device_time(GpuEventId id, DurationNs length) {
  const GpuEvents& events = trace_.gpu_events;
  if (events.fault[id] != TimeFault::kNone) return;
  const RowIndex index = rows_.find(RowKind::kHost, events.op_name[id]);
  rows_[index].device_time_total_ns += length;
  rows_[index].self_device_time_total_ns += length;
  rows_.saw(index, {events.start_ns[id], events.end_ns[id], events.file_order[id]});
}

void AveragesBuilder::add_gpu_spans() {
  const StringId category = trace_.strings.find("gpu_user_annotation");
  if (category.empty()) return;
  for (const GpuSpanId id : trace_.gpu_spans.ids().ids()) {
    if (trace_.gpu_spans.category[id] != category || !options_.counts(trace_.gpu_spans.start_ns[id])) continue;
    const RowIndex index = rows_.find(RowKind::kGpuSpan, rows_.canonical_name(trace_.gpu_spans.name[id]));
    AverageRow& row = rows_[index];
    const DurationNs written = trace_.gpu_spans.end_ns[id] - trace_.gpu_spans.start_ns[id];
    const DurationNs length = std::max<DurationNs>(0, written - kGpuSpanWidening);
    ++row.count;
    ++row.record_count;
    row.inclusive_ns += length;
    row.device_time_total_ns += length;
    row.self_device_time_total_ns += length;
    rows_.saw(index, {trace_.gpu_spans.start_ns[id] + 1, trace_.gpu_spans.start_ns[id] + 1 + length,
                      trace_.gpu_spans.file_order[id]});
  }
}

// The profiler's own work ("Buffer Flush", "Lazy Function Loading") has rows too; nothing nests in it.
void AveragesBuilder::add_overhead() {
  const StringId category = trace_.strings.find("overhead");
  if (category.empty()) return;
  for (const OtherEventId id : trace_.other_events.ids().ids()) {
    const TimeNs start = trace_.other_events.start_ns[id];
    if (trace_.other_events.category[id] != category || !options_.counts(start)) continue;
    if (is_own_overhead(trace_, id)) continue;  // no row of PyTorch's table, and nothing of the program's
    Node node;
    node.start_ns = start;
    node.end_ns = trace_.other_events.end_ns[id];
    node.row = rows_.find(RowKind::kHost, trace_.other_events.name[id]);
    rows_[node.row].inclusive_ns += node.end_ns - node.start_ns;
    commit(node);
  }
}

void AveragesBuilder::add_thread(ThreadId thread) {
  memory_.begin_thread();
  stacks_.begin_thread(thread);
  for_each_host_node(trace_, thread, [&](const HostNode& host) {
    if (!options_.counts(host.start_ns)) {
      if (!memory_.empty()) memory_.mark_owned(memory_.range(host.start_ns, host.end_ns));
      return;
    }
    if (host.table == HostTable::kOp && traits_[host.name.value].is_hidden) return;
    if (host.table == HostTable::kSpan && trace_.spans.is_async[SpanId(host.row)] != 0) {
      add_async_span(host);
      return;
    }
    while (!stack_.empty() && (host.start_ns >= stack_.back().end_ns || host.end_ns > stack_.back().end_ns)) close();
    open(host);
  });
  while (!stack_.empty()) close();
}

// Begun and ended by separate events, perhaps on two threads: it has a total and nothing else, and is no parent.
void AveragesBuilder::add_async_span(const HostNode& host) {
  const RowIndex index = rows_.find(RowKind::kAsyncSpan, rows_.canonical_name(host.name));
  AverageRow& row = rows_[index];
  const DurationNs length = host.end_ns - host.start_ns;
  ++row.count;
  ++row.record_count;
  row.inclusive_ns += length;
  row.cpu_time_total_ns += length;
  if (!memory_.empty()) {
    const auto range = memory_.range(host.start_ns, host.end_ns);
    memory_.mark_owned(range);
    add_memory(row, memory_.change(range), {});
  }
  rows_.saw(index, {host.start_ns, host.end_ns, trace_.spans.file_order[SpanId(host.row)]});
}

std::uint32_t AveragesBuilder::second_key(const HostNode& host) {
  if (host.table == HostTable::kCall || options_.group_by == GroupBy::kName) return 0;
  if (options_.group_by == GroupBy::kStack) return stacks_.at(host);
  return host.table == HostTable::kOp ? rows_.shapes(trace_.ops.shapes[host.op()]) : 0;
}

// What the program told goes before what a formula says.
std::int64_t AveragesBuilder::flops_of(OpId op) {
  const MaybeInt told = trace_.ops.flops[op];
  if (told.has_value()) return told.value();
  if (!traits_[trace_.ops.name[op].value].has_flops) return 0;
  return flops_memo_.find(trace_, op, [](std::string_view name, std::string_view dims, std::string_view concrete) {
    constexpr double kMax = 9e18;  // fits 64 bits
    return static_cast<std::int64_t>(std::min(compute_torch_flops(name, dims, concrete).value_or(0), kMax));
  });
}

void AveragesBuilder::open(const HostNode& host) {
  const std::size_t depth = stack_.size();
  Node& node = stack_.emplace_back();
  node.start_ns = host.start_ns;
  node.end_ns = host.end_ns;
  node.name = host.name;
  RowKind kind = RowKind::kHost;
  switch (host.table) {
    case HostTable::kOp:
      node.own_device_ns = device_time_.of_op[host.op()];
      node.file_order = trace_.ops.file_order[host.op()];
      // A product inside another product repeats its work.
      if (open_with_flops_ == 0) node.flops = flops_of(host.op());
      node.covers_flops = node.flops > 0 || trace_.ops.flops[host.op()].has_value();
      if (node.covers_flops) ++open_with_flops_;
      break;
    case HostTable::kSpan:
      node.name = rows_.canonical_name(host.name);
      if (!device_time_.of_span.empty()) node.own_device_ns = device_time_.of_span[SpanId(host.row)];
      node.file_order = trace_.spans.file_order[SpanId(host.row)];
      kind = RowKind::kSpan;
      break;
    case HostTable::kCall:
      node.file_order = trace_.calls.file_order[CallId(host.row)];
      break;
  }
  node.row = rows_.find(kind, node.name, second_key(host));
  if (node.row >= open_in_row_.size()) open_in_row_.resize(node.row + 1, 0);
  ++open_in_row_[node.row];
  if (!memory_.empty()) {
    const auto range = memory_.range(host.start_ns, host.end_ns);
    node.memory = memory_.change(range);
    if (depth == 0) memory_.mark_owned(range);
  }
  if (depth == 0) return;
  if (stack_[depth - 1].child_count++ == 1) flush_waiting_child(depth - 1);
}

// PyTorch shows a chain of same-named only children as one call, that of the outermost.
void AveragesBuilder::merge_waiting_child(Node& node) {
  const Node& child = waiting_[stack_.size()];
  node.record_count += child.record_count;
  node.children_cpu_ns = child.children_cpu_ns;
  node.own_device_ns += child.own_device_ns;
  node.children_device_ns = child.children_device_ns;
  node.children_memory = child.children_memory;
}

void AveragesBuilder::flush_waiting_child(std::size_t depth) {
  if (!stack_[depth].has_waiting_child) return;
  stack_[depth].has_waiting_child = false;
  commit(waiting_[depth]);
}

void AveragesBuilder::close() {
  Node node = stack_.back();
  stack_.pop_back();
  if (node.covers_flops) --open_with_flops_;
  if (--open_in_row_[node.row] == 0) rows_[node.row].inclusive_ns += node.end_ns - node.start_ns;
  if (node.has_waiting_child) merge_waiting_child(node);
  if (stack_.empty()) {
    commit(node);
    return;
  }
  Node& parent = stack_.back();
  // Children of a damaged file may overlap; torch, which adds their lengths, gives such a parent a negative self time.
  const TimeNs uncovered_from_ns = std::max(node.start_ns, parent.covered_until_ns);
  parent.children_cpu_ns += std::max<DurationNs>(node.end_ns - uncovered_from_ns, 0);
  parent.covered_until_ns = std::max(parent.covered_until_ns, node.end_ns);
  parent.children_device_ns += node.own_device_ns + node.children_device_ns;
  parent.children_memory += node.memory;
  if (parent.child_count > 1 || parent.name != node.name) {
    commit(node);
    return;
  }
  parent.has_waiting_child = true;
  if (waiting_.size() < stack_.size()) waiting_.resize(stack_.size());
  waiting_[stack_.size() - 1] = node;
}

void AveragesBuilder::commit(const Node& node) {
  AverageRow& row = rows_[node.row];
  const DurationNs total = node.end_ns - node.start_ns;
  ++row.count;
  row.record_count += node.record_count;
  if (node.own_device_ns > 0) ++row.device_count;
  row.cpu_time_total_ns += total;
  row.self_cpu_time_total_ns += total - node.children_cpu_ns;
  row.device_time_total_ns += node.own_device_ns + node.children_device_ns;
  row.self_device_time_total_ns += node.own_device_ns;
  MemoryChange own_memory = node.memory;
  own_memory -= node.children_memory;
  add_memory(row, node.memory, own_memory);
  if (__builtin_add_overflow(row.flops, node.flops, &row.flops)) row.flops = std::numeric_limits<std::int64_t>::max();
  rows_.saw(node.row, {node.start_ns, node.end_ns, node.file_order});
}

// Allocations outside every event get a row of their own, as in torch's table.
void AveragesBuilder::add_memory_without_owner() {
  if (memory_.empty()) return;
  for (const MemoryEventId id : memory_.without_owner()) {
    const TimeNs time = trace_.memory_events.time_ns[id];
    if (!options_.counts(time)) continue;
    Node node;
    node.start_ns = node.end_ns = time;
    node.row = rows_.find_text("[memory]");
    node.memory = memory_.change({id.value, id.value + 1});
    node.file_order = trace_.memory_events.file_order[id];
    commit(node);
  }
}

}  // namespace

bool AveragesOptions::counts(TimeNs start_ns) const {
  if (!window) return true;
  if (start_ns < window->start_ns || start_ns >= window->end_ns) return false;
  const auto next = std::partition_point(left_out.begin(), left_out.end(),
                                         [&](const Interval& each) { return each.end_ns <= start_ns; });
  return next == left_out.end() || start_ns < next->start_ns;
}

Averages compute_averages(const Trace& trace, const AveragesOptions& options) {
  if (options.group_by == GroupBy::kModule) return compute_module_averages(trace, options);
  return AveragesBuilder(trace, options, std::nullopt).build();
}

Averages compute_averages_of_device(const Trace& trace, const AveragesOptions& options, DeviceId device) {
  return AveragesBuilder(trace, options, device).build();
}

}  // namespace stepscope
