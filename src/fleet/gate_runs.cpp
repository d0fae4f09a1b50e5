// Which recordings of a set belong together as one run, and what a run's steps and peaks are.
//
// Summaries carry no name of their run, and a merged base has forgotten its files, so it is found again from ranks and
// clocks: all ranks of a run begin to record within seconds of each other, while the next repetition of a program needs
// longer to start. Names of files were rejected: they are anybody's. Windows of one process are one run
// (fleet/recordings.h).
#include <algorithm>
#include <map>
#include <utility>

#include "fleet/gate.h"
#include "fleet/recordings.h"
#include "fleet/stopped_runs.h"
#include "fleet/summary_limits.h"
#include "fleet/work_rows.h"
#include "stats/quantiles.h"

namespace stepscope {
namespace {

GateTimeKind kind_of(const RankSummary& summary) {
  if (summary.step_source == kListedStepSource) return GateTimeKind::kListedSteps;
  if (summary.step_source == kCommandStepSource) return GateTimeKind::kCommandRuns;
  return summary.is_host_only ? GateTimeKind::kHostSteps : GateTimeKind::kGpuSteps;
}

std::vector<double> durations_of(const Windows& windows, const CountedRecordings& counted) {
  std::vector<double> durations;
  for (const RankSummary* window : windows) {
    for (const SummaryStep& step : counted.of(window)->steps)
      durations.push_back(static_cast<double>(step.duration_ns));
  }
  return durations;
}

void keep_larger(std::optional<std::int64_t>& peak, const std::optional<std::int64_t>& candidate) {
  if (candidate) peak = std::max(peak.value_or(*candidate), *candidate);
}

// Peaks are of all steps: memory is the program's, whoever stopped it.
GateRun run_of(const Bundle& bundle, const CountedRecordings& counted) {
  GateRun run;
  const Windows* slowest_windows = nullptr;
  double slowest_ns = -1;
  for (const Windows& windows : bundle.ranks) {
    const double median = quantile(durations_of(windows, counted), 0.5).value_or(0);
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
  run.steps_ns = durations_of(*slowest_windows, counted);
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
  if (summary.step_source == step_source_name(StepSource::kNone)) {
    side.warnings.push_back(named(summary) +
                            ": no steps are marked, so the whole recording counts as one; --steps NAME");
  }
  if (summary.steps_not_kept_count <= 0) return;
  const std::string kept = std::to_string(summary.steps.size()), all = std::to_string(recorded_step_count(summary));
  if (lacks_late_steps(summary)) {  // which may be the slow ones
    side.losses.push_back(named(summary) + ": only the first " + kept + " of " + all +
                          " steps are in its summary, and the others were not compared");
  } else {
    side.warnings.push_back(named(summary) + ": " + kept + " of its " + all +
                            " steps were compared, spread over the run");
  }
}

std::string copy_words(const std::string& copy, const std::string& original) {
  return copy + ": the same as " + original + ", counted once";
}

// Of several recordings those without any step are no runs; one alone is, and has no steps.
std::vector<const RankSummary*> with_steps(std::vector<const RankSummary*> recordings, GateSide& side) {
  const auto is_empty = [](const RankSummary* each) { return each->steps.empty() && !each->headline_withheld; };
  if (std::all_of(recordings.begin(), recordings.end(), is_empty)) return recordings;
  for (const RankSummary* each : recordings) {
    if (is_empty(each)) side.warnings.push_back(named(*each) + " holds no step, and is no run");
  }
  std::erase_if(recordings, is_empty);
  return recordings;
}

std::vector<const RankSummary*> without_copies(const RunSummary& run, GateSide& side) {
  std::vector<const RankSummary*> kept;
  std::multimap<std::pair<std::int64_t, std::uint64_t>, const RankSummary*> known;  // by rank and events
  for (const RankSummary& summary : run.ranks) {
    const std::pair<std::int64_t, std::uint64_t> key(summary.rank.value_or(-1), summary.event_count);
    const auto [begin, end] = known.equal_range(key);
    const auto original =
        std::find_if(begin, end, [&summary](const auto& entry) { return is_same_recording(*entry.second, summary); });
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
  const std::vector<const RankSummary*> recordings = with_steps(without_copies(run, side), side);
  ProcessList processes = group_by_process(recordings);
  for (std::string& text : describe_windows(processes)) side.warnings.push_back(std::move(text));
  const std::vector<Bundle> bundles = bundle_ranks(std::move(processes.each));
  const CountedRecordings counted(recordings);
  for (const Bundle& bundle : bundles) side.runs.push_back(run_of(bundle, counted));
  for (const RankSummary* summary : recordings) add_doubts(*summary, side);
  if (std::string words = counted.describe_left_out(); !words.empty()) side.warnings.push_back(std::move(words));
  if (std::string words = counted.describe_stopped(); !words.empty() && !side.steps_withheld)
    side.steps_withheld = std::move(words);
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

std::int64_t recorded_step_count(const RankSummary& summary) {
  std::int64_t count = summary.steps_not_kept_count;  // of a file: any number
  add_bounded(count, static_cast<std::int64_t>(summary.steps.size()));
  return count;
}

bool lacks_late_steps(const RankSummary& summary) {
  if (summary.steps_not_kept_count <= 0 || summary.are_steps_spread) return false;
  const bool is_listed = summary.step_source == kListedStepSource || summary.step_source == kCommandStepSource;
  if (!is_listed || summary.steps.empty()) return true;
  // Versions that kept the first ones numbered them without gaps.
  return summary.steps.back().number != recorded_step_count(summary) - 1;
}

std::vector<RankSummary> summarize_listed_runs(const std::vector<GateRun>& runs) {
  std::vector<RankSummary> summaries;
  for (const GateRun& run : runs) {
    RankSummary& summary = summaries.emplace_back();
    summary.source = run.source;
    summary.device_name = run.device_name;
    summary.is_host_only = true;
    summary.step_source = run.kind == GateTimeKind::kCommandRuns ? kCommandStepSource : kListedStepSource;
    TimeNs at_ns = 0;
    const std::size_t kept = std::min(run.steps_ns.size(), kMostSummarySteps);
    summary.steps_not_kept_count = static_cast<std::int64_t>(run.steps_ns.size() - kept);
    summary.are_steps_spread = summary.steps_not_kept_count > 0;
    for (std::size_t i = 0; i < kept; ++i) {
      // Of more than a summary has room for some of each part of the run, from the first to the last.
      const std::size_t at = kept < run.steps_ns.size() ? i * (run.steps_ns.size() - 1) / (kept - 1) : i;
      SummaryStep step;
      step.number = static_cast<std::int64_t>(at);
      step.start_ns = at_ns;
      step.duration_ns = static_cast<DurationNs>(run.steps_ns[at] + 0.5);
      step.host_span_ns = step.duration_ns;
      step.idle_ns[static_cast<std::size_t>(HostLabel::kNoEvent)] = step.duration_ns;
      step.allocated_peak_bytes = run.allocated_peak_bytes;
      step.reserved_peak_bytes = run.reserved_peak_bytes;
      at_ns += step.duration_ns;
      summary.steps.push_back(step);
    }
  }
  return summaries;
}

}  // namespace stepscope
