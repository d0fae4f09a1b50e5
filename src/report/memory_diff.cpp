// Two live sets by name: groups of one name are one row, whatever addresses and order they have. The rows that do not
// differ are left out, and the others sum to the difference of the whole, in bytes.
#include <algorithm>
#include <cstdlib>
#include <map>

#include "report/memory_build.h"
#include "report/text.h"

namespace stepscope {
namespace {

struct Side {
  std::string at;
  std::vector<LiveGroup> groups;
};

Result<Side> side_of(const MemorySnapshot& snapshot, const MemoryFacts& facts, const MemoryReportOptions& options) {
  const auto device = find_shown_device(snapshot, facts, options.device_number);
  if (!device) return device.error();
  if (!device->has_value()) return Side{"end", {}};
  const auto chosen = choose_moment(snapshot, facts, *device, options);
  if (!chosen) return chosen.error();
  const auto live = find_live(snapshot, facts, *device, chosen->moment);
  return Side{chosen->at, group_live(snapshot, facts, live, options.by.value_or(LiveGrouping::kLine))};
}

}  // namespace

Result<MemoryDiffReport> build_memory_diff(const MemorySnapshot& before, const MemoryFacts& before_facts,
                                           const MemorySnapshot& after, const MemoryFacts& after_facts,
                                           const MemoryReportOptions& options) {
  const auto first = side_of(before, before_facts, options);
  if (!first) return first.error();
  const auto second = side_of(after, after_facts, options);
  if (!second) return second.error();
  MemoryDiffReport diff;
  diff.other = clean_text(after.info.source);
  diff.at = clean_text(first->at);
  diff.other_at = clean_text(second->at);
  diff.by = options.by.value_or(LiveGrouping::kLine);
  std::map<std::string, MemoryDiffRow> rows;
  for (const LiveGroup& group : first->groups) {
    MemoryDiffRow& row = rows[group.name];
    row.before_bytes += group.bytes;
    row.before_count = add_counts(row.before_count, group.count);
    diff.before_bytes += group.bytes;
  }
  for (const LiveGroup& group : second->groups) {
    MemoryDiffRow& row = rows[group.name];
    row.after_bytes += group.bytes;
    row.after_count = add_counts(row.after_count, group.count);
    diff.after_bytes += group.bytes;
  }
  for (auto& [line, row] : rows) {
    if (row.before_bytes == row.after_bytes && row.before_count == row.after_count) continue;
    row.line = clean_text(line);
    diff.rows.push_back(std::move(row));
  }
  std::stable_sort(diff.rows.begin(), diff.rows.end(), [](const MemoryDiffRow& a, const MemoryDiffRow& b) {
    return std::abs(a.difference_bytes()) > std::abs(b.difference_bytes());
  });
  return diff;
}

}  // namespace stepscope
