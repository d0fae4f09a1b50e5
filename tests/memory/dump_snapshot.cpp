// dump_snapshot FILE: every column of a snapshot as JSON, for test_snapshot_reader.py, which compares it with what
// Python's pickle makes of the same file. Errors are JSON too.
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "memory/snapshot_reader.h"

namespace {

using namespace stepscope;
using Json = nlohmann::ordered_json;

const MemorySnapshot* shown = nullptr;

Json value_of(MaybeInt number) { return number.has_value() ? Json(number.value()) : Json(); }
Json value_of(StringId id) { return shown->text(id); }
Json value_of(std::int64_t number) { return number; }
Json value_of(std::uint64_t number) { return number; }
Json value_of(std::uint8_t number) { return number; }
Json value_of(AllocatorAction action) { return allocator_action_name(action); }
Json value_of(MemoryCategory category) { return memory_category_name(category); }
Json value_of(BlockState state) { return static_cast<int>(state); }
Json value_of(SnapshotStreamId id) { return id.has_value() ? Json(shown->streams[id]) : Json(); }
Json value_of(SnapshotDeviceId id) { return shown->devices.number[id]; }
Json value_of(SnapshotPoolId id) {
  return id.has_value() ? Json::array({shown->pools[id].first, shown->pools[id].second}) : Json();
}
Json value_of(SnapshotStackId id) {
  Json stack = Json::array();
  for (const SnapshotFrameId frame : shown->frames_of(id)) {
    const SnapshotFrames::Row row = shown->frames.row(frame);
    stack.push_back({shown->text(row.name), shown->text(row.file), value_of(row.line)});
  }
  return stack;
}
template <class IdType>
Json value_of(IdRange<IdType> range) {
  return Json::array({range.begin, range.end});
}

template <class Table>
Json table_of(const Table& table) {
  Json rows = Json::array();
  for (const auto id : table.ids().ids()) {
    Json row;
    table.for_each_column([&](std::string_view name, std::string_view, const auto& column) {
      row[std::string(name)] = value_of(column[id]);
    });
    rows.push_back(row);
  }
  return rows;
}

Json notes_of(const Notes& notes) {
  Json list = Json::array();
  for (const Note& note : notes.all()) {
    list.push_back({{"kind", note_kind_name(note.kind)},
                    {"severity", note_severity_name(note.severity)},
                    {"count", note.count},
                    {"first_offset", note.first_offset},
                    {"example", note.example}});
  }
  return list;
}

Json settings_of(const SnapshotSettings& settings) {
  Json out = {{"is_recorded", settings.is_recorded},
              {"conf", settings.conf},
              {"max_split_size_bytes", value_of(settings.max_split_size_bytes)},
              {"roundup_power2_divisions", settings.roundup_power2_divisions},
              {"others", settings.others}};
  if (settings.garbage_collection_threshold)
    out["garbage_collection_threshold"] = *settings.garbage_collection_threshold;
  if (settings.expandable_segments) out["expandable_segments"] = *settings.expandable_segments;
  return out;
}

Json json_of(const MemorySnapshot& snapshot) {
  shown = &snapshot;
  return {{"format", snapshot.info.format},
          {"protocol", snapshot.info.pickle_protocol},
          {"byte_count", snapshot.info.byte_count},
          {"has_history", snapshot.info.has_history},
          {"has_device_traces", snapshot.info.has_device_traces},
          {"max_entries", value_of(snapshot.info.trace_alloc_max_entries)},
          {"host_segments", snapshot.info.host_segment_count},
          {"host_entries", snapshot.info.host_entry_count},
          {"notes", notes_of(snapshot.notes)},
          {"settings", settings_of(snapshot.settings)},
          {"devices", table_of(snapshot.devices)},
          {"entries", table_of(snapshot.entries)},
          {"segments", table_of(snapshot.segments)},
          {"blocks", table_of(snapshot.blocks)},
          {"annotations", table_of(snapshot.annotations)},
          {"frame_count", snapshot.frames.size()},
          {"stack_count", snapshot.stacks.size()}};
}

}  // namespace

int main(int argc, char** argv) {
  std::FILE* file = argc == 2 ? std::fopen(argv[1], "rb") : nullptr;
  if (file == nullptr) {
    std::fputs("usage: dump_snapshot FILE\n", stderr);
    return 2;
  }
  const auto read = [&](char* into, std::size_t size) -> Result<std::size_t> {
    return std::fread(into, 1, size, file);
  };
  const auto snapshot = read_snapshot(argv[1], read);
  std::fclose(file);
  const Json out = snapshot ? json_of(*snapshot) : Json{{"error", snapshot.error().to_string()}};
  std::cout << out.dump(-1, ' ', false, Json::error_handler_t::replace) << "\n";
  return snapshot ? 0 : 1;
}
