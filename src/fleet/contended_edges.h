// What ranks regain when a collective beside their compute gets shorter: compute beside a collective, even one that
// only waits, is slower (matrix products on H200s 1.8 times).
//
// How much slower an edge is, two things tell: kernels of the same rank that ran alone (SummaryReplayEdge's third
// weight), and the same edge on a rank that was not beside a collective then. A rank that always waits has none of the
// former: of the recorded straggler pair rank 0's whole backward pass lies beside its wait, and only the late rank
// shows how fast it would be.
#pragma once

#include <vector>

#include "fleet/merged_replay.h"
#include "fleet/replay_keys.h"

namespace stepscope {

class ContendedEdges {
 public:
  ContendedEdges(const std::vector<MergedRank>& ranks, const std::vector<RankKeys>& keys);

  // By edge of the rank: what it takes less when of collective c only the share 1 - gone_ratio[c] is left. Empty: no
  // edge was slowed.
  [[nodiscard]] std::vector<DurationNs> compute_regained(std::size_t rank, const std::vector<double>& gone_ratio) const;

 private:
  // The time that collectives take up to an instant, as recorded; of several at once each counts.
  struct Cover {
    struct Turn {
      TimeNs at_ns = 0;
      std::uint32_t collective = 0;
      bool begins = false;
    };
    std::vector<Turn> turns;  // by time
  };

  const std::vector<MergedRank>& ranks_;
  std::vector<Cover> covers_;                       // by rank
  std::vector<std::vector<DurationNs>> excess_ns_;  // by rank, by edge
};

}  // namespace stepscope
