// Tables of a snapshot's page. Moments are those of memory/facts.h, device by device: 0 is before the first entry.
#include "report/html/memory_data.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "memory/trace_snapshot.h"
#include "report/html/page_columns.h"
#include "report/html/page_container.h"
#include "report/html/page_strings.h"

namespace stepscope {
namespace {

using Json = nlohmann::ordered_json;

class MemoryTables {
 public:
  MemoryTables(const MemorySnapshot& snapshot, const MemoryFacts& facts) : snapshot_(snapshot), facts_(facts) {
    line_of_stack_.assign(snapshot.stacks.size(), 0);
  }

  std::string write() {
    std::vector<PageTable> tables;
    tables.push_back(devices());
    tables.push_back(moments());
    tables.push_back(allocations());
    add_stacks(tables);
    add_segments(tables);
    tables.push_back(ooms());
    tables.push_back(steps());
    tables.push_back(texts_.table());
    return write_page_container(head(), tables);
  }

 private:
  [[nodiscard]] Json head() const {
    Json head = {{"source", page_text(snapshot_.info.source)}};
    head["main_device"] = facts_.main_device.has_value() ? Json(facts_.main_device.value) : Json(nullptr);
    head["categories"] = Json::array();
    for (std::size_t i = 0; i < kMemoryCategoryCount; ++i) {
      head["categories"].push_back(std::string(memory_category_name(static_cast<MemoryCategory>(i))));
    }
    head["older_line"] = std::string(kOlderThanHistory);
    return head;
  }

  [[nodiscard]] std::size_t moment_of(SnapshotDeviceId device, SnapshotEntryId entry) const {
    return moment_after(snapshot_, device, entry);
  }

  PageTable devices() {
    const SnapshotDevices& devices = snapshot_.devices;
    const auto facts = [&](std::size_t i) -> const DeviceMemoryFacts& { return facts_.devices[SnapshotDeviceId(i)]; };
    PageTable table("devices", devices.size());
    table.add_delta("number", [&](std::size_t i) { return devices.number[SnapshotDeviceId(i)]; });
    table.add_uint("moment_count", [&](std::size_t i) { return devices.entries[SnapshotDeviceId(i)].size() + 1; });
    table.add_uint("allocation_count", [&](std::size_t i) { return facts(i).allocations.size(); });
    table.add_uint("segment_count",
                   [&](std::size_t i) { return has_segments() ? devices.segments[SnapshotDeviceId(i)].size() : 0; });
    table.add_uint("has_history", [&](std::size_t i) { return facts(i).has_history ? 1 : 0; });
    for (std::size_t kind = 0; kind < kMemoryLevelKindCount; ++kind) {
      const std::string name(memory_level_name(static_cast<MemoryLevelKind>(kind)));
      table.add_delta(name + "_peak_bytes", [&](std::size_t i) { return facts(i).levels[kind].peak_bytes; });
      table.add_delta(name + "_end_bytes", [&](std::size_t i) { return facts(i).levels[kind].end_bytes; });
      table.add_uint(name + "_peak_moment",
                     [&](std::size_t i) { return moment_of(SnapshotDeviceId(i), facts(i).levels[kind].peak_entry); });
    }
    table.add_delta("free_bytes", [&](std::size_t i) { return facts(i).fragmentation.free_bytes; });
    table.add_delta("largest_free_bytes", [&](std::size_t i) { return facts(i).fragmentation.largest_free_bytes; });
    table.add_delta("free_piece_count", [&](std::size_t i) { return facts(i).fragmentation.free_piece_count; });
    return table;
  }

  // Device after device, a row for each moment.
  PageTable moments() {
    std::vector<std::int64_t> time_us, allocated, reserved;
    for (const SnapshotDeviceId device : snapshot_.devices.ids().ids()) {
      const auto levels = compute_level(snapshot_, facts_, device, MemoryLevelKind::kAllocated);
      const auto held = compute_level(snapshot_, facts_, device, MemoryLevelKind::kReserved);
      allocated.insert(allocated.end(), levels.begin(), levels.end());
      reserved.insert(reserved.end(), held.begin(), held.end());
      add_times(device, time_us);
    }
    PageTable table("moments", time_us.size());
    table.add_delta("time_us", [&](std::size_t i) { return time_us[i]; });
    table.add_delta("allocated_bytes", [&](std::size_t i) { return allocated[i]; });
    table.add_delta("reserved_bytes", [&](std::size_t i) { return reserved[i]; });
    return table;
  }
  // Since the device's first entry that has a time; clocks that step back stand still.
  void add_times(SnapshotDeviceId device, std::vector<std::int64_t>& out) const {
    MaybeInt first;
    std::int64_t now = 0;
    out.push_back(0);
    for (const SnapshotEntryId id : snapshot_.devices.entries[device].ids()) {
      const MaybeInt time_us = snapshot_.entries.time_us[id];
      if (time_us.has_value() && !first.has_value()) first = time_us;
      // Both may be any number of a damaged file, so their difference is taken unsigned.
      if (time_us.has_value() && time_us.value() > first.value()) {
        const auto since = static_cast<std::uint64_t>(time_us.value()) - static_cast<std::uint64_t>(first.value());
        now = std::max(now, static_cast<std::int64_t>(std::min<std::uint64_t>(since, kMostMicroseconds)));
      }
      out.push_back(now);
    }
  }

  PageTable allocations() {
    const Allocations& all = facts_.allocations;
    std::vector<AllocationId> rows;
    std::vector<SnapshotDeviceId> device_of;
    for (const SnapshotDeviceId device : snapshot_.devices.ids().ids()) {
      for (const AllocationId id : facts_.devices[device].allocations.ids()) {
        rows.push_back(id);
        device_of.push_back(device);
      }
    }
    PageTable table("allocations", rows.size());
    table.add_delta("alloc_moment", [&](std::size_t i) { return moment_of(device_of[i], all.alloc_entry[rows[i]]); });
    table.add_delta("free_moment",
                    [&](std::size_t i) { return moment_of(device_of[i], all.free_completed_entry[rows[i]]); });
    table.add_uint("requested_bytes", [&](std::size_t i) { return all.requested_bytes[rows[i]]; });
    table.add_uint("size_bytes", [&](std::size_t i) { return all.size_bytes[rows[i]]; });
    table.add_uint("category", [&](std::size_t i) { return static_cast<unsigned>(all.category[rows[i]]); });
    table.add_uint("line",
                   [&](std::size_t i) { return line_of(all.stack[rows[i]], !all.alloc_entry[rows[i]].has_value()); });
    table.add_uint("stack", [&](std::size_t i) { return link(all.stack[rows[i]]); });
    table.add_uint("is_inferred", [&](std::size_t i) {
      return static_cast<unsigned>(all.category_source[rows[i]] == CategorySource::kInferred);
    });
    table.add_uint("is_sum", [&](std::size_t i) { return all.is_sum[rows[i]]; });
    return table;
  }

  // A trace tells no segments: the one of its snapshot is made up.
  [[nodiscard]] bool has_segments() const { return snapshot_.info.format != kTraceSnapshotFormat; }

  template <class IdType>
  static std::uint32_t link(IdType id) {
    return id.has_value() ? id.value + 1 : 0;
  }

  // The user's line that allocated, as group_live() names it.
  std::uint32_t line_of(SnapshotStackId stack, bool is_older) {
    if (!stack.has_value()) return texts_.number(is_older ? kOlderThanHistory : kNoFramesRecorded);
    std::uint32_t& line = line_of_stack_[stack.value];
    if (line == 0) {
      const SnapshotFrameId frame = find_user_frame(snapshot_, stack);
      line = texts_.number(frame.has_value() ? describe_frame(snapshot_, frame) : std::string(kNoFramesRecorded));
    }
    return line;
  }

  void add_stacks(std::vector<PageTable>& out) {
    PageTable stacks("stacks", snapshot_.stacks.size());
    stacks.add_uint("frame_count", [&](std::size_t i) { return snapshot_.stacks.frames_count[SnapshotStackId(i)]; });
    std::vector<SnapshotFrameId> frames;
    for (const SnapshotStackId stack : snapshot_.stacks.ids().ids()) {
      for (const SnapshotFrameId frame : snapshot_.frames_of(stack)) frames.push_back(frame);
    }
    std::vector<std::uint32_t> text_of_frame(snapshot_.frames.size(), 0);
    PageTable table("stack_frames", frames.size());
    table.add_uint("text", [&](std::size_t i) {
      std::uint32_t& text = text_of_frame[frames[i].value];
      if (text == 0) text = texts_.number(describe_frame(snapshot_, frames[i]));
      return text;
    });
    out.push_back(std::move(stacks));
    out.push_back(std::move(table));
  }

  void add_segments(std::vector<PageTable>& out) {
    const SnapshotSegments& segments = snapshot_.segments;
    const SnapshotBlocks& blocks = snapshot_.blocks;
    PageTable table("segments", has_segments() ? segments.size() : 0);
    table.add_uint("device", [&](std::size_t i) { return segments.device[SnapshotSegmentId(i)].value; });
    table.add_delta("address", [&](std::size_t i) { return segments.address[SnapshotSegmentId(i)]; });
    table.add_uint("total_bytes", [&](std::size_t i) { return segments.total_bytes[SnapshotSegmentId(i)]; });
    table.add_uint("is_small", [&](std::size_t i) { return segments.is_small[SnapshotSegmentId(i)]; });
    table.add_uint("is_expandable", [&](std::size_t i) { return segments.is_expandable[SnapshotSegmentId(i)]; });
    table.add_uint("stream", [&](std::size_t i) { return link(segments.stream[SnapshotSegmentId(i)]); });
    table.add_uint("block_count", [&](std::size_t i) { return segments.blocks[SnapshotSegmentId(i)].size(); });
    out.push_back(std::move(table));
    std::vector<SnapshotBlockId> rows;
    for (const SnapshotSegmentId segment : segments.ids().ids()) {
      if (!has_segments()) break;
      for (const SnapshotBlockId block : segments.blocks[segment].ids()) rows.push_back(block);
    }
    PageTable held("blocks", rows.size());
    held.add_uint("size_bytes", [&](std::size_t i) { return blocks.size_bytes[rows[i]]; });
    held.add_uint("state", [&](std::size_t i) { return static_cast<unsigned>(blocks.state[rows[i]]); });
    held.add_uint("line", [&](std::size_t i) {
      return blocks.state[rows[i]] == BlockState::kInactive ? 0U : line_of(blocks.stack[rows[i]], false);
    });
    out.push_back(std::move(held));
  }

  [[nodiscard]] PageTable ooms() const {
    std::vector<std::pair<SnapshotDeviceId, const OomFacts*>> rows;
    for (const DeviceMemoryFacts& device : facts_.devices.raw()) {
      for (const OomFacts& oom : device.ooms) rows.emplace_back(device.device, &oom);
    }
    PageTable table("ooms", rows.size());
    table.add_uint("device", [&](std::size_t i) { return rows[i].first.value; });
    table.add_uint("moment", [&](std::size_t i) { return moment_of(rows[i].first, rows[i].second->entry); });
    table.add_uint("request_bytes", [&](std::size_t i) { return rows[i].second->request_bytes; });
    table.add_uint("is_fragmentation", [&](std::size_t i) { return rows[i].second->is_fragmentation ? 1 : 0; });
    return table;
  }

  [[nodiscard]] PageTable steps() const {
    struct Row {
      std::uint32_t device;
      std::int64_t number;
      std::size_t begin, end;
    };
    std::vector<Row> rows;
    for (const SnapshotDeviceId device : snapshot_.devices.ids().ids()) {
      const MemorySteps& steps = facts_.steps[device];
      for (std::size_t k = 0; k + 1 < steps.moments.size(); ++k) {
        rows.push_back({device.value, steps.numbers[k], steps.moments[k], steps.moments[k + 1]});
      }
    }
    PageTable table("steps", rows.size());
    table.add_uint("device", [&](std::size_t i) { return rows[i].device; });
    table.add_delta("number", [&](std::size_t i) { return rows[i].number; });
    table.add_delta("begin_moment", [&](std::size_t i) { return rows[i].begin; });
    table.add_delta("end_moment", [&](std::size_t i) { return rows[i].end; });
    return table;
  }

  static constexpr std::uint64_t kMostMicroseconds = std::uint64_t{1} << 50;  // 35 years: no recording lasts longer

  const MemorySnapshot& snapshot_;
  const MemoryFacts& facts_;
  PageTexts texts_;
  std::vector<std::uint32_t> line_of_stack_;
};

}  // namespace

std::string build_memory_page_bytes(const MemorySnapshot& snapshot, const MemoryFacts& facts) {
  return MemoryTables(snapshot, facts).write();
}

std::string build_memory_page_data(const MemorySnapshot& snapshot, const MemoryFacts& facts) {
  return pack_for_page(build_memory_page_bytes(snapshot, facts));
}

}  // namespace stepscope
