// For tests and benchmarks: the simplest replays and the simplest matching.
#pragma once

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "fleet/fleet_replay.h"

namespace stepscope {

// Collectives of the same group (its name and ranks), step number and sequence are one meeting.
[[nodiscard]] inline std::vector<ReplayMeeting> match_by_name(const RunSummary& run) {
  std::map<std::tuple<std::string, std::vector<std::int64_t>, std::int64_t, std::uint32_t>, ReplayMeeting> meetings;
  for (std::uint32_t r = 0; r < run.ranks.size(); ++r) {
    const RankSummary& rank = run.ranks[r];
    for (std::uint32_t c = 0; c < rank.collectives.size(); ++c) {
      const SummaryCollective& collective = rank.collectives[c];
      const SummaryGroup& group = rank.groups[collective.group];
      ReplayMeeting& meeting =
          meetings[{group.name, group.ranks, rank.steps[collective.step].number, collective.sequence}];
      meeting.members.push_back({r, c});
    }
  }
  std::vector<ReplayMeeting> all;
  for (auto& [key, meeting] : meetings) {
    meeting.complete = std::get<1>(key).empty() || meeting.members.size() == std::get<1>(key).size();
    all.push_back(std::move(meeting));
  }
  return all;
}

// The replay of a rank that does one thing after the other, as its steps and collectives say: what lies between two
// points is its own work.
inline void give_chain_replay(RankSummary& rank) {
  using Kind = SummaryReplayPoint::Kind;
  SummaryReplay replay;
  std::vector<SummaryReplayPoint> points;
  for (std::uint32_t s = 0; s < rank.steps.size(); ++s) {
    points.push_back({Kind::kStepStart, s, rank.steps[s].start_ns});
    for (std::uint32_t c = 0; c < rank.collectives.size(); ++c) {
      if (rank.collectives[c].step != s) continue;
      points.push_back({Kind::kArrival, c, rank.collectives[c].start_ns});
      points.push_back({Kind::kEnd, c, rank.collectives[c].end_ns});
    }
    points.push_back({Kind::kStepEnd, s, rank.steps[s].start_ns + rank.steps[s].duration_ns});
  }
  std::stable_sort(points.begin(), points.end(),
                   [](const auto& a, const auto& b) { return a.recorded_ns < b.recorded_ns; });
  replay.points.push_back({Kind::kOrigin, 0, points.front().recorded_ns});
  for (const SummaryReplayPoint& point : points) {
    const auto to = static_cast<std::uint32_t>(replay.points.size());
    const DurationNs work = point.recorded_ns - replay.points.back().recorded_ns;
    if (point.kind != Kind::kEnd) replay.edges.push_back({to - 1, to, work, work, work});
    replay.points.push_back(point);
  }
  replay.step_count = static_cast<std::uint32_t>(rank.steps.size());
  rank.replay = std::move(replay);
}

inline void give_chain_replays(RunSummary& run) {
  for (RankSummary& rank : run.ranks) give_chain_replay(rank);
}

}  // namespace stepscope
