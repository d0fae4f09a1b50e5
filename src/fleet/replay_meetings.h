// What is replayed together: ranks that can be, what they meet at, and the steps that all of them have.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fleet/fleet_replay.h"
#include "fleet/merged_replay.h"
#include "fleet/replay_keys.h"

namespace stepscope {

// Ranks that can be replayed, and where they stand in the run.
struct Roster {
  std::vector<MergedRank> ranks;
  std::vector<std::uint32_t> index;              // in RunSummary::ranks
  std::vector<std::uint32_t> place;              // by index in RunSummary::ranks; kMeetsNobody: left out
  std::map<std::string, std::int64_t> left_out;  // why, and how many
  std::vector<std::int64_t> uncounted_steps;     // FleetReplayInput has them
};

[[nodiscard]] Roster take_ranks(const FleetReplayInput& input);
// Why they cannot be replayed together: there is none, or their times are far apart; sums of times that pass cannot
// overflow.
[[nodiscard]] std::optional<std::string> find_disorder(const Roster& roster);

// Kinds of groups that meet.
class GroupKinds {
 public:
  std::uint32_t of(const SummaryGroup& group) {
    const std::string words = group_kind_words(group);
    const auto [at, is_new] = index_.try_emplace(words, static_cast<std::uint32_t>(words_.size()));
    if (is_new) words_.push_back(words);
    return at->second;
  }
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }

 private:
  std::map<std::string, std::uint32_t> index_;
  std::vector<std::string> words_;
};

struct Matched {
  std::vector<MergedMeeting> meetings;
  std::vector<DurationNs> late_ns;  // by place: what others waited for it
  std::int64_t incomplete_count = 0;
};

[[nodiscard]] Matched join_meetings(const std::vector<ReplayMeeting>& meetings, Roster& roster, GroupKinds& kinds);

// Steps that all ranks have and that count, by rank its index.
struct CommonSteps {
  std::vector<std::vector<std::uint32_t>> index;  // by common step, by place
};

[[nodiscard]] CommonSteps find_common_steps(const Roster& roster);
// Of those that the ranks recorded, also where the replays hold fewer.
[[nodiscard]] std::size_t count_common_recorded_steps(const Roster& roster);

}  // namespace stepscope
