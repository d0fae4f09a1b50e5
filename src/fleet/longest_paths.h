// The ways by which a node of a graph is reached from the sources before it, in max-plus algebra: one longest path for
// each source, and only those that matter.
//
// A way from an old source is left out when another goes through a newer one and is at least as long even if the
// collectives on it took no time. What is left are two or three ways a node. Without leaving any out each node would
// list every source before it: the first collective of a run reaches all that comes later.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"

namespace stepscope {

// As recorded; without the profiler; without it and with compute at its own speed (SummaryReplayEdge).
inline constexpr std::size_t kPathLanes = 3;
using PathLanes = std::array<DurationNs, kPathLanes>;

struct Way {
  std::uint32_t source = 0;
  PathLanes length_ns{};
};

// Distances between sources with collectives of no length: what says that a way does not matter. Kept are those from
// the sources shortly before, and from anchors: sources like the host's place at the start of a step, from which ways
// last long, since a host may run ahead of its GPU by all that a step has.
class SourceDistances {
 public:
  // The next source, reached by these ways (none: the origin). Returns its number, counted from 0.
  std::uint32_t add(std::span<const Way> ways, bool is_anchor);
  // Puts the ways in order of source, one for each, without those that do not matter.
  void reduce(std::vector<Way>& ways) const;

 private:
  struct Row {
    std::uint32_t first = 0;             // source of near[0]; the last is the source before this one
    std::vector<PathLanes> near;         // to here
    std::vector<PathLanes> from_anchor;  // to here, by anchor
    std::uint32_t anchor = kNoAnchor;    // which anchor it is itself
  };
  static constexpr std::uint32_t kNoAnchor = ~std::uint32_t{0};

  // Missing when unknown: not connected, or too far apart to be kept.
  [[nodiscard]] const PathLanes* find(std::uint32_t from, std::uint32_t to) const;
  static void take_way(const Way& way, const Row& before, Row& row);

  std::vector<Row> rows_;  // by source
  std::uint32_t anchor_count_ = 0;
};

}  // namespace stepscope
