// Which recordings of a set belong together as one run, and what a run's steps and peaks are.
//
// Summaries carry no name of their run, and a merged base has forgotten its files, so it is found again from ranks and
// clocks: all ranks of a run begin to record within seconds of each other, while the next repetition of a program needs
// longer to start. Names of files were rejected: they are anybody's.
//
// Windows of one process are one run: they share its allocator, its clocks' speed and where its memory lies, so that
// the scatter between them is less than between runs, and a gate that took it for that would raise false alarms.
// Nothing in a file names the process for sure (in containers all have the same number), so three signs have to agree.
#include <algorithm>
#include <map>
#include <utility>

#include "fleet/gate.h"
#include "fleet/summary_file.h"
#include "fleet/summary_limits.h"
#include "stats/quantiles.h"

namespace stepscope {
namespace {

// Starting a training program again takes longer than ranks differ in when their recording begins. Where this is wrong
// (a rank missing in some), the nearest is the right one all the same.
constexpr DurationNs kMostApartNs = 60'000'000'000;

// Recordings of one process, in the order in which they were made; at least one.
using Windows = std::vector<const RankSummary*>;

struct Bundle {
  std::vector<Windows> ranks;
  std::optional<TimeNs> start_ns;  // missing: no clock
};

std::optional<TimeNs> start_of(const RankSummary& summary) {
  if (!summary.has_clock || summary.steps.empty()) return std::nullopt;
  return summary.steps.front().start_ns;
}

bool has_rank(const Bundle& bundle, std::int64_t rank) {
  return std::any_of(bundle.ranks.begin(), bundle.ranks.end(),
                     [rank](const Windows& windows) { return windows.front()->rank == rank; });
}

// What is not known is no sign, as in fleet/roster.cpp.
bool are_strangers(const RankSummary& a, const RankSummary& b) {
  const bool other_size = a.world_size && b.world_size && a.world_size != b.world_size;
  return other_size || (!a.backend.empty() && !b.backend.empty() && a.backend != b.backend);
}

// The distance from a bundle that may take the recording; missing: it may not.
std::optional<std::uint64_t> distance(const Bundle& bundle, const RankSummary& summary) {
  if (!summary.rank || !bundle.ranks.front().front()->rank || has_rank(bundle, *summary.rank)) return std::nullopt;
  if (are_strangers(*bundle.ranks.front().front(), summary)) return std::nullopt;
  const auto start = start_of(summary);
  if (!start || !bundle.start_ns) return start || bundle.start_ns ? std::nullopt : std::optional<std::uint64_t>(0);
  const auto low = static_cast<std::uint64_t>(std::min(*start, *bundle.start_ns));
  const auto apart = static_cast<std::uint64_t>(std::max(*start, *bundle.start_ns)) - low;
  return apart <= static_cast<std::uint64_t>(kMostApartNs) ? std::optional(apart) : std::nullopt;
}

// Is `later` another window of the process of `earlier`? The process's number and rank agree, and what a process counts
// on goes on: CUPTI's numbers of its calls, or where there is no GPU the numbers of the steps and the time.
bool is_next_window(const RankSummary& earlier, const RankSummary& later) {
  if (!earlier.process_id || earlier.process_id != later.process_id || earlier.rank != later.rank) return false;
  if (earlier.host_name != later.host_name || are_strangers(earlier, later)) return false;
  if (earlier.last_correlation && later.first_correlation) return *later.first_correlation > *earlier.last_correlation;
  const auto before = start_of(earlier), after = start_of(later);
  if (!before || !after || earlier.last_correlation || later.first_correlation) return false;
  const SummaryStep& last = earlier.steps.back();
  return *after >= last.start_ns + last.duration_ns && later.steps.front().number > last.number;
}

// Of one process or several; where there is a clock, by time.
std::vector<Windows> group_by_process(std::vector<const RankSummary*> ordered) {
  std::stable_sort(ordered.begin(), ordered.end(), [](const RankSummary* a, const RankSummary* b) {
    return std::pair(start_of(*a), a->first_correlation) < std::pair(start_of(*b), b->first_correlation);
  });
  std::vector<Windows> processes;
  std::map<std::pair<std::int64_t, std::optional<std::int64_t>>, std::vector<std::size_t>> by_number;  // and rank
  for (const RankSummary* summary : ordered) {
    std::vector<std::size_t>* same = nullptr;
    if (summary->process_id) same = &by_number[{*summary->process_id, summary->rank}];
    const auto process = same == nullptr ? std::vector<std::size_t>::iterator()
                                         : std::find_if(same->begin(), same->end(), [&](std::size_t at) {
                                             return is_next_window(*processes[at].back(), *summary);
                                           });
    if (same != nullptr && process != same->end()) {
      processes[*process].push_back(summary);
      continue;
    }
    if (same != nullptr) same->push_back(processes.size());
    processes.push_back({summary});
  }
  return processes;
}

// In the order of `processes`.
std::vector<Bundle> bundle_ranks(std::vector<Windows> processes) {
  std::vector<Bundle> bundles;
  for (Windows& windows : processes) {
    const RankSummary& first = *windows.front();
    Bundle* nearest = nullptr;
    std::uint64_t least = 0;
    for (Bundle& bundle : bundles) {
      const auto apart = distance(bundle, first);
      if (!apart || (nearest != nullptr && *apart >= least)) continue;
      nearest = &bundle;
      least = *apart;
    }
    if (nearest == nullptr) {
      bundles.push_back({{}, start_of(first)});
      nearest = &bundles.back();
    }
    nearest->ranks.push_back(std::move(windows));
  }
  return bundles;
}

GateTimeKind kind_of(const RankSummary& summary) {
  if (summary.step_source == kListedStepSource) return GateTimeKind::kListedSteps;
  if (summary.step_source == kCommandStepSource) return GateTimeKind::kCommandRuns;
  return summary.is_host_only ? GateTimeKind::kHostSteps : GateTimeKind::kGpuSteps;
}

std::vector<double> durations_of(const Windows& windows) {
  std::vector<double> durations;
  for (const RankSummary* window : windows) {
    for (const SummaryStep& step : window->steps) durations.push_back(static_cast<double>(step.duration_ns));
  }
  return durations;
}

void keep_larger(std::optional<std::int64_t>& peak, const std::optional<std::int64_t>& candidate) {
  if (candidate) peak = std::max(peak.value_or(*candidate), *candidate);
}

GateRun run_of(const Bundle& bundle) {
  GateRun run;
  const Windows* slowest_windows = nullptr;
  double slowest_ns = -1;
  for (const Windows& windows : bundle.ranks) {
    const double median = quantile(durations_of(windows), 0.5).value_or(0);
    if (median > slowest_ns) {
      slowest_windows = &windows;
      slowest_ns = median;
    }
    for (const RankSummary* window : windows) {
      for (const SummaryStep& step : window->steps) {
        keep_larger(run.allocated_peak_bytes, step.allocated_peak_bytes);
        keep_larger(run.reserved_peak_bytes, step.reserved_peak_bytes);
      }
    }
  }
  const RankSummary* slowest = slowest_windows->front();
  run.source = slowest->source;
  run.kind = kind_of(*slowest);
  run.steps_ns = durations_of(*slowest_windows);
  run.rank_count = static_cast<std::int64_t>(bundle.ranks.size());
  run.window_count = static_cast<std::int64_t>(slowest_windows->size());
  run.rank = slowest->rank;
  run.world_size = slowest->world_size;
  run.device_name = slowest->device_name;
  run.backend = slowest->backend;
  return run;
}

std::string named(const RankSummary& summary) { return summary.source.empty() ? "a recording" : summary.source; }

void add_doubts(const RankSummary& summary, GateSide& side) {
  if (summary.headline_withheld) {
    if (!side.steps_withheld) side.steps_withheld = named(summary) + ": " + *summary.headline_withheld;
  } else if (summary.lost_count > 0) {
    side.losses.push_back(named(summary) + ": " + std::to_string(summary.lost_count) +
                          (summary.lost_count == 1 ? " event was lost" : " events were lost"));
  }
  if (summary.steps_not_kept_count > 0) {
    side.warnings.push_back(
        named(summary) + ": only the first " + std::to_string(summary.steps.size()) + " of " +
        std::to_string(static_cast<std::int64_t>(summary.steps.size()) + summary.steps_not_kept_count) +
        " steps are in the summary");
  }
}

std::string copy_words(const std::string& copy, const std::string& original) {
  return copy + ": the same as " + original + ", counted once";
}

// All but the name of the file, as bytes: there is no field that a copy could differ in.
std::string content_of(RankSummary summary) {
  summary.source.clear();
  return write_summary({{std::move(summary)}, {}});
}

// Few recordings have the same steps, so that few are written out to be compared.
bool may_be_copy(const RankSummary& a, const RankSummary& b) {
  const auto same_step = [](const SummaryStep& x, const SummaryStep& y) {
    return x.start_ns == y.start_ns && x.duration_ns == y.duration_ns;
  };
  if (kind_of(a) == GateTimeKind::kCommandRuns) return false;  // two commands may take equally long
  return a.rank == b.rank && a.event_count == b.event_count &&
         std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(), same_step);
}

std::vector<const RankSummary*> without_copies(const RunSummary& run, GateSide& side) {
  std::vector<const RankSummary*> kept;
  std::multimap<std::pair<std::int64_t, std::uint64_t>, const RankSummary*> known;  // by rank and events
  for (const RankSummary& summary : run.ranks) {
    const std::pair<std::int64_t, std::uint64_t> key(summary.rank.value_or(-1), summary.event_count);
    const auto [begin, end] = known.equal_range(key);
    const auto original = std::find_if(begin, end, [&summary](const auto& entry) {
      return may_be_copy(*entry.second, summary) && content_of(*entry.second) == content_of(summary);
    });
    if (original != end) {
      side.warnings.push_back(copy_words(named(summary), named(*original->second)));
      continue;
    }
    known.emplace(key, &summary);
    kept.push_back(&summary);
  }
  return kept;
}

bool any_memory(const RankSummary& summary) {
  return std::any_of(summary.steps.begin(), summary.steps.end(),
                     [](const SummaryStep& step) { return step.allocated_peak_bytes || step.reserved_peak_bytes; });
}

void warn_of_ranks_without_memory(const std::vector<Bundle>& bundles, GateSide& side) {
  for (const Bundle& bundle : bundles) {
    const auto with = std::count_if(bundle.ranks.begin(), bundle.ranks.end(), [](const Windows& windows) {
      return std::any_of(windows.begin(), windows.end(), [](const RankSummary* each) { return any_memory(*each); });
    });
    if (with > 0 && static_cast<std::size_t>(with) < bundle.ranks.size()) {
      side.warnings.push_back("memory was recorded of " + std::to_string(with) + " of " +
                              std::to_string(bundle.ranks.size()) + " ranks");
      return;
    }
  }
}

void warn_of_windows(const std::vector<Windows>& processes, GateSide& side) {
  std::size_t count = 0;
  const RankSummary* first = nullptr;
  for (const Windows& windows : processes) {
    count += windows.size() - 1;
    if (first == nullptr && windows.size() > 1) first = windows[1];
  }
  if (first == nullptr) return;
  const std::string others =
      count == 1 ? "" : " and " + std::to_string(count - 1) + (count == 2 ? " other" : " others");
  side.warnings.push_back(named(*first) + others +
                          (count == 1
                               ? " is a later window of a process that is there already, and no run of its own"
                               : " are later windows of processes that are there already, and no runs of their own"));
}

void check_rank_counts(GateSide& side) {
  const auto [fewest, most] =
      std::minmax_element(side.runs.begin(), side.runs.end(),
                          [](const GateRun& a, const GateRun& b) { return a.rank_count < b.rank_count; });
  if (fewest == side.runs.end() || fewest->rank_count == most->rank_count) return;
  side.losses.push_back("a run has " + std::to_string(fewest->rank_count) +
                        (fewest->rank_count == 1 ? " rank" : " ranks") + " where another has " +
                        std::to_string(most->rank_count));
}

}  // namespace

GateSide gate_side(const RunSummary& run) {
  GateSide side;
  const std::vector<const RankSummary*> recordings = without_copies(run, side);
  std::vector<Windows> processes = group_by_process(recordings);
  warn_of_windows(processes, side);
  const std::vector<Bundle> bundles = bundle_ranks(std::move(processes));
  for (const Bundle& bundle : bundles) side.runs.push_back(run_of(bundle));
  for (const RankSummary* summary : recordings) add_doubts(*summary, side);
  warn_of_ranks_without_memory(bundles, side);
  check_rank_counts(side);
  for (const UnreadableRank& rank : run.unreadable) side.losses.push_back(rank.source + ": " + rank.reason);
  return side;
}

void drop_copied_runs(GateSide& side) {
  std::map<std::pair<GateTimeKind, std::vector<double>>, std::string> known;  // its source
  std::vector<GateRun> kept;
  for (GateRun& run : side.runs) {
    if (run.steps_ns.size() > 1) {
      const auto [original, is_new] = known.emplace(std::pair(run.kind, run.steps_ns), run.source);
      if (!is_new) {
        side.warnings.push_back(copy_words(run.source, original->second));
        continue;
      }
    }
    kept.push_back(std::move(run));
  }
  side.runs = std::move(kept);
}

std::vector<RankSummary> summarize_listed_runs(const std::vector<GateRun>& runs) {
  std::vector<RankSummary> summaries;
  for (const GateRun& run : runs) {
    RankSummary summary;
    summary.source = run.source;
    summary.device_name = run.device_name;
    summary.is_host_only = true;
    summary.step_source = run.kind == GateTimeKind::kCommandRuns ? kCommandStepSource : kListedStepSource;
    TimeNs at_ns = 0;
    const std::size_t kept = std::min(run.steps_ns.size(), kMostSummarySteps);
    summary.steps_not_kept_count = static_cast<std::int64_t>(run.steps_ns.size() - kept);
    for (std::size_t i = 0; i < kept; ++i) {
      SummaryStep step;
      step.number = static_cast<std::int64_t>(i);
      step.start_ns = at_ns;
      step.duration_ns = static_cast<DurationNs>(run.steps_ns[i] + 0.5);
      step.host_span_ns = step.duration_ns;
      step.idle_ns[static_cast<std::size_t>(HostLabel::kNoEvent)] = step.duration_ns;
      step.allocated_peak_bytes = run.allocated_peak_bytes;
      step.reserved_peak_bytes = run.reserved_peak_bytes;
      at_ns += step.duration_ns;
      summary.steps.push_back(step);
    }
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

}  // namespace stepscope
