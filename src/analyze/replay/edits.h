// A what-if as a list of changes to the unchanged run, and how they become edge weights.
#pragma once

#include "analyze/replay/profiler_cost.h"

namespace stepscope {

using LaneMask = std::uint8_t;
[[nodiscard]] constexpr LaneMask lane_bit(Lane lane) { return static_cast<LaneMask>(1U << lane); }
inline constexpr LaneMask kEveryLane = (1U << kLaneCount) - 1;

// Empty vectors change nothing.
struct Edits {
  LabelMask zero_labels = 0;              // host work that takes no time
  std::vector<double> kept_work;          // by WorkId: the share of the work that stays
  std::vector<std::uint8_t> is_unwaited;  // by index into waits: the call returns at once
  std::vector<Lanes> shorter_ns;          // by UnitEndId: taken from the unit's duration
  std::vector<std::uint8_t> is_tight;     // by UnitId: no gap before it, no unexplained delay
  std::vector<LaneMask> detached;         // by UnitId: lanes in which later work on its stream does not wait for it

  [[nodiscard]] bool empty() const {
    return zero_labels == 0 && kept_work.empty() && is_unwaited.empty() && shorter_ns.empty() && is_tight.empty() &&
           detached.empty();
  }
  void shorten(const ReplayGraph& graph, UnitEndId end, const Lanes& by_ns);
  void tighten(const ReplayGraph& graph, UnitId unit);
  void detach(const ReplayGraph& graph, UnitId unit, LaneMask lanes);
  void unwait(std::size_t wait_count, std::size_t wait);
};

// Weights after the edits; true if any weight differs from `unchanged`.
bool apply_edits(const ReplayGraph& graph, const ProfilerCost& cost, const std::vector<Lanes>& unchanged,
                 const Edits& edits, std::vector<Lanes>& weights);

}  // namespace stepscope
