// Ranks are paired, each pair gets its medians, and two of them are taken apart.
#include "fleet/difference.h"

#include <algorithm>
#include <cmath>

#include "fleet/difference_doubts.h"
#include "fleet/difference_rank.h"
#include "fleet/difference_runs.h"
#include "fleet/recordings.h"
#include "stats/quantiles.h"

namespace stepscope {
namespace {

struct RankPair {
  std::optional<std::int64_t> rank;
  RankRuns before, after;
};

Result<ChosenRuns> ranks_of(const RunSummary& run, const char* side) {
  for (const RankSummary& rank : run.ranks) {
    if (const std::string wrong = find_contradiction(rank); !wrong.empty()) {
      return Error{ErrorCode::kDamaged, "its numbers contradict each other: " + wrong, rank.source};
    }
  }
  ChosenRuns chosen = choose_runs(run, side);
  if (!chosen.ranks.empty()) return chosen;
  if (run.ranks.empty()) return Error{ErrorCode::kNotFound, std::string("nothing to compare on side ") + side, {}};
  return Error{ErrorCode::kNotFound, std::string("no complete step, so nothing can be compared (side ") + side + ")",
               run.ranks.front().source};
}

// One rank a side is meant to be compared, whatever its number.
std::vector<RankPair> pair_ranks(const RanksOfSide& before, const RanksOfSide& after, RunDifference& out) {
  std::vector<RankPair> pairs;
  if (before.size() == 1 && after.size() == 1) {
    const auto& [first_rank, first] = *before.begin();
    const auto& [second_rank, second] = *after.begin();
    pairs.push_back({first_rank == second_rank ? first_rank : std::nullopt, first, second});
    return pairs;
  }
  for (const auto& [rank, runs] : before) {
    const auto at = after.find(rank);
    if (at != after.end()) {
      pairs.push_back({rank, runs, at->second});
    } else if (rank) {
      out.only_before.push_back(*rank);
    }
  }
  for (const auto& [rank, runs] : after) {
    if (!before.contains(rank) && rank) out.only_after.push_back(*rank);
  }
  return pairs;
}

DurationNs median_of(const PartSeries& series) {
  std::vector<double> medians;
  for (const std::vector<double>& run : series) {
    if (const auto median = quantile(run, 0.5)) medians.push_back(*median);
  }
  return std::llround(quantile(medians, 0.5).value_or(0));
}

std::optional<std::int64_t> peak_of(const RankRuns& runs) {
  std::optional<std::int64_t> peak;
  for (const RankSummary* window : windows_of(runs)) {
    for (const SummaryStep& step : window->steps) {
      if (step.allocated_peak_bytes) peak = std::max(peak.value_or(0), *step.allocated_peak_bytes);
    }
  }
  return peak;
}

RankChange change_of(const RankPair& pair) {
  const auto duration = [](const SummaryStep& step) { return step.duration_ns; };
  const auto own = [](const SummaryStep& step) { return step.duration_ns - step.exposed_communication_ns; };
  RankChange change;
  change.rank = pair.rank;
  change.before_step_ns = median_of(series_of(pair.before, duration));
  change.after_step_ns = median_of(series_of(pair.after, duration));
  change.before_own_ns = median_of(series_of(pair.before, own));
  change.after_own_ns = median_of(series_of(pair.after, own));
  change.before_allocated_peak_bytes = peak_of(pair.before);
  change.after_allocated_peak_bytes = peak_of(pair.after);
  return change;
}

void choose_ranks(RunDifference& out) {
  std::vector<std::size_t> order(out.ranks.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto step = [&](std::size_t i) { return out.ranks[i].after_step_ns - out.ranks[i].before_step_ns; };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return step(a) < step(b); });
  // Of two in the middle the lower rank, whichever side is called A.
  out.typical = std::min(order[(order.size() - 1) / 2], order[order.size() / 2]);
  const auto own = [&](std::size_t i) { return std::abs(out.ranks[i].after_own_ns - out.ranks[i].before_own_ns); };
  for (std::size_t i = 1; i < out.ranks.size(); ++i) {
    if (own(i) > own(out.largest)) out.largest = i;
  }
}

bool is_host_only(const RankRuns& runs) {
  const Windows all = windows_of(runs);
  return std::all_of(all.begin(), all.end(), [](const RankSummary* each) { return each->is_host_only; });
}

RankDifference take_apart(const RankPair& pair, const CompareOptions& options) {
  const Windows before = windows_of(pair.before), after = windows_of(pair.after);
  const auto both = [&](auto&& has) {
    return std::any_of(before.begin(), before.end(), has) && std::any_of(after.begin(), after.end(), has);
  };
  const SharedNames names{both([](const RankSummary* run) { return run->has_shapes; }),
                          both([](const RankSummary* run) {
                            return std::any_of(run->work.begin(), run->work.end(),
                                               [](const SummaryWork& work) { return !work.place.empty(); });
                          })};
  RankDifference difference =
      compute_rank_difference(build_rank_side(pair.before, names), build_rank_side(pair.after, names), options);
  difference.rank = pair.rank;
  return difference;
}

std::string list_ranks(const std::vector<std::int64_t>& ranks) {
  constexpr std::size_t kMostListed = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(ranks.size(), kMostListed); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  }
  if (ranks.size() > kMostListed) text += ", and " + std::to_string(ranks.size() - kMostListed) + " more";
  return text;
}

void add_withheld(const RankPair& pair, RunDifference& out) {
  for (const auto& [side, runs] : {std::pair("A", &pair.before), std::pair("B", &pair.after)}) {
    for (const RankSummary* run : windows_of(*runs)) {
      if (!run->headline_withheld || out.withheld) continue;
      out.withheld = std::string(side) + " (" + run->source + "): " + *run->headline_withheld;
    }
  }
}

Windows as_recorded(const RankRuns& runs, const CountedRecordings& counted) {
  Windows windows = windows_of(runs);
  for (const RankSummary*& window : windows) window = counted.recorded(window);
  return windows;
}

void add_doubts(const std::vector<RankPair>& pairs, const CountedRecordings& before, const CountedRecordings& after,
                RunDifference& out) {
  const RankPair& typical = pairs[out.typical];
  out.doubts = find_doubts(windows_of(typical.before), windows_of(typical.after));
  if (!out.only_before.empty()) out.doubts.push_back("ranks of A that B lacks: " + list_ranks(out.only_before));
  if (!out.only_after.empty()) out.doubts.push_back("ranks of B that A lacks: " + list_ranks(out.only_after));
  std::vector<std::string> losses;
  for (const RankPair& pair : pairs) {
    for (std::string& loss : find_losses(as_recorded(pair.before, before), as_recorded(pair.after, after)))
      losses.push_back(std::move(loss));
  }
  out.is_partial = !losses.empty() || !out.unreadable.empty() || !out.only_before.empty() || !out.only_after.empty();
  constexpr std::size_t kMostLosses = 4;
  if (losses.size() > kMostLosses) {
    const std::string more = "and " + std::to_string(losses.size() - kMostLosses) + " more recordings with losses";
    losses.resize(kMostLosses);
    losses.push_back(more);
  }
  out.doubts.insert(out.doubts.begin(), losses.begin(), losses.end());
}

// How long a rank waits it has found over all its steps, also those in which it waited for Stepscope.
void drop_own_waits(RankDifference& rank) {
  std::erase_if(rank.findings, [](const FindingDifference& finding) {
    return finding.id == "straggler" && finding.change != FindingChange::kStayed;
  });
}

bool is_same_run(const Windows& a, const Windows& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const RankSummary* x, const RankSummary* y) { return is_same_recording(*x, *y); });
}

}  // namespace

std::string_view work_match_name(WorkMatch match) {
  constexpr std::string_view kNames[] = {"same", "renamed", "moved", "reshaped", "replaced", "new", "gone", "rest"};
  return kNames[static_cast<std::size_t>(match)];
}

std::string_view finding_change_name(FindingChange change) {
  constexpr std::string_view kNames[] = {"appeared", "gone", "stayed"};
  return kNames[static_cast<std::size_t>(change)];
}

Result<RunDifference> compute_difference(const RunSummary& before, const RunSummary& after,
                                         const DifferenceOptions& options) {
  const auto first = ranks_of(before, "A");
  if (!first) return first.error();
  const auto second = ranks_of(after, "B");
  if (!second) return second.error();
  RunDifference out;
  const std::vector<RankPair> pairs = pair_ranks(first->ranks, second->ranks, out);
  if (pairs.empty()) {
    return Error{
        ErrorCode::kNotFound,
        "no rank is on both sides: A has " + list_ranks(out.only_before) + "; B has " + list_ranks(out.only_after),
        {}};
  }
  for (const RankPair& pair : pairs) {
    if (is_host_only(pair.before) == is_host_only(pair.after)) continue;
    return Error{ErrorCode::kUnsupported, "no GPU work is recorded on this side, and on the other there is",
                 (is_host_only(pair.before) ? pair.before : pair.after).front().front()->source};
  }
  out.unreadable = before.unreadable;
  out.unreadable.insert(out.unreadable.end(), after.unreadable.begin(), after.unreadable.end());
  for (const RankPair& pair : pairs) out.ranks.push_back(change_of(pair));
  choose_ranks(out);
  out.typical_rank = take_apart(pairs[out.typical], options.compare);
  out.largest_rank = out.largest == out.typical ? out.typical_rank : take_apart(pairs[out.largest], options.compare);
  for (const std::size_t chosen : {out.typical, out.largest}) add_withheld(pairs[chosen], out);
  add_doubts(pairs, first->counted, second->counted, out);
  if (first->counted.has_left_out() || second->counted.has_left_out()) {
    for (RankDifference* rank : {&out.typical_rank, &out.largest_rank}) drop_own_waits(*rank);
  }
  for (const ChosenRuns* side : {&*second, &*first}) {  // the gravest first
    out.doubts.insert(out.doubts.begin(), side->doubts.begin(), side->doubts.end());
    out.is_partial = out.is_partial || side->has_left_out;
  }
  for (const ChosenRuns* side : {&*first, &*second}) {
    out.doubts.insert(out.doubts.end(), side->windows.begin(), side->windows.end());
  }
  const bool has_all = out.only_before.empty() && out.only_after.empty();
  out.is_same_recording = has_all && std::all_of(pairs.begin(), pairs.end(), [](const RankPair& pair) {
                            return pair.before.size() == 1 && pair.after.size() == 1 &&
                                   is_same_run(pair.before.front(), pair.after.front());
                          });
  return out;
}

}  // namespace stepscope
