// Reads logs: ticks become nanoseconds, packed details become text, and what has no end is counted and left out.
//
// open = begun - ended - ended without room. The writer counts a beginning before it publishes anything that follows,
// and the reader reads what ended first, so the difference is never negative.
#include "capture/collect.h"

#include <algorithm>
#include <unordered_map>

#include "capture/detail_entry.h"

namespace stepscope {
namespace {

class LogReader {
 public:
  LogReader(const TickMapping& mapping, TimeNs end_ns, ThreadRecords& into)
      : mapping_(mapping), end_ns_(end_ns), into_(into) {}

  void visit(const EntryHead& head) {
    switch (head.entry) {
      case EntryKind::kDetail:
        rows_.push_back(static_cast<std::uint32_t>(into_.details.size()));
        into_.details.push_back(read_detail(head));
        break;
      case EntryKind::kThreadName:
        into_.thread_name = name_text(NameId(std::size_t{head.name}));
        break;
      case EntryKind::kEnded:
      case EntryKind::kPoint:
      case EntryKind::kTimed:
        read_record(head);
        break;
    }
  }
  [[nodiscard]] std::uint64_t ended_count() const { return ended_count_; }

 private:
  void read_record(const EntryHead& head) {
    const auto& span = reinterpret_cast<const SpanEntry&>(head);
    const bool is_ns = head.entry == EntryKind::kTimed;
    Record record;
    record.start_ns = is_ns ? static_cast<TimeNs>(span.start) : mapping_.to_ns(span.start);
    record.end_ns = is_ns ? static_cast<TimeNs>(span.end) : mapping_.to_ns(span.end);
    if (record.end_ns > end_ns_) return;
    record.kind = head.kind;
    record.name = NameId(std::size_t{head.name});
    if (head.words_count * 8U >= sizeof(RecordEntry)) {
      const auto& whole = static_cast<const RecordEntry&>(span);
      record.value = whole.value;
      if (whole.detail != 0) record.detail = rows_[whole.detail - 1] + 1;
    }
    if (head.words_count * 8U == sizeof(AllocationEntry)) {
      read_allocation(static_cast<const AllocationEntry&>(span), record);
    }
    ended_count_ += head.entry == EntryKind::kEnded ? 1 : 0;
    into_.records.push_back(record);
  }

  void read_allocation(const AllocationEntry& entry, Record& record) {
    if (record.detail == 0) {
      into_.details.emplace_back();
      record.detail = static_cast<std::uint32_t>(into_.details.size());
    }
    RecordDetail& detail = into_.details[record.detail - 1];
    detail.address = entry.address;
    detail.total_allocated_bytes = entry.total_allocated_bytes;
    detail.total_reserved_bytes = entry.total_reserved_bytes;
    detail.device_type = entry.device_type;
    detail.device_number = entry.device_number;
  }

  const TickMapping& mapping_;
  const TimeNs end_ns_;
  ThreadRecords& into_;
  std::vector<std::uint32_t> rows_;  // of details, by number - 1
  std::uint64_t ended_count_ = 0;
};

// Leaves pairs of one beginning and one end; how many beginnings and ends had no partner.
std::uint64_t drop_lone_async(std::vector<ThreadRecords>& threads) {
  struct Seen {
    bool begun = false;
    bool ended = false;
    bool kept_end = false;
    TimeNs end_ns = 0;  // the first end counts
  };
  std::unordered_map<std::int64_t, Seen> seen;
  for (const ThreadRecords& thread : threads) {
    for (const Record& record : thread.records) {
      if (record.kind == RecordKind::kAsyncBegin) seen[record.value].begun = true;
      if (record.kind != RecordKind::kAsyncEnd) continue;
      Seen& one = seen[record.value];
      one.end_ns = one.ended ? std::min(one.end_ns, record.start_ns) : record.start_ns;
      one.ended = true;
    }
  }
  if (seen.empty()) return 0;
  for (ThreadRecords& thread : threads) {
    std::erase_if(thread.records, [&](const Record& record) {
      if (record.kind == RecordKind::kAsyncBegin) return !seen[record.value].ended;
      if (record.kind != RecordKind::kAsyncEnd) return false;
      Seen& one = seen[record.value];
      const bool keep = one.begun && !one.kept_end && record.start_ns == one.end_ns;
      one.kept_end = one.kept_end || keep;
      return !keep;
    });
  }
  return static_cast<std::uint64_t>(
      std::count_if(seen.begin(), seen.end(), [](const auto& each) { return each.second.begun != each.second.ended; }));
}

}  // namespace

void collect_logs(std::span<ThreadLog* const> logs, const TickMapping& mapping, Recording& recording) {
  for (ThreadLog* log : logs) log->close();
  for (ThreadLog* log : logs) {
    ThreadRecords thread;
    thread.thread_id = log->thread_id;
    thread.thread_name = name_text(log->thread_name);
    LogReader reader(mapping, recording.end_ns, thread);
    log->drain([&](const EntryHead& head) { reader.visit(head); });

    const std::uint64_t dropped_open = log->dropped_open_count.load(std::memory_order_acquire);
    thread.dropped_count = log->dropped_count.load(std::memory_order_acquire) + dropped_open;
    const std::uint64_t opened = log->opened_count.load(std::memory_order_acquire);
    recording.open_span_count += opened - reader.ended_count() - dropped_open;

    // As they were written, but for records with times of the caller's.
    const auto by_end = [](const Record& a, const Record& b) { return a.end_ns < b.end_ns; };
    if (!std::is_sorted(thread.records.begin(), thread.records.end(), by_end)) {
      std::stable_sort(thread.records.begin(), thread.records.end(), by_end);
    }
    if (!thread.records.empty() || thread.dropped_count > 0) recording.threads.push_back(std::move(thread));
  }
  recording.open_span_count += drop_lone_async(recording.threads);
}

}  // namespace stepscope
