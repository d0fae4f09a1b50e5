// dump_facts FILE [MOMENT...]: the facts of every device as JSON, and the live set by line at each moment named (start,
// #ENTRY, ...); for test_memory_facts.py, which compares them with what it knows of its own histories.
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "memory/facts.h"
#include "memory/snapshot_reader.h"

namespace {

using namespace stepscope;
using Json = nlohmann::ordered_json;

Json entry_of(const MemorySnapshot& snapshot, SnapshotDeviceId device, SnapshotEntryId entry) {
  return entry.has_value() ? Json(entry.value - snapshot.devices.entries[device].begin) : Json();
}

Json groups_of(const std::vector<LiveGroup>& groups) {
  Json made = Json::object();
  for (const LiveGroup& group : groups) made[group.name] = {group.bytes, group.count.value()};
  return made;
}

Json device_of(const MemorySnapshot& snapshot, const MemoryFacts& facts, const DeviceMemoryFacts& device,
               const std::vector<std::string>& moments) {
  Json made;
  for (std::size_t kind = 0; kind < kMemoryLevelKindCount; ++kind) {
    const LevelFacts& level = device.levels[kind];
    made[std::string(memory_level_name(static_cast<MemoryLevelKind>(kind)))] = {
        level.start_bytes, level.peak_bytes, level.end_bytes, entry_of(snapshot, device.device, level.peak_entry)};
  }
  made["estimated"] = device.estimated_size_count;
  made["contradictions"] = device.contradiction_count;
  made["older"] = device.older_count.value();
  made["is_whole_life"] = device.is_whole_life;
  made["ooms"] = Json::array();
  for (const OomFacts& oom : device.ooms) {
    Json fact = {{"entry", entry_of(snapshot, device.device, oom.entry)},
                 {"request", oom.request_bytes},
                 {"reserved", oom.reserved_bytes},
                 {"allocated", oom.allocated_bytes}};
    if (oom.fragmentation.has_value()) {
      const Fragmentation& usable = oom.fragmentation->usable;
      fact["usable"] = {usable.free_bytes, usable.largest_free_bytes, usable.free_piece_count};
    }
    made["ooms"].push_back(fact);
  }
  made["steps"] = facts.steps[device.device].peak_bytes;
  made["categories"] = Json::array();  // of each allocation: address, entry, category
  for (const AllocationId row : device.allocations.ids()) {
    made["categories"].push_back({facts.allocations.address[row],
                                  entry_of(snapshot, device.device, facts.allocations.alloc_entry[row]),
                                  memory_category_name(facts.allocations.category[row])});
  }
  made["live"] = Json::array();
  std::size_t before = 0;
  for (const std::string& text : moments) {
    const auto moment = find_moment(snapshot, facts, device.device, text);
    if (!moment) continue;
    const auto live = find_live(snapshot, facts, device.device, *moment);
    made["live"].push_back(groups_of(group_live(snapshot, facts, live, LiveGrouping::kLine)));
    made["growth"].push_back(
        groups_of(find_growth(snapshot, facts, device.device, before, *moment, LiveGrouping::kLine)));
    before = *moment;
  }
  made["never_freed"] = groups_of(group_never_freed(snapshot, facts, device.device, LiveGrouping::kLine));
  for (const ByteTimeGroup& group : group_byte_time(snapshot, facts, device.device, LiveGrouping::kLine)) {
    made["byte_seconds"][group.name] = group.byte_seconds;
  }
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  std::FILE* file = argc < 2 ? nullptr : std::fopen(argv[1], "rb");
  if (file == nullptr) return 2;
  const auto snapshot = read_snapshot(
      argv[1], [&](char* into, std::size_t size) -> Result<std::size_t> { return std::fread(into, 1, size, file); });
  std::fclose(file);
  if (!snapshot) {
    std::cerr << snapshot.error().to_string() << '\n';
    return 3;
  }
  const MemoryFacts facts = compute_memory_facts(*snapshot);
  Json devices = Json::object();
  for (const DeviceMemoryFacts& device : facts.devices.raw()) {
    devices[std::to_string(snapshot->devices.number[device.device])] =
        device_of(*snapshot, facts, device, std::vector<std::string>(argv + 2, argv + argc));
  }
  std::cout << devices.dump() << '\n';
}
