// Evaluating 1,024 ranks of 900 collectives each is 3 million points and 4 million edges: see docs/performance.md.
#include "fleet/merged_replay.h"

#include <algorithm>
#include <limits>

namespace stepscope {
namespace {

using Kind = SummaryReplayPoint::Kind;

// Recording can have cost at most so much of an edge (analyze/replay/profiler_cost.h).
constexpr DurationNs kLeastShare = 4;

Lanes weigh(const SummaryReplayEdge& edge, double uncertainty, DurationNs less_ns) {
  const DurationNs cost = edge.recorded_ns - edge.unprofiled_ns;
  const auto off = static_cast<DurationNs>(static_cast<double>(cost) * uncertainty);
  Lanes weight;
  weight[kRecorded] = edge.recorded_ns;
  weight[kMid] = edge.unprofiled_ns;
  weight[kLow] = std::max(edge.unprofiled_ns - off, std::min(edge.unprofiled_ns, edge.recorded_ns / kLeastShare));
  weight[kHigh] = edge.unprofiled_ns + off;
  for (DurationNs& lane : weight) lane = std::max(std::min<DurationNs>(0, lane), lane - less_ns);
  return weight;
}

void raise(Lanes& to, const Lanes& from, const Lanes& by) {
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) to[lane] = std::max(to[lane], from[lane] + by[lane]);
}

Lanes later_by(Lanes times, DurationNs by) {
  for (DurationNs& lane : times) lane += by;
  return times;
}

// Edges grouped by target are given; group them by source, too.
void index_edges(MergedRank& rank) {
  const SummaryReplay& replay = rank.summary->replay;
  const std::size_t points = replay.points.size();
  rank.first_edge.assign(points + 1, 0);
  rank.first_leave.assign(points + 1, 0);
  for (const SummaryReplayEdge& edge : replay.edges) {
    ++rank.first_edge[edge.to + 1];
    ++rank.first_leave[edge.from + 1];
  }
  for (std::size_t p = 1; p <= points; ++p) {
    rank.first_edge[p] += rank.first_edge[p - 1];
    rank.first_leave[p] += rank.first_leave[p - 1];
  }
  rank.leaves.resize(replay.edges.size());
  std::vector<std::uint32_t> next(rank.first_leave.begin(), rank.first_leave.end() - 1);
  for (std::uint32_t e = 0; e < replay.edges.size(); ++e) rank.leaves[next[replay.edges[e].from]++] = e;
}

}  // namespace

MergedReplay::MergedReplay(std::vector<MergedRank> ranks, std::vector<MergedMeeting> meetings)
    : ranks_(std::move(ranks)), meetings_(std::move(meetings)) {
  origin_ns_ = std::numeric_limits<TimeNs>::max();
  for (MergedRank& rank : ranks_) {
    index_edges(rank);
    origin_ns_ = std::min(origin_ns_, rank.summary->replay.points.front().recorded_ns + rank.clock_offset_ns);
  }
}

std::uint32_t MergedReplay::waits_at(const Scenario& scenario, std::size_t rank, std::uint32_t collective) const {
  const std::uint32_t meeting = ranks_[rank].meeting_of[collective];
  if (meeting == kMeetsNobody) return kMeetsNobody;
  const MeetingRule rule = scenario.rules[meetings_[meeting].group_kind];
  return rule == MeetingRule::kTogether || rule == MeetingRule::kOneEnd ? meeting : kMeetsNobody;
}

std::size_t MergedReplay::count_points(const Scenario& scenario) const {
  std::size_t count = 0;
  for (std::size_t r = 0; r < ranks_.size(); ++r) count += replay_of(scenario, r).points.size();
  return count;
}

std::vector<MergedReplay::Place> MergedReplay::put_in_order(const Scenario& scenario) const {
  std::vector<std::vector<std::uint32_t>> waiting(ranks_.size());    // for so many edges, or its meeting
  std::vector<std::vector<std::uint32_t>> end_point(ranks_.size());  // by collective of the rank
  std::vector<std::uint32_t> absent(meetings_.size());
  std::vector<std::vector<Place>> held(meetings_.size());  // ends that wait for the meeting
  std::vector<Place> order, ready;
  const std::size_t count = count_points(scenario);
  order.reserve(count);
  for (std::size_t m = 0; m < meetings_.size(); ++m) absent[m] = meetings_[m].member_count;
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    const SummaryReplay& replay = replay_of(scenario, r);
    const MergedRank& work = ranks_[scenario.work_of(r)];
    waiting[r].resize(replay.points.size());
    end_point[r].assign(ranks_[r].meeting_of.size(), 0);
    for (std::uint32_t p = 0; p < replay.points.size(); ++p) {
      const SummaryReplayPoint& point = replay.points[p];
      waiting[r][p] = work.first_edge[p + 1] - work.first_edge[p];
      if (point.kind != Kind::kEnd) {
        if (waiting[r][p] == 0) ready.push_back({r, p});
        continue;
      }
      waiting[r][p] = 1;
      const std::uint32_t collective = scenario.collective_of(r, point.of);
      end_point[r][collective] = p;
      const std::uint32_t meeting = waits_at(scenario, r, collective);
      if (meeting != kMeetsNobody) held[meeting].push_back({r, p});
    }
  }
  // Last in, first out: a rank is followed as far as it goes alone, so that its points lie near each other in the
  // order. First in, first out took 1.6 times as long for 1,024 ranks: cache misses.
  while (!ready.empty() && order.size() < count) {
    const auto [r, p] = order.emplace_back(ready.back());
    ready.pop_back();
    const SummaryReplay& replay = replay_of(scenario, r);
    const MergedRank& work = ranks_[scenario.work_of(r)];
    for (std::uint32_t l = work.first_leave[p]; l < work.first_leave[p + 1]; ++l) {
      const std::uint32_t to = replay.edges[work.leaves[l]].to;
      if (--waiting[r][to] == 0) ready.push_back({r, to});
    }
    if (replay.points[p].kind != Kind::kArrival) continue;
    const std::uint32_t collective = scenario.collective_of(r, replay.points[p].of);
    const std::uint32_t meeting = waits_at(scenario, r, collective);
    if (meeting == kMeetsNobody) {
      ready.push_back({r, end_point[r][collective]});
    } else if (--absent[meeting] == 0) {
      ready.insert(ready.end(), held[meeting].begin(), held[meeting].end());
    }
  }
  return order;
}

MergedTimes MergedReplay::evaluate(const Scenario& scenario, const std::vector<Place>& order,
                                   const EdgeTimes& less) const {
  MergedTimes out;
  out.step_start.resize(ranks_.size());
  out.step_end.resize(ranks_.size());
  out.length.resize(ranks_.size());
  std::vector<std::vector<Lanes>> times(ranks_.size());
  std::vector<std::vector<Lanes>>& arrival = out.length;  // until the end is known
  std::vector<Lanes> last_arrival(meetings_.size(), all_lanes(kNever));
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const SummaryReplay& replay = replay_of(scenario, r);
    times[r].assign(replay.points.size(), all_lanes(kNever));
    arrival[r].assign(ranks_[r].meeting_of.size(), all_lanes(0));
    out.step_start[r].assign(replay.step_count, all_lanes(0));
    out.step_end[r].assign(replay.step_count, all_lanes(0));
  }
  const auto end_of = [&](std::size_t r, std::uint32_t collective) {
    const Lanes& own = arrival[r][collective];
    const std::uint32_t m = ranks_[r].meeting_of[collective];
    if (m == kMeetsNobody) {
      const SummaryCollective& alone = ranks_[r].summary->collectives[collective];
      return later_by(own, std::max<DurationNs>(0, alone.end_ns - alone.start_ns));
    }
    const DurationNs transfer = meetings_[m].transfer_ns;
    switch (scenario.rules[meetings_[m].group_kind]) {
      case MeetingRule::kTogether:
        return later_by(last_arrival[m], transfer + ranks_[r].residue_ns[collective]);
      case MeetingRule::kOneEnd:
        return later_by(last_arrival[m], transfer);
      case MeetingRule::kInTime:
        return later_by(own, transfer + ranks_[r].residue_ns[collective]);
      case MeetingRule::kFree:
        break;
    }
    return own;
  };
  for (const auto& [r, p] : order) {
    const MergedRank& work = ranks_[scenario.work_of(r)];
    const SummaryReplay& replay = work.summary->replay;
    const SummaryReplayPoint& point = replay.points[p];
    Lanes& at = times[r][p];
    for (std::uint32_t e = work.first_edge[p]; e < work.first_edge[p + 1]; ++e) {
      const DurationNs shorter = less.empty() || less[r].empty() ? 0 : less[r][e];
      raise(at, times[r][replay.edges[e].from], weigh(replay.edges[e], replay.cost_uncertainty_ratio, shorter));
    }
    switch (point.kind) {
      case Kind::kOrigin:
        at = all_lanes(point.recorded_ns + work.clock_offset_ns - origin_ns_);
        break;
      case Kind::kArrival: {
        const std::uint32_t collective = scenario.collective_of(r, point.of);
        arrival[r][collective] = at;
        const std::uint32_t m = ranks_[r].meeting_of[collective];
        if (m != kMeetsNobody) raise(last_arrival[m], at, {});
        break;
      }
      case Kind::kEnd: {
        const std::uint32_t collective = scenario.collective_of(r, point.of);
        at = end_of(r, collective);
        for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
          out.length[r][collective][lane] = at[lane] - arrival[r][collective][lane];
        }
        break;
      }
      case Kind::kStepStart:
        out.step_start[r][point.of] = at;
        break;
      case Kind::kStepEnd:
        out.step_end[r][point.of] = at;
        break;
      case Kind::kPass:
      case Kind::kReady:
        break;
    }
  }
  return out;
}

}  // namespace stepscope
