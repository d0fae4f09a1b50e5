// One fragment a thread, and one for the asynchronous spans, which may begin on one thread and end on another.
//
// A record is written when it ends, so a span comes after all that it contains. The tables want the outer one of two
// rows with equal times first, and the builder keeps the order of coming among those: so what nests is added from the
// last record to the first, and what has only a point in time from the first to the last.
#include "session/host_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_map>

#include "session/call_stack_text.h"

namespace stepscope {
namespace {

constexpr std::string_view kInstantCategory = "cpu_instant_event";  // PyTorch's, for points on the host

MaybeInt known(std::int64_t bytes) { return bytes < 0 ? MaybeInt() : MaybeInt(bytes); }

// Names of records to strings of one fragment: an array, since a name comes back thousands of times.
class NameRows {
 public:
  explicit NameRows(StringPool& strings) : strings_(strings) {}
  StringId operator()(NameId name) {
    if (!name.has_value()) return {};
    if (name.value >= rows_.size()) rows_.resize(name.value + 1);
    StringId& row = rows_[name.value];
    if (row.empty()) row = strings_.intern(name_text(name));
    return row;
  }

 private:
  StringPool& strings_;
  std::vector<StringId> rows_;
};

struct AsyncBegin {
  Record record;
  std::int64_t thread_id = 0;
};

class HostRows {
 public:
  HostRows(std::int64_t process_id, TimeNs base_ns, Builder& builder)
      : pid_(std::to_string(process_id)), base_ns_(base_ns), builder_(builder) {}

  void add_thread(const ThreadRecords& thread);
  std::uint64_t add_async_spans();
  [[nodiscard]] std::optional<double> flops() const { return flops_; }

 private:
  void add_interval(const Record& record, const RecordDetail* detail);
  void add_point(const Record& record, const RecordDetail* detail);
  void add_op(const Record& record, const RecordDetail* detail);
  void add_flops(TimeNs start_ns, double flops);
  void add_span(const Record& record, const RecordDetail* detail);
  void add_counter(const Record& record);
  void add_instant(const Record& record);
  void add_allocation(const Record& record, const RecordDetail* detail);

  std::string pid_;
  TimeNs base_ns_;
  Builder& builder_;
  CallStackText stacks_;
  std::vector<AsyncBegin> begins_;
  std::unordered_map<std::int64_t, TimeNs> ends_;
  std::uint64_t next_order_ = 0;
  std::optional<double> flops_;

  // Of the thread at hand.
  Fragment* fragment_ = nullptr;
  NameRows* names_ = nullptr;
  std::int64_t thread_id_ = 0;
  ThreadId thread_;
  std::optional<TimeNs> told_since_ns_;  // start of the outermost operator so far that told its FLOPs
};

void HostRows::add_thread(const ThreadRecords& thread) {
  Fragment fragment;
  NameRows names(fragment.strings);
  fragment_ = &fragment;
  names_ = &names;
  thread_id_ = thread.thread_id;
  told_since_ns_.reset();
  const std::string tid = std::to_string(thread.thread_id);
  thread_ = fragment.thread(pid_, tid);
  const auto detail_of = [&](const Record& record) {
    return record.detail > 0 && record.detail <= thread.details.size() ? &thread.details[record.detail - 1] : nullptr;
  };
  for (const Record& record : thread.records) add_point(record, detail_of(record));
  for (auto record = thread.records.rbegin(); record != thread.records.rend(); ++record) {
    add_interval(*record, detail_of(*record));
  }
  builder_.add(std::move(fragment));
}

void HostRows::add_interval(const Record& record, const RecordDetail* detail) {
  if (record.kind == RecordKind::kOp) add_op(record, detail);
  if (record.kind == RecordKind::kSpan || record.kind == RecordKind::kStep) add_span(record, detail);
}

void HostRows::add_point(const Record& record, const RecordDetail* detail) {
  switch (record.kind) {
    case RecordKind::kSpan:
    case RecordKind::kStep:
    case RecordKind::kOp:
      return;
    case RecordKind::kAsyncBegin:
      begins_.push_back({record, thread_id_});
      return;
    case RecordKind::kAsyncEnd:
      ends_.try_emplace(record.value, record.end_ns);
      return;
    case RecordKind::kCounter:
      return add_counter(record);
    case RecordKind::kInstant:
      return add_instant(record);
    case RecordKind::kAllocation:
      return add_allocation(record, detail);
  }
}

void HostRows::add_span(const Record& record, const RecordDetail* detail) {
  Spans::Row row;
  row.start_ns = record.start_ns - base_ns_;
  row.end_ns = std::max(record.start_ns, record.end_ns) - base_ns_;
  row.thread = thread_;
  row.name = (*names_)(record.name);
  row.file_order = next_order_++;
  if (detail != nullptr) row.call_stack = fragment_->strings.intern(stacks_.text(*detail));
  fragment_->spans.push_back(row);
}

void HostRows::add_op(const Record& record, const RecordDetail* detail) {
  Ops::Row row;
  row.start_ns = record.start_ns - base_ns_;
  row.end_ns = std::max(record.start_ns, record.end_ns) - base_ns_;
  row.thread = thread_;
  row.name = (*names_)(record.name);
  row.file_order = next_order_++;
  if (detail != nullptr) {
    if (detail->flops >= 0) {
      add_flops(record.start_ns, detail->flops);
      constexpr double kMostFlops = 9e18;  // of 64 bits; no call computes so much
      row.flops = std::llround(std::min(detail->flops, kMostFlops));
    }
    row.shapes = fragment_->strings.intern(detail->shapes);
    row.types = fragment_->strings.intern(detail->types);
    row.call_stack = fragment_->strings.intern(stacks_.text(*detail));
  }
  fragment_->ops.push_back(row);
}

// What an operator told covers all that is nested in it. Operators come by falling ends, so one that starts after
// another's start lies inside that.
void HostRows::add_flops(TimeNs start_ns, double flops) {
  if (told_since_ns_ && start_ns >= *told_since_ns_) return;
  told_since_ns_ = start_ns;
  flops_ = flops_.value_or(0) + flops;
}

void HostRows::add_counter(const Record& record) {
  Counters::Row row;
  row.time_ns = record.start_ns - base_ns_;
  row.process_key = fragment_->strings.intern(pid_);
  row.name = (*names_)(record.name);
  row.series = fragment_->strings.intern("value");
  row.value = std::bit_cast<double>(record.value);
  fragment_->counters.push_back(row);
}

void HostRows::add_instant(const Record& record) {
  OtherEvents::Row row;
  row.start_ns = row.end_ns = record.start_ns - base_ns_;
  row.category = fragment_->strings.intern(kInstantCategory);
  row.name = (*names_)(record.name);
  row.process_key = fragment_->strings.intern(pid_);
  row.thread_key = fragment_->strings.intern(std::to_string(thread_id_));
  row.phase = 'i';
  fragment_->other_events.push_back(row);
}

void HostRows::add_allocation(const Record& record, const RecordDetail* detail) {
  MemoryEvents::Row row;
  row.time_ns = record.start_ns - base_ns_;
  row.thread = thread_;
  row.bytes = record.value;
  row.device_number = -1;
  row.file_order = next_order_++;
  if (detail != nullptr) {
    row.address = static_cast<std::int64_t>(detail->address);
    row.total_allocated_bytes = known(detail->total_allocated_bytes);
    row.total_reserved_bytes = known(detail->total_reserved_bytes);
    row.device_type = detail->device_type;
    row.device_number = detail->device_number;
  }
  fragment_->memory_events.push_back(row);
}

// On the row of the thread that began it.
std::uint64_t HostRows::add_async_spans() {
  Fragment fragment;
  NameRows names(fragment.strings);
  std::uint64_t without_end = 0;
  for (const AsyncBegin& begin : begins_) {
    const auto end = ends_.find(begin.record.value);
    if (end == ends_.end()) {
      ++without_end;
      continue;
    }
    Spans::Row row;
    row.start_ns = begin.record.start_ns - base_ns_;
    row.end_ns = std::max(begin.record.start_ns, end->second) - base_ns_;
    row.thread = fragment.thread(pid_, std::to_string(begin.thread_id));
    row.name = names(begin.record.name);
    row.is_async = 1;
    row.file_order = next_order_++;
    fragment.spans.push_back(row);
  }
  builder_.add(std::move(fragment));
  return without_end;
}

}  // namespace

HostTotals add_host_rows(std::vector<ThreadRecords> threads, std::int64_t process_id, TimeNs base_ns,
                         Builder& builder) {
  HostRows rows(process_id, base_ns, builder);
  for (ThreadRecords& thread : threads) {
    rows.add_thread(thread);
    thread = {};  // its memory is needed for the trace
  }
  const std::uint64_t without_end = rows.add_async_spans();
  return {without_end, rows.flops()};
}

void add_step_marks(std::span<const SessionStep> steps, std::int64_t process_id, TimeNs base_ns, Builder& builder) {
  if (steps.empty()) return;
  Fragment fragment;
  const std::int64_t owner = steps.front().opened_by;
  const ThreadId thread = fragment.thread(std::to_string(process_id), std::to_string(owner));
  for (const SessionStep& step : steps) {
    Spans::Row row;
    row.start_ns = step.start_ns - base_ns;
    row.end_ns = std::max(step.start_ns, step.end_ns) - base_ns;
    row.thread = thread;
    row.name = fragment.strings.intern("ProfilerStep#" + std::to_string(step.number));
    row.is_async = step.opened_by != owner || step.closed_by != owner;
    fragment.spans.push_back(row);
  }
  builder.add(std::move(fragment));
}

}  // namespace stepscope
