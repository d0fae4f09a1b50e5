// Names are made once for each distinct stack, not for each allocation: a training run has hundreds of stacks and
// hundreds of thousands of allocations.
#include "memory/grouping.h"

#include <algorithm>

#include "memory/levels.h"
#include "memory/module_names.h"

namespace stepscope {
namespace {

std::string join_stack(const MemorySnapshot& snapshot, SnapshotStackId stack) {
  std::string text;
  const std::span<const SnapshotFrameId> frames = snapshot.frames_of(stack);
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    if (!text.empty()) text += ';';
    text += describe_frame(snapshot, *frame);
  }
  return text;
}

std::string name_stream(const MemorySnapshot& snapshot, SnapshotStreamId stream) {
  if (!stream.has_value()) return std::string(kNoStreamRecorded);
  return "stream " + std::to_string(snapshot.streams[stream]);
}

std::string name_pool(const MemorySnapshot& snapshot, SnapshotPoolId pool) {
  if (!pool.has_value()) return std::string(kNoPoolRecorded);
  const auto& [first, second] = snapshot.pools[pool];
  if (first == 0 && second == 0) return "default pool";
  return "private pool (" + std::to_string(first) + ", " + std::to_string(second) + ")";
}

}  // namespace

AllocationGroups::AllocationGroups(const MemorySnapshot& snapshot, const MemoryFacts& facts, LiveGrouping by)
    : snapshot_(snapshot), facts_(facts), by_(by) {
  if (by != LiveGrouping::kLine && by != LiveGrouping::kStack && by != LiveGrouping::kModule) return;
  origins_ = find_frame_origins(snapshot);
  group_of_stack_.assign(snapshot.stacks.size(), kUnknownGroup);
  group_of_forward_.assign(snapshot.stacks.size(), kUnknownGroup);
}

std::uint32_t AllocationGroups::find(AllocationId allocation) {
  switch (by_) {
    case LiveGrouping::kLine:
    case LiveGrouping::kStack:
      return group_of_stack(allocation);
    case LiveGrouping::kModule:
      return group_of_module(allocation);
    default:
      return group_named(name_plainly(allocation));
  }
}

std::uint32_t AllocationGroups::group_named(std::string name) {
  const auto [found, is_new] = numbers_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
  if (is_new) names_.push_back(std::move(name));
  return found->second;
}

SnapshotStackId AllocationGroups::forward_of(AllocationId allocation) const {
  const SnapshotEntryId made = facts_.allocations.alloc_entry[allocation];
  return made.has_value() ? snapshot_.entries.forward_stack[made] : SnapshotStackId{};
}

std::uint32_t AllocationGroups::group_of_stack(AllocationId allocation) {
  const SnapshotStackId stack = facts_.allocations.stack[allocation];
  const SnapshotStackId forward = by_ == LiveGrouping::kLine ? forward_of(allocation) : SnapshotStackId{};
  if (!stack.has_value()) {
    return forward.has_value() ? group_of_forward(forward) : group_named(name_without_stack(allocation));
  }
  if (forward.has_value()) {
    const SnapshotFrameId frame = find_user_frame(snapshot_, origins_, stack);
    if (frame.has_value() && origins_[frame] == FrameOrigin::kNative) return group_of_forward(forward);
  }
  std::uint32_t& group = group_of_stack_[stack.value];
  if (group == kUnknownGroup) group = group_named(name_stack(stack));
  return group;
}

std::uint32_t AllocationGroups::group_of_forward(SnapshotStackId forward) {
  std::uint32_t& group = group_of_forward_[forward.value];
  if (group == kUnknownGroup) group = group_named(std::string(kBackwardOf) + name_stack(forward));
  return group;
}

std::uint32_t AllocationGroups::group_of_module(AllocationId allocation) {
  const SnapshotStackId forward = forward_of(allocation);
  const SnapshotStackId stack = forward.has_value() ? forward : facts_.allocations.stack[allocation];
  if (!stack.has_value()) return group_named(name_without_stack(allocation));
  std::uint32_t& group = group_of_stack_[stack.value];
  if (group == kUnknownGroup) group = group_named(name_stack(stack));
  return group;
}

std::string AllocationGroups::name_stack(SnapshotStackId stack) const {
  switch (by_) {
    case LiveGrouping::kStack:
      return join_stack(snapshot_, stack);
    case LiveGrouping::kModule:
      return name_module(snapshot_, origins_, stack);
    default:
      return describe_frame(snapshot_, find_user_frame(snapshot_, origins_, stack));
  }
}

// A block older than the history has a stack only if it is live at the end and its recorder was on: without any stack
// in the file it was off.
std::string AllocationGroups::name_without_stack(AllocationId allocation) const {
  const Allocations& allocations = facts_.allocations;
  const bool is_older = !allocations.alloc_entry[allocation].has_value();
  const bool is_in_segments = !allocations.free_completed_entry[allocation].has_value();
  const bool has_no_stacks = snapshot_.stacks.empty();
  const bool is_unknown = is_older && !(is_in_segments && has_no_stacks);
  return std::string(is_unknown ? kOlderThanHistory : kNoFramesRecorded);
}

std::string AllocationGroups::name_plainly(AllocationId allocation) const {
  const Allocations& allocations = facts_.allocations;
  switch (by_) {
    case LiveGrouping::kCategory:
      return std::string(memory_category_name(allocations.category[allocation]));
    case LiveGrouping::kSpan: {
      const SnapshotAnnotationId span = allocations.span[allocation];
      if (span.has_value()) return std::string(snapshot_.text(snapshot_.annotations.name[span]));
      return std::string(allocations.alloc_entry[allocation].has_value() ? kOutsideSpans : kOlderThanHistory);
    }
    case LiveGrouping::kStream:
      return name_stream(snapshot_, allocations.stream[allocation]);
    case LiveGrouping::kPool:
      return name_pool(snapshot_, find_pool(allocation));
    default:
      return name_device(allocation);
  }
}

// Entries name their pool since torch 2.12; before, the segment that lies there at the end does.
SnapshotPoolId AllocationGroups::find_pool(AllocationId allocation) const {
  const SnapshotPoolId recorded = facts_.allocations.pool[allocation];
  if (recorded.has_value()) return recorded;
  const std::uint64_t address = facts_.allocations.address[allocation];
  for (const DeviceMemoryFacts& device : facts_.devices.raw()) {
    if (allocation.value < device.allocations.begin || allocation.value >= device.allocations.end) continue;
    const IdRange<SnapshotSegmentId> segments = snapshot_.devices.segments[device.device];
    const auto& starts = snapshot_.segments.address.raw();
    const auto after = std::upper_bound(starts.begin() + segments.begin, starts.begin() + segments.end, address);
    if (after == starts.begin() + segments.begin) return {};
    const SnapshotSegmentId segment(static_cast<std::size_t>(after - starts.begin()) - 1);
    const auto inside = static_cast<std::int64_t>(address - snapshot_.segments.address[segment]);
    return inside < snapshot_.segments.total_bytes[segment] ? snapshot_.segments.pool[segment] : SnapshotPoolId{};
  }
  return {};
}

std::string AllocationGroups::name_device(AllocationId allocation) const {
  for (const DeviceMemoryFacts& device : facts_.devices.raw()) {
    if (allocation.value < device.allocations.begin || allocation.value >= device.allocations.end) continue;
    return "cuda:" + std::to_string(snapshot_.devices.number[device.device]);
  }
  return "unknown";
}

namespace {

std::vector<LiveGroup> sort_groups(std::vector<LiveGroup> groups) {
  std::sort(groups.begin(), groups.end(), [](const LiveGroup& a, const LiveGroup& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.name < b.name;
  });
  return groups;
}

}  // namespace

std::vector<LiveGroup> group_live(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                  std::span<const AllocationId> live, LiveGrouping by) {
  AllocationGroups groups(snapshot, facts, by);
  std::vector<LiveGroup> sums;
  for (const AllocationId allocation : live) {
    const std::uint32_t group = groups.find(allocation);
    if (group >= sums.size()) sums.push_back({groups.name(group), 0, 0});
    sums[group].bytes = add_wrapping(sums[group].bytes, facts.allocations.requested_bytes[allocation]);
    sums[group].count = add_counts(sums[group].count, count_of(facts.allocations, allocation));
  }
  return sort_groups(std::move(sums));
}

std::vector<LiveGroup> find_growth(const MemorySnapshot& snapshot, const MemoryFacts& facts, SnapshotDeviceId device,
                                   std::size_t before, std::size_t after, LiveGrouping by) {
  const std::size_t first_entry = snapshot.devices.entries[device].begin + before;
  std::vector<AllocationId> grown = find_live(snapshot, facts, device, after);
  std::erase_if(grown, [&](AllocationId row) {
    const SnapshotEntryId made = facts.allocations.alloc_entry[row];
    return !made.has_value() || made.value < first_entry;
  });
  return group_live(snapshot, facts, grown, by);
}

std::vector<StepGrowth> find_step_growth(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                         SnapshotDeviceId device, LiveGrouping by) {
  const std::vector<std::size_t>& moments = facts.steps[device].moments;
  if (moments.size() < 3) return {};
  AllocationGroups groups(snapshot, facts, by);
  std::vector<StepGrowth> sums;
  std::vector<std::size_t> newest_step;
  const auto count = [&](AllocationId row, bool is_more) {
    const std::uint32_t group = groups.find(row);
    if (group >= sums.size()) {
      sums.push_back({{groups.name(group), 0, 0}, 0});
      newest_step.push_back(0);
    }
    LiveGroup& grown = sums[group].grown;
    const std::int64_t bytes = facts.allocations.requested_bytes[row];
    grown.bytes = is_more ? add_wrapping(grown.bytes, bytes) : subtract_wrapping(grown.bytes, bytes);
    grown.count = grown.count.value() + (is_more ? 1 : -1);
    return group;
  };
  for (const AllocationId row : find_changing(snapshot, facts, device, moments[1])) count(row, false);
  const std::size_t first_entry = snapshot.devices.entries[device].begin;
  const std::size_t last_step = moments.size() - 2;
  for (const AllocationId row :
       find_changing(snapshot, facts, device, moments.back())) {  // in the order of their making
    const std::uint32_t group = count(row, true);
    const SnapshotEntryId made = facts.allocations.alloc_entry[row];
    if (!made.has_value() || made.value < first_entry + moments[1]) continue;
    const auto next = std::upper_bound(moments.begin(), moments.end(), made.value - first_entry);
    const auto step = static_cast<std::size_t>(next - moments.begin()) - 1;
    if (step >= last_step || step == newest_step[group]) continue;
    newest_step[group] = step;
    ++sums[group].step_count;
  }
  std::erase_if(sums, [](const StepGrowth& sum) { return sum.grown.bytes == 0; });
  std::sort(sums.begin(), sums.end(), [](const StepGrowth& a, const StepGrowth& b) {
    return a.grown.bytes != b.grown.bytes ? a.grown.bytes > b.grown.bytes : a.grown.name < b.grown.name;
  });
  return sums;
}

std::vector<LiveGroup> group_never_freed(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                         SnapshotDeviceId device, LiveGrouping by) {
  std::vector<AllocationId> kept;
  for (const AllocationId row : facts.devices[device].allocations.ids()) {
    const bool is_made = facts.allocations.alloc_entry[row].has_value();
    if (is_made && end_of(facts.allocations, row) == AllocationEnd::kHeld) kept.push_back(row);
  }
  return group_live(snapshot, facts, kept, by);
}

}  // namespace stepscope
