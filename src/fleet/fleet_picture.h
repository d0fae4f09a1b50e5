// For tests and benchmarks: the simplest replays and the simplest matching, and fleets of data-parallel ranks with a
// simulation that tells what is true of them.
#pragma once

#include <algorithm>
#include <map>
#include <random>
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

// Data-parallel ranks: after a forward pass, buckets of gradients get ready one after the other and are reduced while
// the next is computed; the optimizer waits for the last. Each stretch differs by 2% between ranks and steps.
struct MadeDdp {
  std::uint32_t rank_count = 8, step_count = 3, bucket_count = 10;
  DurationNs forward_ns = 10'000'000, bucket_ns = 2'000'000, optimizer_ns = 3'000'000, transfer_ns = 500'000;
  unsigned seed = 1;
};

inline RunSummary make_ddp(const MadeDdp& made) {
  using Kind = SummaryReplayPoint::Kind;
  std::mt19937 random(made.seed);
  const auto about = [&](DurationNs length) {
    return length + std::uniform_int_distribution<DurationNs>(-length / 50, length / 50)(random);
  };
  std::vector<std::int64_t> everyone(made.rank_count);
  for (std::uint32_t r = 0; r < made.rank_count; ++r) everyone[r] = r;
  RunSummary run;
  for (std::uint32_t r = 0; r < made.rank_count; ++r) {
    RankSummary& rank = run.ranks.emplace_back();
    rank.rank = r;
    rank.has_clock = true;
    rank.host_name = "host" + std::to_string(r / 8);
    rank.groups.push_back({"0", "default_pg", made.rank_count, everyone});
    rank.collective_names = {"allreduce"};
    SummaryReplay& replay = rank.replay;
    const auto add = [&](Kind kind, std::uint32_t of) {
      replay.points.push_back({kind, of, 0});
      return static_cast<std::uint32_t>(replay.points.size() - 1);
    };
    // A tenth of each edge is the profiler's.
    const auto lead = [&](std::uint32_t from, std::uint32_t to, DurationNs work) {
      replay.edges.push_back({from, to, work, work - work / 10, work - work / 10});
    };
    std::uint32_t done = add(Kind::kOrigin, 0);  // the end of the step before
    for (std::uint32_t s = 0; s < made.step_count; ++s) {
      SummaryStep& step = rank.steps.emplace_back();
      step.number = s + 4;
      lead(done, add(Kind::kStepStart, s), 0);
      std::uint32_t ready = done, end = done;
      for (std::uint32_t b = 0; b < made.bucket_count; ++b) {
        const auto c = static_cast<std::uint32_t>(rank.collectives.size());
        SummaryCollective& collective = rank.collectives.emplace_back();
        collective.step = s;
        collective.sequence = b;
        const std::uint32_t next = add(Kind::kReady, c);
        lead(ready, next, about(b == 0 ? made.forward_ns + made.bucket_ns : made.bucket_ns));
        ready = next;
        const std::uint32_t arrival = add(Kind::kArrival, c);
        if (b > 0) lead(end, arrival, 1'000);
        lead(ready, arrival, 2'000);
        end = add(Kind::kEnd, c);
      }
      done = add(Kind::kStepEnd, s);
      lead(ready, done, about(made.optimizer_ns));
      lead(end, done, about(made.optimizer_ns));
    }
    std::stable_sort(replay.edges.begin(), replay.edges.end(),
                     [](const auto& a, const auto& b) { return a.to < b.to; });
    replay.step_count = made.step_count;
  }
  return run;
}

// Runs it: each collective lasts until its last rank has come and `transfer_ns` more. Points, collectives and steps get
// the times that follow from the edges as recorded.
inline void settle(RunSummary& run, const std::vector<ReplayMeeting>& meetings, DurationNs transfer_ns) {
  using Kind = SummaryReplayPoint::Kind;
  std::vector<std::vector<std::uint32_t>> meeting_of(run.ranks.size());
  std::vector<std::size_t> absent;
  std::vector<TimeNs> last(meetings.size(), 0);
  for (std::uint32_t r = 0; r < run.ranks.size(); ++r) meeting_of[r].resize(run.ranks[r].collectives.size());
  for (std::uint32_t m = 0; m < meetings.size(); ++m) {
    absent.push_back(meetings[m].members.size());
    for (const ReplayMember& member : meetings[m].members) meeting_of[member.rank][member.collective] = m;
  }
  std::vector<std::size_t> next(run.ranks.size(), 0), edge(run.ranks.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t r = 0; r < run.ranks.size(); ++r) {
      RankSummary& rank = run.ranks[r];
      SummaryReplay& replay = rank.replay;
      for (; next[r] < replay.points.size(); ++next[r]) {
        SummaryReplayPoint& point = replay.points[next[r]];
        if (point.kind == Kind::kEnd && absent[meeting_of[r][point.of]] > 0) break;
        moved = true;
        TimeNs at = point.kind == Kind::kEnd ? last[meeting_of[r][point.of]] + transfer_ns : 0;
        for (; edge[r] < replay.edges.size() && replay.edges[edge[r]].to == next[r]; ++edge[r]) {
          at = std::max(at, replay.points[replay.edges[edge[r]].from].recorded_ns + replay.edges[edge[r]].recorded_ns);
        }
        point.recorded_ns = at;
        if (point.kind == Kind::kStepStart) rank.steps[point.of].start_ns = at;
        if (point.kind == Kind::kStepEnd) rank.steps[point.of].duration_ns = at - rank.steps[point.of].start_ns;
        if (point.kind == Kind::kEnd) rank.collectives[point.of].end_ns = at;
        if (point.kind != Kind::kArrival) continue;
        rank.collectives[point.of].start_ns = at;
        last[meeting_of[r][point.of]] = std::max(last[meeting_of[r][point.of]], at);
        --absent[meeting_of[r][point.of]];
      }
    }
  }
}

}  // namespace stepscope
