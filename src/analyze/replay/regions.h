// Stretches of host threads that a what-if takes away, with or without the GPU work launched in them.
#pragma once

#include "analyze/replay/edits.h"
#include "analyze/replay/window.h"

namespace stepscope {

class HostRegions {
 public:
  void add(ThreadId thread, Interval at);
  void finish();  // call once, after the last add()
  [[nodiscard]] bool empty() const { return by_thread_.empty(); }
  [[nodiscard]] bool contains(ThreadId thread, TimeNs at_ns) const;
  [[nodiscard]] DurationNs overlap_ns(ThreadId thread, Interval at) const;

 private:
  [[nodiscard]] const IntervalSet* find(ThreadId thread) const;
  std::vector<IntervalSet> by_thread_;
};

// Host work in the regions is cut to the share `kept`.
void cut_host(const ReplayGraph& graph, const HostRegions& regions, double kept, Edits& edits);
// Calls in the regions wait for nothing.
void cut_waits(const ReplayInput& input, const HostRegions& regions, Edits& edits);
// Is the unit launched in the regions?
[[nodiscard]] bool launched_in(const ReplayInput& input, const GpuUnit& unit, const HostRegions& regions);
// The unit takes no time.
void remove_unit(const ReplayGraph& graph, UnitId unit, Edits& edits);
// Host work, waits and GPU work of the regions are gone.
void remove_regions(const ReplayInput& input, const ReplayGraph& graph, const HostRegions& regions, Edits& edits);

// The stretches of operators whose names match one of the patterns ('*' stands for anything), in the window.
struct MatchedOperators {
  HostRegions regions;
  std::int64_t count = 0;
};
[[nodiscard]] MatchedOperators match_operators(const ReplayInput& input, const ReplayWindow& window,
                                               const std::vector<std::string>& patterns);
[[nodiscard]] bool matches_pattern(std::string_view text, std::string_view pattern);

}  // namespace stepscope
