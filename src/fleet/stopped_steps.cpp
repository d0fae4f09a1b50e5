// All stops on the run's clock, then each step against them.
//
// The clock is found from the collectives of all steps: a stop moves arrivals and not ends, which are what clocks are
// compared by (clocks.cpp).
#include "fleet/stopped_steps.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/overlap.h"
#include "fleet/clocks.h"
#include "fleet/kept_steps.h"
#include "fleet/meetings.h"
#include "fleet/order.h"
#include "stats/outliers.h"

namespace stepscope {
namespace {

// As much of a step as one rank's analysis notices.
constexpr DurationNs kNoticedPercent = 5;

Interval interval_of(TimeNs start_ns, DurationNs length_ns) {
  return {start_ns, plus_ns(start_ns, std::max<DurationNs>(0, length_ns))};
}

// The clocks of the rows, with nothing left in facts.
RunClock find_clock(const RunSummary& run, const FleetFacts& facts) {
  FleetFacts scratch;
  scratch.world_size = facts.world_size;
  for (const FleetRank& row : facts.ranks) {
    FleetRank& who = scratch.ranks.emplace_back();
    who.summary = row.summary;
    who.rank = row.rank;
    who.host_name = row.host_name;
    who.headline_withheld = row.headline_withheld;
  }
  Meetings meetings = match_collectives(run, scratch);
  return put_on_one_clock(meetings, scratch);
}

// By what collectives connect: a rank that meets nobody waits for itself only, whatever others' clocks say.
class Stops {
 public:
  Stops(const RunSummary& run, const FleetFacts& facts) : run_(run), facts_(facts), clock_(find_clock(run, facts)) {
    for_each_row([&](std::uint32_t row, const RankSummary& rank) {
      for (const SummaryStop& stop : rank.own_stops) {
        if (stop.length_ns > 0) stops_[set_of(row)].push_back(place(row, stop));
      }
    });
    for (auto& [set, stops] : stops_) stops = union_of(std::move(stops));
  }

  // The numbers of the steps, on whatever rank.
  std::set<std::int64_t> find_stopped() const {
    std::set<std::int64_t> numbers;
    for_each_row([&](std::uint32_t row, const RankSummary& rank) {
      const auto at = stops_.find(set_of(row));
      if (at == stops_.end()) return;
      for (const SummaryStep& step : rank.steps) {
        const DurationNs stopped = overlap_ns(at->second, place(row, step));
        if (stopped > 0 && stopped >= step.duration_ns / 100 * kNoticedPercent) numbers.insert(step.number);
      }
    });
    return numbers;
  }

  // Who was stopped in these steps, and for how long in them: what lies outside kept nobody waiting. A rank whose own
  // analysis has left the step out is stopped in that of the others.
  std::vector<FleetStoppedRank> find_ranks(const std::set<std::int64_t>& numbers) const {
    std::map<Set, IntervalSet> steps;
    for_each_row([&](std::uint32_t row, const RankSummary& rank) {
      if (!stops_.contains(set_of(row))) return;
      for (const SummaryStep& step : rank.steps) {
        if (numbers.contains(step.number)) steps[set_of(row)].push_back(place(row, step));
      }
    });
    for (auto& [set, all] : steps) all = union_of(std::move(all));
    std::vector<FleetStoppedRank> ranks;
    for_each_row([&](std::uint32_t row, const RankSummary& rank) {
      FleetStoppedRank who{row, 0, 0};
      for (const SummaryStop& stop : rank.own_stops) {
        const DurationNs both = stop.length_ns > 0 ? overlap_ns(steps[set_of(row)], place(row, stop)) : 0;
        who.count += both > 0 ? 1 : 0;
        who.total_ns += both;
      }
      if (who.count > 0) ranks.push_back(who);
    });
    return ranks;
  }

 private:
  using Set = std::pair<bool, std::uint32_t>;  // a set of the clock's, or a row that is in none

  template <class Visit>
  void for_each_row(const Visit& visit) const {
    for (std::uint32_t row = 0; row < facts_.ranks.size(); ++row) {
      if (!facts_.ranks[row].headline_withheld) visit(row, run_.ranks[facts_.ranks[row].summary]);
    }
  }
  Set set_of(std::uint32_t row) const {
    const std::optional<std::uint32_t> set = clock_.set_of(row);
    return {set.has_value(), set.value_or(row)};
  }
  Interval place(std::uint32_t row, const SummaryStop& stop) const {
    return interval_of(clock_.to_run(row, stop.start_ns), stop.length_ns);
  }
  Interval place(std::uint32_t row, const SummaryStep& step) const {
    return interval_of(clock_.to_run(row, step.start_ns), step.duration_ns);
  }

  const RunSummary& run_;
  const FleetFacts& facts_;
  RunClock clock_;
  std::map<Set, IntervalSet> stops_;
};

// Of ranks that share no step, any step of one.
bool any_common_step_left(const RunSummary& run, const std::set<std::int64_t>& stopped, const FleetFacts& facts) {
  std::set<std::int64_t> seen;
  bool is_any_common = false, is_any_left = false;
  for (const FleetRank& row : facts.ranks) {
    if (row.headline_withheld) continue;
    std::set<std::int64_t> own;
    for (const SummaryStep& step : run.ranks[row.summary].steps) own.insert(step.number);
    for (const std::int64_t number : own) {
      const bool is_common = !seen.insert(number).second, is_left = !stopped.contains(number);
      if (is_common && is_left) return true;
      is_any_common = is_any_common || is_common;
      is_any_left = is_any_left || is_left;
    }
  }
  return !is_any_common && is_any_left;
}

// A finding of the rank alone about steps far longer than the others says nothing of steps that are gone.
void drop_explained_outliers(RankSummary& rank) {
  std::vector<std::int64_t> lengths;
  for (const SummaryStep& step : rank.steps) lengths.push_back(step.duration_ns);
  if (!find_outliers(lengths, 1).indices.empty()) return;
  std::erase_if(rank.findings, [](const SummaryFinding& finding) { return finding.id == "outlier-step"; });
}

// What is summed over all steps (counts of work, operators) keeps their share; steps_not_kept_count says so.
void drop_steps(RankSummary& rank, const std::set<std::int64_t>& numbers) {
  std::vector<bool> stays;
  for (const SummaryStep& step : rank.steps) stays.push_back(!numbers.contains(step.number));
  if (std::find(stays.begin(), stays.end(), false) == stays.end()) return;
  keep_steps(rank, stays);
  drop_explained_outliers(rank);
}

RunSummary without_steps(const RunSummary& run, const std::set<std::int64_t>& numbers) {
  RunSummary out;
  out.unreadable = run.unreadable;
  for (const RankSummary& rank : run.ranks) {
    RankSummary& copy = out.ranks.emplace_back(rank);
    copy.replay = {};
    drop_steps(copy, numbers);
  }
  return out;
}

}  // namespace

DurationNs own_stop_in(const RankSummary& rank, const SummaryStep& step) {
  DurationNs sum = 0;
  const Interval whole = interval_of(step.start_ns, step.duration_ns);
  for (const SummaryStop& stop : rank.own_stops) {
    const Interval each = interval_of(stop.start_ns, stop.length_ns);
    sum += std::max<DurationNs>(0, std::min(each.end_ns, whole.end_ns) - std::max(each.start_ns, whole.start_ns));
  }
  return std::min(sum, std::max<DurationNs>(0, step.duration_ns));
}

std::optional<RunSummary> leave_out_stopped_steps(const RunSummary& run, FleetFacts& facts) {
  const bool any = std::any_of(facts.ranks.begin(), facts.ranks.end(), [&](const FleetRank& row) {
    return !row.headline_withheld && !run.ranks[row.summary].own_stops.empty();
  });
  if (!any) return std::nullopt;
  const Stops stops(run, facts);
  const std::set<std::int64_t> stopped = stops.find_stopped();
  if (stopped.empty()) return std::nullopt;
  facts.stopped_ranks = stops.find_ranks(stopped);
  facts.stopped_steps.assign(stopped.begin(), stopped.end());
  facts.stopped_everywhere = !any_common_step_left(run, stopped, facts);
  if (facts.stopped_everywhere) return std::nullopt;
  RunSummary counted = without_steps(run, stopped);
  for (FleetRank& row : facts.ranks) row.step_count = counted.ranks[row.summary].steps.size();
  return counted;
}

}  // namespace stepscope
