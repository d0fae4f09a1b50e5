// A folder of a run's files is rarely tidy: a rank is missing, another was copied twice, a third is of yesterday's run.
//
// Of several files of one rank the one with the most steps is used (then the most GPU events, then the first name): a
// rank that was recorded twice is as good as one, and looking at both would count its collectives twice. Runs are told
// apart by world size, backend and time: recordings of one run overlap or lie minutes apart, while a day between two of
// them means another run. Files of another world size than most are left out; for the other signs nothing is, since a
// clock may be wrong; all are said.
#include "fleet/roster.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "fleet/gate.h"
#include "fleet/order.h"
#include "fleet/recordings.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

constexpr DurationNs kDay = 86'400'000'000'000;

template <class Value>
Value commonest(const std::map<Value, std::size_t>& counts) {
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

// Better first. Names decide last, so that the order of files does not.
bool is_better(const RankSummary& a, const RankSummary& b) {
  return std::tuple(b.steps.size(), b.gpu_event_count, a.source) <
         std::tuple(a.steps.size(), a.gpu_event_count, b.source);
}

FleetRank make_row(const RunSummary& run, std::size_t at) {
  const RankSummary& rank = run.ranks[at];
  FleetRank row;
  row.summary = at;
  row.rank = rank.rank;
  row.label = rank.rank ? "rank " + std::to_string(*rank.rank) : rank.source;
  row.source = rank.source;
  row.host_name = rank.host_name;
  row.device_name = rank.device_name;
  row.headline_withheld = rank.headline_withheld;
  row.is_times_only = rank.step_source == kListedStepSource || rank.step_source == kCommandStepSource;
  row.step_count = rank.steps.size();
  row.lost_count = rank.lost_count;
  row.missing_steps = rank.missing_steps;
  if (lacks_late_steps(rank)) {
    row.steps_not_kept_count = rank.steps_not_kept_count;
  } else if (rank.steps_not_kept_count > 0) {
    row.steps_spread_over_count = recorded_step_count(rank);
  }
  return row;
}

// Files without a rank number by name, with as much of the path as tells them apart; several recordings of one file are
// counted.
void label_files(FleetFacts& facts) {
  const auto name_of = [](const std::string& source) { return source.substr(source.rfind('/') + 1); };
  std::map<std::string, std::set<std::string>> paths_by_name;
  std::map<std::string, std::size_t> rows_by_path, seen;
  for (const FleetRank& row : facts.ranks) {
    if (row.rank) continue;
    paths_by_name[name_of(row.source)].insert(row.source);
    ++rows_by_path[row.source];
  }
  for (FleetRank& row : facts.ranks) {
    if (row.rank) continue;
    const std::string name = name_of(row.source);
    if (!name.empty() && paths_by_name[name].size() == 1) row.label = name;
    if (rows_by_path[row.source] > 1) row.label += " (" + std::to_string(++seen[row.source]) + ")";
  }
}

bool is_foreign(const RankSummary& rank, const FleetFacts& facts) {
  return rank.world_size && *rank.world_size > 0 && rank.world_size != facts.world_size;
}

bool holds_nothing(const RankSummary& rank) {
  return !rank.rank && rank.steps.empty() && rank.gpu_event_count == 0 && !rank.headline_withheld;
}

bool are_of_one_process(const RunSummary& run, const std::vector<std::size_t>& candidates) {
  std::vector<const RankSummary*> recordings;
  for (const std::size_t at : candidates) recordings.push_back(&run.ranks[at]);
  return group_by_process(std::move(recordings)).each.size() == 1;
}

void take_rows(const RunSummary& run, FleetFacts& facts) {
  std::map<std::int64_t, std::vector<std::size_t>> by_rank;
  std::vector<std::size_t> without_rank;
  const bool has_ranks =
      std::any_of(run.ranks.begin(), run.ranks.end(), [](const RankSummary& rank) { return rank.rank.has_value(); });
  for (std::size_t at = 0; at < run.ranks.size(); ++at) {
    if (is_foreign(run.ranks[at], facts)) {
      facts.foreign.push_back(run.ranks[at].source);
      continue;
    }
    if (has_ranks && holds_nothing(run.ranks[at])) {
      facts.without_steps.push_back(run.ranks[at].source);
      continue;
    }
    if (run.ranks[at].rank) {
      by_rank[*run.ranks[at].rank].push_back(at);
    } else {
      without_rank.push_back(at);
    }
  }
  for (auto& [rank, candidates] : by_rank) {
    std::sort(candidates.begin(), candidates.end(),
              [&](std::size_t a, std::size_t b) { return is_better(run.ranks[a], run.ranks[b]); });
    facts.ranks.push_back(make_row(run, candidates.front()));
    if (candidates.size() < 2) continue;
    DoubleRank twice{rank, run.ranks[candidates.front()].source, {}};
    for (std::size_t i = 1; i < candidates.size(); ++i) twice.others.push_back(run.ranks[candidates[i]].source);
    twice.are_windows = are_of_one_process(run, candidates);
    facts.doubles.push_back(std::move(twice));
  }
  std::sort(without_rank.begin(), without_rank.end(),
            [&](std::size_t a, std::size_t b) { return run.ranks[a].source < run.ranks[b].source; });
  for (const std::size_t at : without_rank) facts.ranks.push_back(make_row(run, at));
  label_files(facts);
  facts.without_rank_count = static_cast<std::size_t>(std::count_if(
      facts.ranks.begin(), facts.ranks.end(), [](const FleetRank& row) { return !row.rank && !row.is_times_only; }));
}

void find_missing(FleetFacts& facts) {
  if (!facts.world_size) return;
  std::int64_t present = 0, next = 0;
  const auto skip_to = [&](std::int64_t end) {
    for (; next < end && facts.missing.size() < kMaxMissingNamed; ++next) facts.missing.push_back(next);
    next = std::max(next, end);
  };
  for (const FleetRank& row : facts.ranks) {
    if (!row.rank) continue;
    if (*row.rank < 0 || *row.rank >= *facts.world_size) {
      facts.outside.push_back(*row.rank);
      continue;
    }
    skip_to(*row.rank);
    next = *row.rank + 1;
    ++present;
  }
  skip_to(*facts.world_size);
  facts.missing_count = *facts.world_size - present;
}

// "world sizes 8 (7 files) and 16 (1 file)"
template <class Value, class Name>
std::string list_counts(const std::string& what, const std::map<Value, std::size_t>& counts, const Name& name) {
  std::string text = what;
  std::size_t at = 0;
  for (const auto& [value, count] : counts) {
    if (at == 4) return text + " and more";
    text += (at == 0                   ? " "
             : at + 1 == counts.size() ? " and "
                                       : ", ") +
            name(value) + " (" + count_of(static_cast<std::int64_t>(count), "file", "files") + ")";
    ++at;
  }
  return text;
}

struct Seen {
  std::map<std::int64_t, std::size_t> world_sizes;
  std::map<std::string, std::size_t> backends;
  std::vector<TimeNs> starts_ns;  // of processes on the hosts' clocks: their first windows
};

Seen look_at(const RunSummary& run) {
  Seen seen;
  std::vector<const RankSummary*> recordings;
  for (const RankSummary& rank : run.ranks) {
    if (rank.world_size && *rank.world_size > 0) ++seen.world_sizes[*rank.world_size];
    if (!rank.backend.empty()) ++seen.backends[rank.backend];
    recordings.push_back(&rank);
  }
  for (const Windows& windows : group_by_process(std::move(recordings)).each) {
    if (const auto start_ns = start_of(*windows.front())) seen.starts_ns.push_back(*start_ns);
  }
  std::sort(seen.starts_ns.begin(), seen.starts_ns.end());
  return seen;
}

void say_what_is_mixed(const Seen& seen, FleetFacts& facts) {
  if (seen.world_sizes.size() > 1) {
    facts.mixed.push_back(
        list_counts("world sizes", seen.world_sizes, [](std::int64_t size) { return std::to_string(size); }));
  }
  if (seen.backends.size() > 1) {
    facts.mixed.push_back(list_counts("backends", seen.backends, [](const std::string& name) { return name; }));
  }
  for (std::size_t i = 1; i < seen.starts_ns.size(); ++i) {
    DurationNs apart = 0;
    if (!__builtin_sub_overflow(seen.starts_ns[i], seen.starts_ns[i - 1], &apart) && apart <= kDay) continue;
    facts.mixed.push_back(count_of(static_cast<std::int64_t>(i), "file was", "files were") +
                          " recorded more than a day before the others");
    break;
  }
}

constexpr TimeNs kMaxTime = TimeNs{1} << 61;              // the year 2043
constexpr DurationNs kMaxDuration = DurationNs{1} << 45;  // 9.8 hours: a quarter of a million add up

bool is_time(TimeNs time) { return time > -kMaxTime && time < kMaxTime; }
bool is_duration(DurationNs duration) { return duration > -kMaxDuration && duration < kMaxDuration; }

bool has_sane_times(const RankSummary& rank) {
  const auto sane_step = [](const SummaryStep& step) {
    return is_time(step.start_ns) && is_duration(step.duration_ns) && is_duration(step.gpu_busy_ns) &&
           is_duration(step.exposed_communication_ns) &&
           std::all_of(step.idle_ns.begin(), step.idle_ns.end(), is_duration);
  };
  const auto sane_event = [](const SummaryCollective& event) {
    return is_time(event.start_ns) && is_time(event.end_ns) && is_duration(event.exposed_ns) &&
           is_duration(minus_ns(event.end_ns, event.start_ns));
  };
  const auto sane_work = [](const SummaryWork& work) {
    return std::all_of(work.busy_by_step_ns.begin(), work.busy_by_step_ns.end(), is_duration);
  };
  return std::all_of(rank.steps.begin(), rank.steps.end(), sane_step) &&
         std::all_of(rank.collectives.begin(), rank.collectives.end(), sane_event) &&
         std::all_of(rank.work.begin(), rank.work.end(), sane_work);
}

}  // namespace

bool FleetFacts::is_one_run() const {
  const auto numbered = static_cast<std::size_t>(
      std::count_if(ranks.begin(), ranks.end(), [](const FleetRank& row) { return row.rank.has_value(); }));
  std::size_t others = ranks.size() - numbered + foreign.size();
  for (const DoubleRank& twice : doubles) others += twice.others.size();
  return numbered >= 2 && numbered > others;
}

void take_roster(const RunSummary& run, FleetFacts& facts) {
  const Seen seen = look_at(run);
  if (!seen.world_sizes.empty()) facts.world_size = commonest(seen.world_sizes);
  say_what_is_mixed(seen, facts);
  take_rows(run, facts);
  find_missing(facts);
  facts.unreadable = run.unreadable;
}

void withhold_damaged(const RunSummary& run, FleetFacts& facts) {
  for (FleetRank& row : facts.ranks) {
    if (!row.headline_withheld && !has_sane_times(run.ranks[row.summary]))
      row.headline_withheld = "its times cannot be true";
  }
}

}  // namespace stepscope
