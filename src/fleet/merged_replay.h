// The reduced replays of all ranks as one graph, and its evaluation.
//
// Points are put in order once for a scenario (Kahn's algorithm over all ranks: one rank's own order would not do,
// since collectives of several groups may meet in any order), then each evaluation is one linear scan. A rank may be
// given another rank's work: then its points are that rank's, at its own meetings.
#pragma once

#include <optional>
#include <vector>

#include "analyze/replay/evaluate.h"
#include "fleet/rank_summary.h"

namespace stepscope {

inline constexpr std::uint32_t kMeetsNobody = ~std::uint32_t{0};

// A rank that is replayed.
struct MergedRank {
  const RankSummary* summary = nullptr;
  DurationNs clock_offset_ns = 0;
  std::vector<std::uint32_t> meeting_of;   // by collective; kMeetsNobody: takes what it took
  std::vector<DurationNs> residue_ns;      // by collective: its end after the meeting's first end
  std::vector<std::uint32_t> first_edge;   // by point, one more than points
  std::vector<std::uint32_t> first_leave;  // likewise, into leaves
  std::vector<std::uint32_t> leaves;       // edges by where they come from
};

struct MergedMeeting {
  std::uint32_t member_count = 0;
  DurationNs transfer_ns = 0;    // first end - last arrival, at least 0
  std::uint32_t group_kind = 0;  // index into Scenario::rules
};

enum class MeetingRule : std::uint8_t {
  kTogether,  // transfers when the last member has arrived; each rank keeps what its end was later than the first
  kOneEnd,    // likewise, but one end for all
  kInTime,    // takes the transfer from each rank's own arrival
  kFree,      // takes no time
};

// One rank does another's work.
struct WorkSwap {
  std::size_t rank = 0, like = 0;            // indices into the merged ranks
  std::vector<std::uint32_t> collective_of;  // by collective of `like`: the one of `rank`
};

struct Scenario {
  std::vector<MeetingRule> rules;  // by kind of group
  std::optional<WorkSwap> swap;
  [[nodiscard]] std::size_t work_of(std::size_t rank) const { return swap && swap->rank == rank ? swap->like : rank; }
  [[nodiscard]] std::uint32_t collective_of(std::size_t rank, std::uint32_t collective) const {
    return swap && swap->rank == rank ? swap->collective_of[collective] : collective;
  }
};

struct MergedTimes {
  std::vector<std::vector<Lanes>> step_start, step_end;  // by rank, by step; from the earliest origin
  std::vector<std::vector<Lanes>> length;                // by rank, by collective: from its arrival to its end
};

using EdgeTimes = std::vector<std::vector<DurationNs>>;  // by rank that does the work, by edge; empty: 0

class MergedReplay {
 public:
  MergedReplay(std::vector<MergedRank> ranks, std::vector<MergedMeeting> meetings);

  struct Place {
    std::uint32_t rank, point;
  };
  // Points in an order in which they can be evaluated; fewer than there are if collectives wait for each other in a
  // circle.
  [[nodiscard]] std::vector<Place> put_in_order(const Scenario& scenario) const;
  [[nodiscard]] std::size_t count_points(const Scenario& scenario) const;

  // Every edge takes `less` than it would.
  [[nodiscard]] MergedTimes evaluate(const Scenario& scenario, const std::vector<Place>& order,
                                     const EdgeTimes& less) const;

  [[nodiscard]] const std::vector<MergedRank>& ranks() const { return ranks_; }
  [[nodiscard]] const std::vector<MergedMeeting>& meetings() const { return meetings_; }

 private:
  [[nodiscard]] const SummaryReplay& replay_of(const Scenario& scenario, std::size_t rank) const {
    return ranks_[scenario.work_of(rank)].summary->replay;
  }
  // Does the collective wait for other ranks in this scenario? Then at which meeting.
  [[nodiscard]] std::uint32_t waits_at(const Scenario& scenario, std::size_t rank, std::uint32_t collective) const;

  std::vector<MergedRank> ranks_;
  std::vector<MergedMeeting> meetings_;
  TimeNs origin_ns_ = 0;
};

}  // namespace stepscope
