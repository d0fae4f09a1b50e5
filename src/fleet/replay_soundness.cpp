// One look at each point and edge.
#include "fleet/replay_soundness.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <vector>

namespace stepscope {
namespace {

using Kind = SummaryReplayPoint::Kind;

constexpr DurationNs kMostNs = DurationNs{1} << 52;

DurationNs add_capped(DurationNs sum, DurationNs more) {
  const DurationNs size = more == std::numeric_limits<DurationNs>::min() ? kMostNs + 1 : std::abs(more);
  return std::min(kMostNs + 1, sum + std::min(size, kMostNs + 1));
}

// How often each collective and step occurs as a point of one kind, where it may stand.
struct Seen {
  std::vector<std::uint8_t> arrival, end, step_start, step_end;
};

bool take(std::vector<std::uint8_t>& seen, std::uint32_t of) {
  if (of >= seen.size() || seen[of]) return false;
  seen[of] = 1;
  return true;
}

bool fits(const SummaryReplayPoint& point, bool is_first, std::uint32_t step_count, Seen& seen) {
  switch (point.kind) {
    case Kind::kOrigin:
      return is_first;
    case Kind::kPass:
      return point.of < step_count;
    case Kind::kReady:
      return point.of < seen.arrival.size();
    case Kind::kArrival:
      return take(seen.arrival, point.of);
    case Kind::kEnd:
      return point.of < seen.arrival.size() && seen.arrival[point.of] && take(seen.end, point.of);
    case Kind::kStepStart:
      return take(seen.step_start, point.of);
    case Kind::kStepEnd:
      return take(seen.step_end, point.of);
  }
  return false;
}

bool fit_edges(const SummaryReplay& replay) {
  std::vector<std::uint8_t> is_held(replay.points.size(), 0);
  for (std::size_t e = 0; e < replay.edges.size(); ++e) {
    const SummaryReplayEdge& edge = replay.edges[e];
    if (edge.to >= replay.points.size() || edge.from >= edge.to) return false;
    if (e > 0 && edge.to < replay.edges[e - 1].to) return false;
    if (replay.points[edge.to].kind == Kind::kEnd) return false;
    is_held[edge.to] = 1;
  }
  for (std::size_t p = 1; p < replay.points.size(); ++p) {
    if (!is_held[p] && replay.points[p].kind != Kind::kEnd) return false;
  }
  return true;
}

// Near the origin, so that differences of times cannot overflow.
bool is_near(TimeNs origin_ns, TimeNs time_ns) {
  DurationNs apart = 0;
  return !__builtin_sub_overflow(time_ns, origin_ns, &apart) && apart > -kMostNs && apart < kMostNs;
}

bool are_near(const RankSummary& rank) {
  const TimeNs origin_ns = rank.replay.points.front().recorded_ns;
  return std::all_of(rank.replay.points.begin(), rank.replay.points.end(), [&](const SummaryReplayPoint& point) {
    if (!is_near(origin_ns, point.recorded_ns)) return false;
    if (point.kind != Kind::kArrival) return true;
    const SummaryCollective& collective = rank.collectives[point.of];
    return is_near(origin_ns, collective.start_ns) && is_near(origin_ns, collective.end_ns);
  });
}

bool is_all_set(const std::vector<std::uint8_t>& seen) {
  return std::all_of(seen.begin(), seen.end(), [](std::uint8_t once) { return once != 0; });
}

}  // namespace

DurationNs bound_replay_ns(const RankSummary& rank) {
  DurationNs sum = 0;
  for (const SummaryReplayEdge& edge : rank.replay.edges) {
    for (const DurationNs weight : {edge.recorded_ns, edge.unprofiled_ns, edge.uncontended_ns}) {
      sum = add_capped(sum, weight);
    }
  }
  for (const SummaryCollective& collective : rank.collectives) {
    DurationNs length = 0;
    if (__builtin_sub_overflow(collective.end_ns, collective.start_ns, &length)) length = kMostNs + 1;
    sum = add_capped(sum, length);
  }
  return sum;
}

std::optional<std::string> find_replay_fault(const RankSummary& rank) {
  const SummaryReplay& replay = rank.replay;
  if (replay.refused) return std::nullopt;
  if (replay.points.empty() || replay.points.front().kind != Kind::kOrigin) return "its replay has no beginning";
  if (replay.step_count == 0 || replay.step_count > rank.steps.size()) return "its replay has other steps";
  if (!(replay.cost_uncertainty_ratio >= 0 && replay.cost_uncertainty_ratio <= 1)) return "its replay's range is none";
  Seen seen;
  seen.arrival.assign(rank.collectives.size(), 0);
  seen.end = seen.arrival;
  seen.step_start.assign(replay.step_count, 0);
  seen.step_end = seen.step_start;
  for (std::size_t p = 0; p < replay.points.size(); ++p) {
    if (!fits(replay.points[p], p == 0, replay.step_count, seen)) return "its replay's points do not fit its steps";
  }
  const bool is_whole = is_all_set(seen.step_start) && is_all_set(seen.step_end) && seen.arrival == seen.end;
  if (!is_whole || !fit_edges(replay)) return "its replay's points and edges do not fit together";
  if (bound_replay_ns(rank) > kMostNs || !are_near(rank)) return "its replay's times are beyond belief";
  return std::nullopt;
}

}  // namespace stepscope
