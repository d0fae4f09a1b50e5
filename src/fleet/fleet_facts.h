// All ranks of a run together: who is there, on which clock, who waits for whom and why.
//
// A pure function of the summaries. Its idea, in one line: a rank's own work in a step is the step less what it waited
// inside collectives for ranks that had not come, so the rank with the most own work is the one that the others wait
// for, whatever groups lie between them. Arrival times alone were rejected as the judge: with tensor and data
// parallel groups a late rank makes its whole group late elsewhere, and with collectives after one another the
// late one is late only in the first. They are kept, since they are what people can check on a timeline.
//
// Cost: linear in ranks and collectives (each collective of each rank is touched a fixed number of times; medians by
// selection), so 1,024 ranks with 3,000 collectives each take seconds. docs/performance.md has the figures.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fleet/rank_summary.h"

namespace stepscope {

// What a step of one rank consists of; index into CostParts. First the causes of idle (HostLabel), then the classes of
// GPU work (KernelClass), where kCommunication stands for exposed communication without the waits.
inline constexpr std::size_t kCostPartCount = kHostLabelCount + kKernelClassCount;
using CostParts = std::array<DurationNs, kCostPartCount>;
[[nodiscard]] constexpr std::size_t part_of(HostLabel cause) { return static_cast<std::size_t>(cause); }
[[nodiscard]] constexpr std::size_t part_of(KernelClass work) {
  return kHostLabelCount + static_cast<std::size_t>(work);
}
// "data loader", "matmul", ...: for people.
[[nodiscard]] std::string cost_part_words(std::size_t part);

inline constexpr std::size_t kMaxMissingNamed = 4096;

// One rank of the run. Medians are over its steps.
struct FleetRank {
  std::size_t summary = 0;           // index into RunSummary::ranks
  std::optional<std::int64_t> rank;  // missing: the file does not say
  std::string label;                 // "rank 17", or the file
  std::string source, host_name, device_name;
  std::optional<std::string> headline_withheld;  // then nothing below is known, and the rank judges nobody
  bool is_times_only = false;  // step times that somebody listed (gate --update-base): no recording, no GPU
  std::size_t step_count = 0;
  std::int64_t steps_not_kept_count = 0;     // later ones, which its summary has no room for: in no figure
  std::int64_t steps_spread_over_count = 0;  // its steps stand for so many, from the first to the last; 0: they are all
  std::int64_t lost_count = 0;               // events of its file that were lost
  std::vector<MissingSteps> missing_steps;   // that its recording skips; no figure holds the time of their gaps
  std::optional<DurationNs> step_ns, gpu_busy_ns, exposed_communication_ns;
  std::optional<DurationNs> compute_ns;  // busy without exposed communication
  // Only where the rank shares collectives with others.
  std::optional<DurationNs> wait_ns;         // in collectives for ranks that had not come, nothing computing
  std::optional<DurationNs> own_ns;          // step - wait
  std::optional<DurationNs> late_ns;         // own - that of the typical rank; negative: it is early
  double late_step_ratio = 0;                // of its steps, those late by kLateShare of the step
  std::size_t slowest_step_count = 0;        // steps in which its own work was the longest
  std::optional<double> kernel_time_ratio;   // its kernels' time / that of the same kernels on the typical rank
  std::optional<KernelClass> slowest_class;  // where it differs most, of classes of 10 % of its GPU time or more
  double slowest_class_ratio = 1;            // likewise
  double other_classes_ratio = 1;            // likewise, of all but the slowest class together
  std::optional<std::int64_t> allocated_peak_bytes, reserved_peak_bytes;
  DurationNs clock_offset_ns = 0;  // its clock - the run's, taken off in all comparisons
  CostParts parts_ns{};            // a mean step; adds up to its mean own time where all GPU work is known by kernel
  std::string first_finding;       // id of its costliest finding that is its own (judge_fleet); empty: none
  std::optional<DurationNs> first_finding_saving_ns;
};

// Shares of the slowest rank's step from which lateness of a rank, and differences between ranks that take turns,
// count; see lateness.cpp.
inline constexpr double kLateShare = 0.05;
inline constexpr double kUnevenShare = 0.10;

struct DoubleRank {  // several files say to be the same rank
  std::int64_t rank = 0;
  std::string used;                 // the one with the most steps, then GPU events
  std::vector<std::string> others;  // left out
  bool are_windows = false;         // all are of one process
};

struct FleetClocks {
  std::size_t domain_count = 0;      // hosts, where files name them; else files
  std::size_t component_count = 0;   // sets of domains that collectives connect; 1: all on one clock
  DurationNs largest_offset_ns = 0;  // between two domains of one set, from ends of collectives
  DurationNs largest_drift_ns = 0;   // over the recording
  bool corrected = false;            // an offset or a drift was above the noise, and is taken off
  std::size_t meeting_count = 0;     // collectives that it rests on
};

struct FleetGroup {
  std::string name, description;
  std::vector<std::int64_t> ranks;   // as the files say; empty: they do not
  std::optional<std::int64_t> size;  // likewise
  // Of ranks, those without a file; at most kMaxMissingNamed. Empty where files do not say which rank they are.
  std::vector<std::int64_t> missing;
  std::size_t present_count = 0;   // rows that have it
  std::int64_t meeting_count = 0;  // collectives matched
  bool is_whole = true;            // no rank of it is missing
  bool refuted = false;            // collectives matched by name ended before all had come: other ranks in truth
};

// A rank that waited for Stepscope itself.
struct FleetStoppedRank {
  std::size_t row = 0;  // index into FleetFacts::ranks
  std::int64_t count = 0;
  DurationNs total_ns = 0;
};

// One step over all ranks that recorded it.
struct FleetStep {
  std::int64_t number = 0;
  std::size_t rank_count = 0;
  DurationNs typical_own_ns = 0;  // lower median
  DurationNs slowest_own_ns = 0;
  std::size_t slowest = 0;        // index into FleetFacts::ranks
  DurationNs median_wait_ns = 0;  // of all ranks
  DurationNs slowest_duration_ns = 0;
  // The collective whose ranks arrive farthest apart; missing: none was matched in this step.
  struct Arrivals {
    std::uint32_t group = 0;
    std::string kind;
    DurationNs spread_ns = 0;         // last arrival - first
    DurationNs transfer_ns = 0;       // first end - last arrival, >= 0
    std::size_t first = 0, last = 0;  // who; indices into FleetFacts::ranks
    DurationNs median_ns = 0;         // lower median of arrivals after the first
  };
  std::optional<Arrivals> widest;
};

// One step of one rank that met others in it. duration_ns = own work + communication_ns + wait_ns.
struct FleetRankStep {
  std::int64_t number = 0;
  std::uint32_t row = 0;  // index into FleetFacts::ranks
  TimeNs start_ns = 0;    // on the run's clock
  DurationNs duration_ns = 0;
  DurationNs wait_ns = 0;           // as FleetRank has it
  DurationNs communication_ns = 0;  // exposed, without the waits
};

// Bus bandwidth (nccl-tests' convention) of collectives of one kind, number of ranks and size class: bus bytes / (first
// end - last arrival).
struct FleetBandwidth {
  std::string kind;
  std::int64_t rank_count = 0;
  std::int64_t from_bytes = 0;  // size class [from_bytes, 8 * from_bytes)
  std::int64_t count = 0;
  double best_bytes_per_s = 0, median_bytes_per_s = 0;
};

// Smallest, typical and largest over the ranks, and who.
struct FleetSpread {
  std::int64_t min = 0, median = 0, max = 0;
  std::size_t min_rank = 0, max_rank = 0;  // indices into FleetFacts::ranks
};

// A finding that ranks have by themselves, told once.
struct SharedRankFinding {
  std::string id;
  std::size_t worst = 0;  // index into FleetFacts::ranks
  SummaryFinding at_worst;
  std::vector<std::size_t> ranks;  // ascending
};

struct FleetFacts {
  std::optional<std::int64_t> world_size;  // as most files say
  std::vector<FleetRank> ranks;            // ascending by rank; those without one last, by file
  std::vector<std::int64_t> missing;       // of world_size; at most kMaxMissingNamed
  std::int64_t missing_count = 0;
  std::vector<std::int64_t> outside;  // ranks of rows that no world of world_size has; ascending
  std::vector<DoubleRank> doubles;
  std::vector<UnreadableRank> unreadable;
  std::size_t without_rank_count = 0;  // listed times are of no rank, and are not counted
  // Files of several runs in one folder: sentences that say by what they differ; empty: they are one run.
  std::vector<std::string> mixed;
  std::vector<std::string> foreign;  // files of another world size: in no row
  // Beside ranks, files that hold no step and say no rank, such as the capture of the ranks' launcher: likewise.
  std::vector<std::string> without_steps;
  // The rows are ranks of one run, not recordings that happen to be given together: at least two, each with its number,
  // and most of the files.
  [[nodiscard]] bool is_one_run() const;

  FleetClocks clocks;
  std::vector<FleetGroup> groups;       // with at least two rows
  std::vector<FleetGroup> lone_groups;  // with one row, which met nobody, as its others have no file
  std::int64_t matched_count = 0;       // collectives met by two rows or more
  std::int64_t unmatched_count =
      0;  // events of groups with two rows whose counts differ in the step, or with unknown peers
  std::int64_t left_out_step_count = 0;    // steps of a group so left out
  std::vector<FleetStep> steps;            // by number; those that two rows recorded
  std::vector<FleetRankStep> rank_steps;   // those of `steps`, by number, then by row
  std::vector<FleetBandwidth> bandwidths;  // by kind, ranks, size
  // Waits for ranks whose files are missing: what transfers take beyond their bytes at the best bandwidth seen, in
  // groups that are not whole; median over ranks of a mean step.
  std::optional<DurationNs> missing_wait_ns;

  std::optional<FleetSpread> step_ns, wait_ns, own_ns, compute_ns, exposed_communication_ns, allocated_peak_bytes,
      reserved_peak_bytes;
  CostParts typical_parts_ns{};         // lower median over ranks, part by part
  std::vector<std::size_t> stragglers;  // indices into ranks, latest first
  // Own work differs by kUnevenShare of the step in the median step (kLateShare where the same ranks are late in most
  // steps), but no few ranks are to blame for it.
  bool is_uneven = false;
  std::vector<std::size_t> uneven_ranks;  // then: those that are late in most steps (many), else empty: they take turns
  DurationNs median_excess_ns = 0;        // median over steps of slowest - typical own work
  // The step without the stragglers' excess: the next slowest rank's own work decides. Over the steps, as recorded.
  std::optional<Estimate> straggler_saving;
  std::vector<SharedRankFinding> findings;

  std::vector<FleetStoppedRank> stopped_ranks;
  // Steps in which Stepscope stopped some rank for 5 % of the step or more: counted on no rank, but where that would
  // leave none (stopped_everywhere). Own work never holds what Stepscope stopped the rank itself.
  std::vector<std::int64_t> stopped_steps;
  bool stopped_everywhere = false;
};

[[nodiscard]] FleetFacts compute_fleet_facts(const RunSummary& run);

}  // namespace stepscope
