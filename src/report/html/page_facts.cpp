// Steps, gaps with their causes, waits and sampled levels of a page.
#include <algorithm>

#include "analyze/device_gaps.h"
#include "analyze/gap_story.h"
#include "report/html/page_tables.h"

namespace stepscope {
namespace {

// A gap of a device, and how much of it lies with each cause, in the blame view that the report shows.
struct GapRow {
  Interval at;
  std::uint32_t device = 0;
  std::uint32_t ended_by = 0;  // GPU row + 1
  std::uint32_t detail = 0;    // text of the longest part
  std::uint32_t part_count = 0;
};

struct GapPartRow {
  HostLabel label = HostLabel::kNoEvent;
  DurationNs length_ns = 0;
};

class GapTables {
 public:
  explicit GapTables(const PageInput& input) : input_(input), teller_(input.trace, input.facts.path) {}

  void add_device(const DeviceBusy& busy) {
    const Facts& facts = input_.facts;
    GapReader reader(input_.trace, facts.timeline, facts.launches, facts.steps, busy);
    DeviceGap gap;
    GapStory story;
    while (reader.next(gap)) {
      teller_.tell(gap, story);
      add(gap, busy.device, story);
    }
  }

  [[nodiscard]] PageTable gaps() const {
    PageTable table("gaps", rows_.size());
    table.add_uint("device", [&](std::size_t i) { return rows_[i].device; });
    table.add_delta("start_ns", [&](std::size_t i) { return input_.since_origin(rows_[i].at.start_ns); });
    table.add_uint("duration_ns", [&](std::size_t i) { return rows_[i].at.length_ns(); });
    table.add_delta("ended_by", [&](std::size_t i) { return rows_[i].ended_by; });
    table.add_uint("detail", [&](std::size_t i) { return rows_[i].detail; });
    table.add_uint("part_count", [&](std::size_t i) { return rows_[i].part_count; });
    return table;
  }
  // Of each gap its parts, longest first.
  [[nodiscard]] PageTable parts() const {
    PageTable table("gap_parts", parts_.size());
    table.add_uint("cause", [&](std::size_t i) { return static_cast<unsigned>(parts_[i].label); });
    table.add_uint("length_ns", [&](std::size_t i) { return parts_[i].length_ns; });
    return table;
  }

 private:
  void add(const DeviceGap& gap, DeviceId device, const GapStory& story) {
    IdleByCause sums{};
    StringId detail;
    DurationNs longest_ns = 0;
    for (const HostSlice& slice : story.blame) {
      const DurationNs length_ns = slice.end_ns - slice.start_ns;
      sums[static_cast<std::size_t>(slice.label)] += length_ns;
      if (length_ns > longest_ns) {
        longest_ns = length_ns;
        detail = slice.detail;
      }
    }
    const std::size_t first = parts_.size();
    for (std::size_t label = 0; label < sums.size(); ++label) {
      if (sums[label] > 0) parts_.push_back({static_cast<HostLabel>(label), sums[label]});
    }
    std::stable_sort(parts_.begin() + static_cast<std::ptrdiff_t>(first), parts_.end(),
                     [](const GapPartRow& a, const GapPartRow& b) { return a.length_ns > b.length_ns; });
    const std::uint32_t ended_by = gap.ended_by ? input_.rows.gpu_row[gap.ended_by->value] : 0;
    rows_.push_back({gap.at, device.value, ended_by, input_.strings.number(detail),
                     static_cast<std::uint32_t>(parts_.size() - first)});
  }

  const PageInput& input_;
  GapTeller teller_;
  std::vector<GapRow> rows_;
  std::vector<GapPartRow> parts_;
};

PageTable wait_table(const PageInput& input) {
  const std::vector<Wait>& waits = input.facts.waits;
  PageTable table("waits", waits.size());
  const Calls& calls = input.trace.calls;
  table.add_uint("thread", [&](std::size_t i) { return calls.thread[waits[i].call].value; });
  table.add_delta("start_ns", [&](std::size_t i) { return input.since_origin(calls.start_ns[waits[i].call]); });
  table.add_uint("duration_ns",
                 [&](std::size_t i) { return calls.end_ns[waits[i].call] - calls.start_ns[waits[i].call]; });
  table.add_delta("call", [&](std::size_t i) { return input.rows.host_of_call[waits[i].call.value]; });
  table.add_uint("kind", [&](std::size_t i) { return static_cast<unsigned>(waits[i].kind); });
  table.add_delta("condition", [&](std::size_t i) {
    return waits[i].condition ? input.rows.gpu_row[waits[i].condition->value] : 0U;
  });
  table.add_uint("blocked", [&](std::size_t i) { return waits[i].blocked ? 1 : 0; });
  table.add_uint("hidden", [&](std::size_t i) { return waits[i].hidden() ? 1 : 0; });
  return table;
}

PageTable memory_table(const PageInput& input) {
  const MemoryEvents& events = input.trace.memory_events;
  std::vector<MemoryEventId> rows;
  for (const MemoryEventId id : events.ids().ids()) {
    if (events.device_type[id] != 0) rows.push_back(id);
  }
  PageTable table("memory", rows.size());
  table.add_delta("device_number", [&](std::size_t i) { return events.device_number[rows[i]]; });
  table.add_delta("time_ns", [&](std::size_t i) { return input.since_origin(events.time_ns[rows[i]]); });
  table.add_delta("allocated_bytes", [&](std::size_t i) { return events.total_allocated_bytes[rows[i]].value_or(-1); });
  table.add_delta("reserved_bytes", [&](std::size_t i) { return events.total_reserved_bytes[rows[i]].value_or(-1); });
  return table;
}

PageTable queue_table(const PageInput& input) {
  const std::vector<QueueSample> samples = compute_queue_depth(input.trace, input.facts.timeline);
  PageTable table("queue", samples.size());
  table.add_delta("time_ns", [&](std::size_t i) { return input.since_origin(samples[i].time_ns); });
  table.add_delta("depth_count", [&](std::size_t i) { return samples[i].depth_count; });
  return table;
}

}  // namespace

void add_step_tables(const PageInput& input, std::vector<PageTable>& out) {
  const std::vector<Step>& steps = input.facts.steps.steps;
  PageTable table("steps", steps.size());
  table.add_delta("number", [&](std::size_t i) { return steps[i].number; });
  table.add_delta("host_start_ns", [&](std::size_t i) { return input.since_origin(steps[i].host.start_ns); });
  table.add_delta("host_end_ns", [&](std::size_t i) { return input.since_origin(steps[i].host.end_ns); });
  table.add_delta("start_ns", [&](std::size_t i) { return input.since_origin(steps[i].gpu.start_ns); });
  table.add_delta("end_ns", [&](std::size_t i) { return input.since_origin(steps[i].gpu.end_ns); });
  table.add_uint("gpu_event_count", [&](std::size_t i) { return steps[i].gpu_event_count; });
  const DeviceBusy* busy = input.facts.main_busy();
  if (busy != nullptr) table.add_uint("gpu_busy_ns", [&](std::size_t i) { return busy->busy_by_step_ns[i]; });
  out.push_back(std::move(table));

  const DeviceIdle* idle = input.facts.main_idle();
  const std::size_t cells = idle == nullptr ? 0 : steps.size() * kHostLabelCount;
  PageTable causes("step_idle", cells);
  causes.add_uint("length_ns",
                  [&](std::size_t i) { return idle->blame_by_step_ns[i / kHostLabelCount][i % kHostLabelCount]; });
  out.push_back(std::move(causes));
}

void add_gap_tables(const PageInput& input, std::vector<PageTable>& out) {
  GapTables tables(input);
  for (const DeviceBusy& busy : input.facts.busy) tables.add_device(busy);
  out.push_back(tables.gaps());
  out.push_back(tables.parts());
}

void add_sample_tables(const PageInput& input, std::vector<PageTable>& out) {
  out.push_back(wait_table(input));
  out.push_back(memory_table(input));
  out.push_back(queue_table(input));
}

}  // namespace stepscope
