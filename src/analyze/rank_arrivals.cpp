// Several ranks. A collective is the same on every rank when it is the k-th of its process group in the step of the
// same number (or in the whole file, where there are no steps): every rank of a group must issue the same collectives
// in the same order, or the program hangs. Sequence numbers would be better, but PyTorch does not record them on the
// kernels. Where two ranks recorded different numbers, the step is left out, since matching would shift.
//
// Clocks: baseTimeNanoseconds puts all files on the hosts' clocks, which differ by microseconds within one host and
// by milliseconds between hosts without PTP. Ends of a collective tell the difference, so it is taken off when it is
// larger than what ends differ by anyway (under 100 us on all recordings).
#include <algorithm>
#include <cstdlib>
#include <map>

#include "analyze/collectives.h"
#include "stats/quantiles.h"

namespace stepscope {
namespace {

constexpr DurationNs kClockNoise = 100'000;

struct Key {
  std::int64_t step_number = 0;
  std::string group;
  auto operator<=>(const Key&) const = default;
};

using RunsByKey = std::map<Key, std::vector<GpuEventId>>;

std::string group_of(const Trace& trace, GpuEventId event) {
  const CollectiveId id = trace.gpu_events.collective[event];
  if (!id.has_value()) return {};
  return std::string(trace.text(trace.collectives.group_name[id]));
}

RunsByKey runs_by_key(const RankTrace& rank) {
  RunsByKey out;
  for (const CollectiveRun& run :
       find_collectives(*rank.trace, *rank.timeline, *rank.classes, *rank.steps, rank.device)) {
    if (!rank.steps->steps.empty() && !run.step) continue;
    const std::int64_t number = run.step ? rank.steps->steps[*run.step].number : 0;
    out[{number, group_of(*rank.trace, run.event)}].push_back(run.event);
  }
  return out;
}

// One collective on all ranks, on the first rank's clock.
struct Meeting {
  std::int64_t step_number = 0;
  std::vector<GpuEventId> events;
  std::vector<TimeNs> starts_ns, ends_ns;

  [[nodiscard]] DurationNs spread_ns() const {
    const auto [first, last] = std::minmax_element(starts_ns.begin(), starts_ns.end());
    return *last - *first;
  }
  [[nodiscard]] std::size_t late_rank() const {
    return static_cast<std::size_t>(std::max_element(starts_ns.begin(), starts_ns.end()) - starts_ns.begin());
  }
  [[nodiscard]] DurationNs transfer_ns() const {
    const TimeNs last_arrival = *std::max_element(starts_ns.begin(), starts_ns.end());
    const TimeNs first_end = *std::min_element(ends_ns.begin(), ends_ns.end());
    return std::max<DurationNs>(0, first_end - last_arrival);
  }
};

// What to add to a rank's times to have the first rank's. Missing when the files do not share a clock: one has no
// baseTimeNanoseconds, or they lie more than a day apart.
std::optional<std::vector<DurationNs>> base_offsets(const std::vector<RankTrace>& ranks) {
  constexpr DurationNs kDay = 86'400'000'000'000;
  std::vector<DurationNs> out;
  const std::int64_t first = ranks.front().trace->info.base_ns;
  for (const RankTrace& rank : ranks) {
    DurationNs offset = 0;
    if ((rank.trace->info.base_ns == 0) != (first == 0)) return std::nullopt;
    if (__builtin_sub_overflow(rank.trace->info.base_ns, first, &offset)) return std::nullopt;
    if (offset > kDay || offset < -kDay) return std::nullopt;
    out.push_back(offset);
  }
  return out;
}

// The lists of all ranks for one key; empty when the ranks do not agree on their number.
std::vector<const std::vector<GpuEventId>*> matched_lists(const std::vector<RunsByKey>& by_rank, const Key& key) {
  std::vector<const std::vector<GpuEventId>*> lists;
  for (const RunsByKey& runs : by_rank) {
    const auto found = runs.find(key);
    if (found == runs.end()) return {};
    if (!lists.empty() && lists.front()->size() != found->second.size()) return {};
    lists.push_back(&found->second);
  }
  return lists;
}

struct Matched {
  std::vector<Meeting> meetings;  // by step
  std::int64_t unmatched_count = 0;
};

Matched match(const std::vector<RankTrace>& ranks, const std::vector<DurationNs>& offsets) {
  std::vector<RunsByKey> by_rank;
  by_rank.reserve(ranks.size());
  for (const RankTrace& rank : ranks) by_rank.push_back(runs_by_key(rank));
  Matched out;
  for (const auto& [key, runs] : by_rank.front()) {
    const auto lists = matched_lists(by_rank, key);
    if (lists.empty()) {
      out.unmatched_count += static_cast<std::int64_t>(runs.size());
      continue;
    }
    for (std::size_t at = 0; at < runs.size(); ++at) {
      Meeting meeting;
      meeting.step_number = key.step_number;
      for (std::size_t r = 0; r < ranks.size(); ++r) {
        const GpuEventId event = (*lists[r])[at];
        meeting.events.push_back(event);
        meeting.starts_ns.push_back(ranks[r].trace->gpu_events.start_ns[event] + offsets[r]);
        meeting.ends_ns.push_back(ranks[r].timeline->end_ns[event] + offsets[r]);
      }
      out.meetings.push_back(std::move(meeting));
    }
  }
  return out;
}

std::vector<DurationNs> clock_offsets(const std::vector<Meeting>& meetings, std::size_t rank_count) {
  std::vector<DurationNs> out;
  std::vector<std::int64_t> differences(meetings.size());
  for (std::size_t r = 0; r < rank_count; ++r) {
    for (std::size_t m = 0; m < meetings.size(); ++m) {
      differences[m] = meetings[m].ends_ns[r] - meetings[m].ends_ns.front();
    }
    out.push_back(median_ns(differences).value_or(0));
  }
  return out;
}

void correct_clocks(std::vector<Meeting>& meetings, const std::vector<DurationNs>& offsets) {
  for (Meeting& meeting : meetings) {
    for (std::size_t r = 0; r < offsets.size(); ++r) {
      meeting.starts_ns[r] -= offsets[r];
      meeting.ends_ns[r] -= offsets[r];
    }
  }
}

std::vector<StepSpread> largest_by_step(std::vector<Meeting>&& meetings) {
  std::vector<StepSpread> steps;
  for (Meeting& meeting : meetings) {
    if (steps.empty() || steps.back().step_number != meeting.step_number) {
      steps.emplace_back();
      steps.back().step_number = meeting.step_number;
      steps.back().spread_ns = -1;
    }
    StepSpread& step = steps.back();
    if (meeting.spread_ns() <= step.spread_ns) continue;
    step.spread_ns = meeting.spread_ns();
    step.transfer_ns = meeting.transfer_ns();
    step.late_rank = meeting.late_rank();
    step.events = std::move(meeting.events);
    step.arrivals_ns = std::move(meeting.starts_ns);
  }
  return steps;
}

void judge_late_rank(RankArrivals& out, std::size_t rank_count) {
  std::vector<std::int64_t> spreads;
  std::vector<std::size_t> late_steps(rank_count, 0);
  for (const StepSpread& step : out.steps) {
    spreads.push_back(step.spread_ns);
    ++late_steps[step.late_rank];
  }
  out.median_spread_ns = median_ns(spreads);
  const auto most = std::max_element(late_steps.begin(), late_steps.end());
  out.late_rank = static_cast<std::size_t>(most - late_steps.begin());
  out.late_ratio = static_cast<double>(*most) / static_cast<double>(out.steps.size());
}

}  // namespace

RankArrivals compute_rank_arrivals(const std::vector<RankTrace>& ranks) {
  RankArrivals out;
  if (ranks.size() < 2) {
    out.not_available = "arrivals can be compared only between several ranks";
    return out;
  }
  const auto offsets = base_offsets(ranks);
  if (!offsets) {
    out.not_available = "the files share no clock (baseTimeNanoseconds is missing or a day apart)";
    return out;
  }
  Matched matched = match(ranks, *offsets);
  out.matched_count = static_cast<std::int64_t>(matched.meetings.size());
  out.unmatched_count = matched.unmatched_count;
  if (matched.meetings.empty()) {
    out.not_available = matched.unmatched_count > 0
                            ? "the ranks recorded different numbers of collectives in every step"
                            : "the files hold no collectives in the same steps";
    return out;
  }
  out.clock_offsets_ns = clock_offsets(matched.meetings, ranks.size());
  for (const DurationNs offset : out.clock_offsets_ns) {
    if (std::abs(offset) > kClockNoise) out.clocks_corrected = true;
  }
  if (out.clocks_corrected) correct_clocks(matched.meetings, out.clock_offsets_ns);
  out.steps = largest_by_step(std::move(matched.meetings));
  judge_late_rank(out, ranks.size());
  return out;
}

}  // namespace stepscope
