// What the highest step holds that an ordinary one does not: both steps are real ones, so the differences add up to the
// difference of their live sets. A median of each group over all steps would not.
#include <algorithm>
#include <map>
#include <numeric>

#include "memory/facts.h"
#include "memory/levels.h"

namespace stepscope {
namespace {

std::vector<LiveGroup> live_at_peak(const MemorySnapshot& snapshot, const MemoryFacts& facts, SnapshotDeviceId device,
                                    std::size_t step, LiveGrouping by) {
  const MemorySteps& steps = facts.steps[device];
  const SnapshotEntryId peak = steps.peak_entry[step];
  const std::size_t moment = peak.has_value() ? moment_after(snapshot, device, peak) : steps.moments[step];
  return group_live(snapshot, facts, find_changing(snapshot, facts, device, moment), by);
}

std::vector<LiveGroup> subtract_groups(const std::vector<LiveGroup>& more, const std::vector<LiveGroup>& less) {
  std::map<std::string, LiveGroup> differences;
  for (const LiveGroup& group : more) differences[group.name] = group;
  for (const LiveGroup& group : less) {
    LiveGroup& difference = differences[group.name];
    difference.name = group.name;
    difference.bytes = subtract_wrapping(difference.bytes, group.bytes);
    difference.count = difference.count.value() - group.count.value();
  }
  std::vector<LiveGroup> sorted;
  for (auto& [name, group] : differences) {
    if (group.bytes != 0 || group.count != MaybeInt{0}) sorted.push_back(std::move(group));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const LiveGroup& a, const LiveGroup& b) { return a.bytes > b.bytes; });
  return sorted;
}

}  // namespace

std::optional<StepComparison> compare_steps(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                            SnapshotDeviceId device, LiveGrouping by) {
  const std::vector<std::int64_t>& peaks = facts.steps[device].peak_bytes;
  if (peaks.size() < 2) return std::nullopt;
  std::vector<std::size_t> order(peaks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return peaks[a] < peaks[b]; });
  StepComparison comparison;
  comparison.ordinary_step = order[(order.size() - 1) / 2];
  comparison.peak_step =
      *std::find_if(order.begin(), order.end(), [&](std::size_t step) { return peaks[step] == peaks[order.back()]; });
  comparison.peak_bytes = peaks[comparison.peak_step];
  comparison.ordinary_bytes = peaks[comparison.ordinary_step];
  comparison.differences = subtract_groups(live_at_peak(snapshot, facts, device, comparison.peak_step, by),
                                           live_at_peak(snapshot, facts, device, comparison.ordinary_step, by));
  return comparison;
}

}  // namespace stepscope
