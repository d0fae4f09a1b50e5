// What differs between two runs of a program: the step's time, and parts that sum exactly to the difference.
//
// Everything is a function of summaries (fleet/rank_summary.h). The step is compared by its median with an interval
// (stats/compare_samples.h). What explains the difference is taken apart by the mean step, as only means sum: GPU busy
// by the work that it did, idle by its cause. Each part is judged by itself (fleet/difference_noise.h), so that parts
// of the size of the noise can be shown as what they are. Ratios of parts were rejected: they neither sum nor exist
// where a part is new.
//
// Ranks are matched by their number and never summed: a mean over ranks shows neither the one that is late nor those
// that wait for it. One rank is taken apart, the one whose step without exposed communication changed
// most; the waiting of the others follows from it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "fleet/rank_summary.h"
#include "stats/compare_samples.h"

namespace stepscope {

// Of the mean step, both in whole ns, so that parts sum to the step to the nanosecond.
struct PartChange {
  DurationNs before_ns = 0;
  DurationNs after_ns = 0;
  std::optional<DurationNs>
      noise_ns;          // the difference is known to within so much; missing: too few steps, or too small
  bool is_told = false;  // more than noise
  [[nodiscard]] DurationNs difference_ns() const { return after_ns - before_ns; }
};

// How a piece of GPU work of one side was found on the other.
enum class WorkMatch : std::uint8_t {
  kSame,      // operator, shapes, kernel and place
  kRenamed,   // another kernel for the same operator, shapes, place and class
  kMoved,     // the same at another place in the step
  kReshaped,  // the same operator with inputs of other shapes
  kReplaced,  // another operator of the same class, place and number of calls
  kNew,
  kGone,
  kRest,  // what summaries do not keep by row
};
[[nodiscard]] std::string_view work_match_name(WorkMatch match);  // "same", "renamed", ...

struct WorkIdentity {
  std::string operator_name, shapes, kernel, place;
  KernelClass kernel_class = KernelClass::kOther;
  auto operator<=>(const WorkIdentity&) const = default;
};

struct WorkDifference {
  WorkMatch match = WorkMatch::kSame;
  WorkIdentity before, after;                          // the same for kSame; before is empty for kNew, after for kGone
  double before_call_count = 0, after_call_count = 0;  // a step
  PartChange busy;
  // busy.difference_ns() in two: calls that came or went, at the mean time of a call, and calls that take another time,
  // at the mean number of calls. For kNew and kGone all is calls.
  DurationNs by_calls_ns = 0, by_time_ns = 0;
};

struct ClassDifference {
  KernelClass kernel_class = KernelClass::kOther;
  PartChange busy;
  DurationNs by_median_ns = 0;  // of medians, as the step is judged; of the classes they do not sum
};

struct IdleDifference {
  HostLabel cause = HostLabel::kNoEvent;
  PartChange idle;
  DurationNs by_median_ns = 0;  // likewise
};

// Host time of an operator, self, mean of a step. Summaries keep no values by step of it, so only several runs show
// its noise; else 20 % is taken (fleet/difference_noise.h).
struct OperatorDifference {
  std::string name;  // empty: what summaries do not keep by row
  double before_call_count = 0, after_call_count = 0;
  PartChange self_cpu;
};

enum class FindingChange : std::uint8_t { kAppeared, kGone, kStayed };
[[nodiscard]] std::string_view finding_change_name(FindingChange change);  // "appeared", "gone", "stayed"

struct FindingDifference {
  FindingChange change = FindingChange::kStayed;
  std::string id;
  std::optional<SummaryFinding> before, after;
};

// The largest of all steps; missing where not recorded.
struct MemoryDifference {
  std::optional<std::int64_t> before_allocated_peak_bytes, after_allocated_peak_bytes;
  std::optional<std::int64_t> before_reserved_peak_bytes, after_reserved_peak_bytes;
};

// What was compared on one side; times are of steps.
struct DifferenceSide {
  std::vector<std::string> sources;  // one for each run: its first window
  std::optional<std::int64_t> rank;
  std::string device_name, torch_version;  // of the first run; empty if not recorded
  std::int64_t step_count = 0;             // of all runs
  DurationNs median_ns = 0;                // the median of the runs' medians
  DurationNs least_ns = 0, greatest_ns = 0;
  std::optional<Estimate> unprofiled_step;
};

// One rank, or one recording.
struct RankDifference {
  std::optional<std::int64_t> rank;  // missing where the sides name different ranks or none
  DifferenceSide before, after;
  // No GPU work was recorded: the mean step then has no parts but operators.
  bool is_host_only = false;
  Comparison step;                           // of durations in ns
  PartChange mean_step;                      // == gpu_busy + idle, unless is_host_only
  PartChange gpu_busy;                       // == sum of classes == sum of work
  PartChange idle;                           // == sum of causes
  PartChange exposed_communication;          // of gpu_busy
  PartChange gpu_work;                       // gpu_busy without exposed_communication, which is waiting more than work
  std::optional<double> between_runs_ratio;  // that was taken for the step; missing where runs show it
  std::vector<ClassDifference> classes;      // of those with time, largest difference first; so are all below
  std::vector<IdleDifference> causes;
  std::vector<WorkDifference> work;
  std::vector<OperatorDifference> operators;
  std::vector<FindingDifference> findings;  // what stayed last; faults first, costliest first
  MemoryDifference memory;
};

// What is known of every rank; medians.
struct RankChange {
  std::optional<std::int64_t> rank;
  DurationNs before_step_ns = 0, after_step_ns = 0;
  DurationNs before_own_ns = 0, after_own_ns = 0;  // without exposed communication
  std::optional<std::int64_t> before_allocated_peak_bytes, after_allocated_peak_bytes;
};

struct RunDifference {
  std::vector<RankChange> ranks;  // matched, by rank
  // Indices into ranks.
  std::size_t typical = 0;  // the median change of the step
  std::size_t largest = 0;  // the largest change of the step without exposed communication
  RankDifference typical_rank;
  RankDifference largest_rank;                        // what explains; the same as typical_rank where they are one
  std::vector<std::int64_t> only_before, only_after;  // ranks without a partner
  std::vector<UnreadableRank> unreadable;             // of both sides
  // Sentences about what makes the comparison doubtful: another GPU, another version, other work, ...
  std::vector<std::string> doubts;
  // Why no verdict can be given, whatever typical_rank.step says: a side's own headline is withheld. Parts are kept.
  std::optional<std::string> withheld;
  bool is_partial = false;         // something was lost or withheld, or a rank is missing or of another run
  bool is_same_recording = false;  // each rank was recorded once, and that recording stands on both sides
  [[nodiscard]] const RankDifference& explaining() const { return largest_rank; }
};

struct DifferenceOptions {
  CompareOptions compare;  // recordings seldom hold 6 steps, so few are judged too
  DifferenceOptions() { compare.few_values = true; }
};

// An Error when there is nothing to compare: a side without steps, or no rank on both.
[[nodiscard]] Result<RunDifference> compute_difference(const RunSummary& before, const RunSummary& after,
                                                       const DifferenceOptions& options = {});

// "matmul on the GPU +1.20 ms, aten::mm: 3.1 % longer a call": of the causes that are more than noise the largest that
// goes the way of the verdict, and of the medians that the verdict is of; says so when there is none.
[[nodiscard]] std::string explain_in_one_line(const RunDifference& difference);

// For a failed gate: the same behind "mostly: ", or "among others: " where it is less than half of the difference.
[[nodiscard]] std::string explain_slowdown(const RunDifference& difference);

}  // namespace stepscope
