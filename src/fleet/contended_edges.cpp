// Edges of ranks that waited look for twins among the others; only those few are kept in a table.
#include "fleet/contended_edges.h"

#include <algorithm>
#include <unordered_map>

#include "stats/quantiles.h"

namespace stepscope {
namespace {

using Kind = SummaryReplayPoint::Kind;

// An edge most of which lies beside collectives, and one that is good as its twin: a transfer of its own remains.
constexpr double kBeside = 0.5;
constexpr double kAlone = 0.25;
// Shorter edges are gaps between kernels, whose differences are noise.
constexpr DurationNs kLeastEdgeNs = 50'000;

// Sum over collectives of the share that counts of each, up to any instant.
class CoverSum {
 public:
  template <class Turns, class Share>
  CoverSum(const Turns& turns, const Share& share) {
    double slope = 0;
    for (const auto& turn : turns) {
      advance(turn.at_ns, slope);
      slope += turn.begins ? share(turn.collective) : -share(turn.collective);
      slope_.back() = slope;
    }
  }
  [[nodiscard]] double between(TimeNs from_ns, TimeNs to_ns) const {
    return from_ns < to_ns ? up_to(to_ns) - up_to(from_ns) : 0;
  }

 private:
  void advance(TimeNs at_ns, double slope) {
    const double before = at_.empty() ? 0 : sum_.back() + slope * static_cast<double>(at_ns - at_.back());
    at_.push_back(at_ns);
    sum_.push_back(before);
    slope_.push_back(slope);
  }
  [[nodiscard]] double up_to(TimeNs at_ns) const {
    const auto after = std::upper_bound(at_.begin(), at_.end(), at_ns);
    if (after == at_.begin()) return 0;
    const auto turn = static_cast<std::size_t>(after - at_.begin()) - 1;
    return sum_[turn] + slope_[turn] * static_cast<double>(at_ns - at_[turn]);
  }
  std::vector<TimeNs> at_;
  std::vector<double> sum_, slope_;
};

struct EdgeTimesRecorded {
  TimeNs from_ns, to_ns;
  [[nodiscard]] DurationNs length_ns() const { return to_ns - from_ns; }
};
EdgeTimesRecorded times_of(const SummaryReplay& replay, const SummaryReplayEdge& edge) {
  return {replay.points[edge.from].recorded_ns, replay.points[edge.to].recorded_ns};
}

double covered_ratio(const CoverSum& cover, const EdgeTimesRecorded& at) {
  return at.length_ns() > 0 ? cover.between(at.from_ns, at.to_ns) / static_cast<double>(at.length_ns()) : 0;
}

std::uint64_t key_of(const RankKeys& keys, const SummaryReplayEdge& edge) {
  return mix_keys(mix_keys(keys.of_point[edge.from], keys.of_point[edge.to]), keys.program);
}

}  // namespace

ContendedEdges::ContendedEdges(const std::vector<MergedRank>& ranks, const std::vector<RankKeys>& keys)
    : ranks_(ranks), covers_(ranks.size()), excess_ns_(ranks.size()) {
  std::unordered_map<std::uint64_t, std::vector<DurationNs>> twins;
  const auto whole = [](std::uint32_t) { return 1.0; };
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const RankSummary& rank = *ranks[r].summary;
    for (const SummaryReplayPoint& point : rank.replay.points) {
      if (point.kind == Kind::kArrival) covers_[r].turns.push_back({point.recorded_ns, point.of, true});
      if (point.kind == Kind::kEnd) covers_[r].turns.push_back({point.recorded_ns, point.of, false});
    }
    std::stable_sort(covers_[r].turns.begin(), covers_[r].turns.end(),
                     [](const auto& a, const auto& b) { return a.at_ns < b.at_ns; });
    const CoverSum cover(covers_[r].turns, whole);
    for (const SummaryReplayEdge& edge : rank.replay.edges) {
      excess_ns_[r].push_back(std::max<DurationNs>(0, edge.unprofiled_ns - edge.uncontended_ns));
      if (edge.unprofiled_ns < kLeastEdgeNs) continue;
      if (covered_ratio(cover, times_of(rank.replay, edge)) > kBeside) twins[key_of(keys[r], edge)];
    }
  }
  if (twins.empty()) return;
  const auto for_long_edges = [&](std::size_t r, const auto& visit) {
    const SummaryReplay& replay = ranks[r].summary->replay;
    const CoverSum cover(covers_[r].turns, whole);
    for (std::size_t e = 0; e < replay.edges.size(); ++e) {
      if (replay.edges[e].unprofiled_ns < kLeastEdgeNs) continue;
      const auto found = twins.find(key_of(keys[r], replay.edges[e]));
      if (found != twins.end()) visit(e, found->second, covered_ratio(cover, times_of(replay, replay.edges[e])));
    }
  };
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for_long_edges(r, [&](std::size_t e, std::vector<DurationNs>& same, double covered) {
      if (covered <= kAlone) same.push_back(ranks[r].summary->replay.edges[e].unprofiled_ns);
    });
  }
  for (auto& [key, same] : twins) {
    if (same.size() > 1) same = {*median_ns(same)};
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for_long_edges(r, [&](std::size_t e, const std::vector<DurationNs>& same, double covered) {
      if (covered <= kBeside || same.empty()) return;
      const DurationNs slower = ranks[r].summary->replay.edges[e].unprofiled_ns - same.front();
      excess_ns_[r][e] = std::max(excess_ns_[r][e], slower);
    });
  }
}

std::vector<DurationNs> ContendedEdges::compute_regained(std::size_t rank,
                                                         const std::vector<double>& gone_ratio) const {
  const std::vector<DurationNs>& excess = excess_ns_[rank];
  if (std::all_of(excess.begin(), excess.end(), [](DurationNs each) { return each == 0; })) return {};
  const SummaryReplay& replay = ranks_[rank].summary->replay;
  const CoverSum all(covers_[rank].turns, [](std::uint32_t) { return 1.0; });
  const CoverSum gone(covers_[rank].turns, [&](std::uint32_t collective) { return gone_ratio[collective]; });
  std::vector<DurationNs> less(replay.edges.size(), 0);
  for (std::size_t e = 0; e < less.size(); ++e) {
    if (excess[e] == 0) continue;
    const EdgeTimesRecorded at = times_of(replay, replay.edges[e]);
    const double beside = all.between(at.from_ns, at.to_ns);
    if (beside <= 0) continue;
    const double share = std::clamp(gone.between(at.from_ns, at.to_ns) / beside, 0.0, 1.0);
    // No more than it was beside collectives.
    less[e] = static_cast<DurationNs>(share * std::min(static_cast<double>(excess[e]), beside));
  }
  return less;
}

}  // namespace stepscope
