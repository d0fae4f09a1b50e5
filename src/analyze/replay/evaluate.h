// One pass over the graph: every node's time, in four lanes at once.
//
// The lanes are the run as recorded and three guesses of it without the profiler. Evaluating them together reads the
// graph once instead of four times.
#pragma once

#include <array>

#include "analyze/replay/graph.h"

namespace stepscope {

enum Lane : std::uint8_t { kRecorded, kLow, kMid, kHigh };
inline constexpr std::size_t kLaneCount = 4;
using Lanes = std::array<DurationNs, kLaneCount>;
[[nodiscard]] constexpr Lanes all_lanes(DurationNs value) { return {value, value, value, value}; }

// Weight of an edge that holds nothing. Below any time (within 2^58 of the origin) and any sum of those that can arise;
// adding two of it cannot overflow.
inline constexpr DurationNs kNever = -(DurationNs{1} << 61);

// weights: by edge. times: by node, from the graph's origin. A node that no edge holds keeps its recorded time.
void evaluate(const ReplayGraph& graph, std::span<const Lanes> weights, std::vector<Lanes>& times);

// Durations of the replayed steps between boundaries on the GPU's clock, computed from the replayed times: boundary k
// is the latest of the step's start on the host and the ends of all GPU work launched before it.
[[nodiscard]] std::vector<Lanes> compute_step_durations(const ReplayGraph& graph, const std::vector<Lanes>& times);

// The median step in each lane.
[[nodiscard]] Lanes compute_median_step(const ReplayGraph& graph, const std::vector<Lanes>& times);

}  // namespace stepscope
