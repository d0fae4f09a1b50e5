// The passes over each device, in order: pair what was allocated with what was freed; settle the true sizes; sum the
// levels; look at free pieces and failures; join spans, categories
// and steps. Each pass reads what the ones before it wrote.
#include "memory/facts.h"

#include <algorithm>

#include "memory/block_layout.h"
#include "memory/categories.h"
#include "memory/fragmentation.h"
#include "memory/levels.h"
#include "memory/pairing.h"
#include "memory/spans.h"

namespace stepscope {
namespace {

LevelFacts& level_of(DeviceMemoryFacts& device, MemoryLevelKind kind) {
  return device.levels[static_cast<std::size_t>(kind)];
}

void count_device_calls(const MemorySnapshot& snapshot, DeviceMemoryFacts& device) {
  for (const SnapshotEntryId entry : snapshot.devices.entries[device.device].ids()) {
    switch (snapshot.entries.action[entry]) {
      case AllocatorAction::kSegmentAlloc:
      case AllocatorAction::kSegmentMap:
        ++device.cuda_malloc_count;
        device.has_history = true;
        break;
      case AllocatorAction::kSegmentFree:
      case AllocatorAction::kSegmentUnmap:
        ++device.cuda_free_count;
        device.has_history = true;
        break;
      case AllocatorAction::kAlloc:
      case AllocatorAction::kFreeRequested:
      case AllocatorAction::kFreeCompleted:
        device.has_history = true;
        break;
      default:
        break;
    }
  }
}

MaybeInt count_older(const Allocations& allocations, IdRange<AllocationId> rows) {
  MaybeInt count = 0;
  for (const AllocationId row : rows.ids()) {
    if (allocations.alloc_entry[row].has_value()) break;
    count = add_counts(count, count_of(allocations, row));
  }
  return count;
}

void pair_and_size(const MemorySnapshot& snapshot, DeviceMemoryFacts& device, Allocations& allocations) {
  const BlockRounding rounding(snapshot.settings);
  const Pairing pairing = pair_allocations(snapshot, device.device, rounding, allocations);
  device.allocations = pairing.rows;
  device.contradiction_count = pairing.contradiction_count;
  device.older_count = count_older(allocations, pairing.rows);
  device.estimated_size_count =
      follow_block_layout(snapshot, device.device, pairing, rounding, allocations).estimated_count;
}

void sum_levels(const MemorySnapshot& snapshot, const Allocations& allocations, DeviceMemoryFacts& device,
                std::vector<std::int64_t>& allocated) {
  const IdRange<SnapshotEntryId> entries = snapshot.devices.entries[device.device];
  std::vector<std::int64_t> reserved;
  for (const MemoryLevelKind kind : {MemoryLevelKind::kRequested, MemoryLevelKind::kAllocated, MemoryLevelKind::kActive,
                                     MemoryLevelKind::kReserved}) {
    std::vector<std::int64_t> level = sum_level(snapshot, allocations, device.allocations, device.device, kind);
    LevelFacts& facts = level_of(device, kind);
    facts = summarize_level(level, entries);
    if (!device.has_history) facts = {0, 0, facts.end_bytes, {}};
    if (kind == MemoryLevelKind::kAllocated) allocated = std::move(level);
    if (kind == MemoryLevelKind::kReserved) reserved = std::move(level);
  }
  device.ooms = find_ooms(snapshot, device.device, reserved, allocated);
}

bool is_whole_life(const MemorySnapshot& snapshot, DeviceMemoryFacts& device) {
  return device.has_history && device.older_count == MaybeInt{0} && device.contradiction_count == 0 &&
         level_of(device, MemoryLevelKind::kReserved).start_bytes == 0 &&
         snapshot.devices.is_history_cut[device.device] == 0;
}

// The device with most allocations and frees; where nothing was recorded, the one that holds most.
SnapshotDeviceId find_main_device(const MemoryFacts& facts) {
  SnapshotDeviceId main;
  const auto weight = [&](SnapshotDeviceId device) {
    const DeviceMemoryFacts& each = facts.devices[device];
    const std::size_t reserved = static_cast<std::size_t>(MemoryLevelKind::kReserved);
    return std::tuple(each.has_history, each.has_history ? each.allocations.size() : 0,
                      each.levels[reserved].end_bytes);
  };
  for (std::size_t at = 0; at < facts.devices.size(); ++at) {
    const SnapshotDeviceId device(at);
    if (!main.has_value() || weight(device) > weight(main)) main = device;
  }
  return main;
}

}  // namespace

MemoryFacts compute_memory_facts(const MemorySnapshot& snapshot, const MemoryFactsOptions& options) {
  MemoryFacts facts;
  const DeviceAnnotations all_annotations(snapshot);
  for (const SnapshotDeviceId id : snapshot.devices.ids().ids()) {
    DeviceMemoryFacts device;
    device.device = id;
    count_device_calls(snapshot, device);
    pair_and_size(snapshot, device, facts.allocations);

    std::vector<std::int64_t> allocated;
    sum_levels(snapshot, facts.allocations, device, allocated);
    measure_fragmentation(snapshot, device);
    device.is_whole_life = is_whole_life(snapshot, device);

    const std::vector<SnapshotAnnotationId>& annotations = all_annotations.of(id);
    const std::vector<std::size_t> moments = find_annotation_moments(snapshot, id, annotations);
    assign_spans(snapshot, id, annotations, moments, device.allocations, facts.allocations);
    infer_categories(snapshot, id, device.allocations, facts.allocations);
    MemorySteps steps = find_memory_steps(snapshot, id, annotations, moments, options.steps_name);
    measure_steps(snapshot, id, allocated, steps);

    facts.devices.push_back(std::move(device));
    facts.steps.push_back(std::move(steps));
  }
  facts.main_device = find_main_device(facts);
  return facts;
}

}  // namespace stepscope
