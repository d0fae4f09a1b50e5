// All ranks replayed together: what the run's step would be if a rank were as fast as the others, if nobody waited, if
// communication were free.
//
// A collective transfers when its last rank has arrived. So the reduced replays of the ranks (reduced_replay.h), joined
// where they meet, are one graph again, and a what-if changes weights in it. One rank alone cannot answer: it sees its
// collectives last long, not why, and a straggler whose lateness goes away lets the others compute undisturbed, too.
// Adding up waits was rejected for the same reason: a wait that goes away in one place comes back in the next.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fleet/rank_summary.h"

namespace stepscope {

struct ReplayMember {
  std::uint32_t rank = 0;        // index into RunSummary::ranks
  std::uint32_t collective = 0;  // index into its collectives
};

// One collective of all its ranks.
struct ReplayMeeting {
  std::vector<ReplayMember> members;  // those at hand; each rank once
  bool complete = true;               // false: ranks of the group are missing
  bool ends_together = true;          // false: sends, and collectives with a root, which some may leave early
};

struct FleetReplayInput {
  const RunSummary& run;
  // By rank: what to add to its times to have the common clock. Empty: nothing.
  std::vector<DurationNs> clock_offset_ns;
  std::vector<ReplayMeeting> meetings;
  // By rank: 0 for what is to be left out (the second of two files of one rank). Empty: all are used.
  std::vector<std::uint8_t> is_used;
  // Steps that are replayed, since others follow them, and count in no median; ascending.
  std::vector<std::int64_t> uncounted_steps{};
};

enum class FleetTransform : std::uint8_t {
  kUnchanged,
  kRankAsMedian,       // one rank works as the median of those that run the same collectives; the others as they did
  kNobodyWaits,        // every collective takes its transfer only: all ranks are in time
  kCommunicationFree,  // collectives take no time and nobody waits for one
  kGroupFree,          // likewise, of one kind of process groups
};
[[nodiscard]] std::string_view fleet_transform_name(FleetTransform transform);  // "rank_as_median", ...

struct FleetWhatIf {
  FleetTransform transform = FleetTransform::kUnchanged;
  std::optional<std::uint32_t> rank;       // kRankAsMedian: index into RunSummary::ranks
  std::optional<std::uint32_t> like_rank;  // and the one that it works as
  std::string group;                       // kGroupFree: what the groups are called; "group of 8" if they have no name
  Estimate step_unprofiled;                // the run's median step, without the profiler
  Estimate saving;                         // against kUnchanged, likewise
  DurationNs step_recorded_ns = 0;         // the run's median step, as recorded
  std::optional<std::string> refused;      // why this one has no answer
};

struct FleetReplay {
  std::optional<std::string> refused;  // why there is no answer at all
  double replay_error_ratio = 0;       // |replay with one end for each meeting - recorded| / recorded, median step
  std::size_t rank_count = 0;          // ranks in it
  std::size_t step_count = 0;          // steps that all of them have
  std::int64_t meeting_count = 0;      // collectives that no other rank has are meetings of one
  std::int64_t incomplete_count = 0;   // of them, with members that are missing or cannot be replayed
  DurationNs recorded_step_ns = 0;  // the run's median step: from the latest rank's boundary to the latest rank's next
  std::vector<FleetWhatIf> what_ifs;    // kUnchanged first
  std::vector<DurationNs> own_step_ns;  // by rank: its median step if nobody waited, unprofiled; 0 for ranks left out
  std::vector<std::string> remarks;     // sentences: what the answers do not know
  [[nodiscard]] const FleetWhatIf* find(FleetTransform transform, std::optional<std::uint32_t> rank = {}) const;
};

// `suspects`: the ranks to ask kRankAsMedian for (indices); empty: those that the others waited for most, three at
// most.
[[nodiscard]] FleetReplay replay_fleet(const FleetReplayInput& input, std::span<const std::uint32_t> suspects = {});

}  // namespace stepscope
