// Has a change made the step slower, or need more memory, than is allowed? Three answers, never two: what cannot be
// told (too few steps, data lost, no memory recorded, another GPU) is neither a pass nor a failure.
//
// Failed means both: noise alone is excluded (the whole 99 % interval of the ratio lies above 1), and the best guess is
// beyond the limit. "The interval lies above the limit" was rejected: at 3 % it would miss most changes of 4.5 %. "The
// guess is beyond the limit" alone was rejected too: a noisy loop would fail every few days. 99 % and not 95: a gate
// runs hundreds of times, and of loops with noise far beyond the limit 95 % would fail 2.5 % for nothing. Measured:
// docs/performance.md, "The gate".
//
// What is resampled is decided by stats/compare_samples.h: runs where there are several, else steps. How noisy whole
// runs are is seen only from several on one side at least; otherwise it can be given (between_runs_ratio), or is said
// not to be known.
//
// Memory has no such noise: a run's peak is a number. Several runs a side have to agree, though: every one of NEW above
// every one of BASE.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "fleet/rank_summary.h"
#include "stats/compare_samples.h"

namespace stepscope {

// Times of different kinds are not compared: the profiler slows the host, a command's time holds its start.
enum class GateTimeKind : std::uint8_t {
  kGpuSteps,     // of a recording, on the GPU's clock
  kHostSteps,    // of a recording without GPU events
  kListedSteps,  // step times that someone measured and listed
  kCommandRuns,  // whole commands, by `stepscope bench`: one value a run
  kNone,         // a memory snapshot: no times
};
[[nodiscard]] std::string_view gate_time_kind_name(GateTimeKind kind);  // "gpu_steps", ...

// SummaryStep has no place for the kind, RankSummary::step_source has: these words, in summaries made of lists.
inline constexpr std::string_view kListedStepSource = "listed";
inline constexpr std::string_view kCommandStepSource = "command_run";

// One execution of the program: all windows of it that were recorded. Of several ranks the slowest gives the steps (the
// one whose median is the largest: a step is as slow as its slowest rank, and the largest of each step would be the
// noise of all ranks), and the largest peak counts.
struct GateRun {
  std::string source;  // the file of the rank that gives the steps
  GateTimeKind kind = GateTimeKind::kGpuSteps;
  std::vector<double> steps_ns;  // in the order in which they were taken
  std::int64_t rank_count = 1;
  std::int64_t window_count = 1;                 // recordings that the steps are of, one after the other in one process
  std::optional<std::int64_t> rank, world_size;  // of the rank that gives the steps
  std::optional<std::int64_t> allocated_peak_bytes, reserved_peak_bytes;
  std::string device_name;  // empty if unknown
  std::string backend;      // "nccl"; empty if unknown
};

struct GateSide {
  std::vector<GateRun> runs;
  // Sentences. Losses forbid to pass: something that was recorded is missing. Warnings do not.
  std::vector<std::string> losses;
  std::vector<std::string> warnings;
  std::optional<std::string> steps_withheld;  // why the step times cannot be trusted at all
};

// The runs in a set of summaries: recordings of one process are one, whichever rank it has; those without a rank are
// one each; those of different ranks that began within a minute of each other are one together. A rank that is there
// twice belongs to two runs; ranks of other world sizes or backends never belong to one. Recordings that are equal but
// for the name of their file count once.
[[nodiscard]] GateSide gate_side(const RunSummary& run);

// Takes out runs whose steps are those of another to the last digit, and says so: a copy knows nothing of how much runs
// differ. Runs of one step are kept, as two commands may take equally long.
void drop_copied_runs(GateSide& side);

// A limit is a share of the base or a size of its own.
struct GateLimit {
  std::optional<double> ratio;           // 0.03: 3 %
  std::optional<std::int64_t> absolute;  // ns or bytes
};

struct GateOptions {
  GateLimit slower{0.03, std::nullopt};
  std::optional<GateLimit> memory;           // missing: memory is shown, and fails nothing
  double confidence_ratio = 0.98;            // see above
  std::optional<double> between_runs_ratio;  // see CompareOptions
  bool strict = false;                       // pass only what is shown to be within the limit
  bool allow_mixed = false;                  // compare other GPUs, kinds of times, numbers of ranks all the same
  std::uint64_t seed = 1;
};

enum class GateVerdict : std::uint8_t { kPassed, kFailed, kCannotTell, kNotAsked };
[[nodiscard]] std::string_view gate_verdict_name(
    GateVerdict verdict);  // "passed", "failed", "cannot_tell", "not_asked"

enum class GateQuantity : std::uint8_t { kStepTime, kAllocatedPeak, kReservedPeak };
[[nodiscard]] std::string_view gate_quantity_name(GateQuantity quantity);  // "step_time", "allocated_peak", ...

enum class GateDoubt : std::uint8_t {
  kNone,
  kTooFew,         // steps or runs: `reason` says how many are needed
  kMissing,        // a side has no such values
  kWithheld,       // the step times cannot be trusted
  kNotProven,      // strict: the interval reaches beyond the limit, or the mean or p90 rose beyond it
  kNotComparable,  // GateResult::not_comparable
  kLost,           // within the limit, but of data that are not whole
};
[[nodiscard]] std::string_view gate_doubt_name(GateDoubt doubt);  // "none", "too_few", ...

struct GateCheck {
  GateQuantity quantity = GateQuantity::kStepTime;
  GateVerdict verdict = GateVerdict::kNotAsked;
  GateDoubt doubt = GateDoubt::kNone;  // of kCannotTell
  std::string reason;                  // of kTooFew, kMissing, kWithheld: a sentence without its full stop
  std::optional<double> base, other;   // ns, or bytes: medians over runs
  bool is_geometric_mean = false;      // of the runs' medians, as the ratio is: several runs, but too few to resample
  // The mean or the 90th percentile rose beyond the limit while the median did not: a sentence; empty if none did.
  std::string tail;
  std::optional<double> ratio;        // other / base
  std::optional<GateLimit> limit;     // as asked; missing: nothing was
  std::optional<double> limit_ratio;  // the same as a share of base; missing when base is
  Comparison comparison;              // of the step time
};

struct GateResult {
  GateVerdict verdict = GateVerdict::kPassed;  // the worst of what was asked
  std::vector<GateCheck> checks;               // step time, allocated, reserved; the latter two where known or asked
  std::optional<std::string> not_comparable;   // why the sides are two different things
  std::vector<std::string> losses, warnings;   // of both sides, and of both together
  std::string
      explanation;  // of a failure, by whoever can tell: "mostly: ...", or "among others: ..."; empty if nobody can
  [[nodiscard]] bool only_too_few() const;  // kCannotTell, and every doubt is kTooFew
};

[[nodiscard]] GateResult judge_gate(const GateSide& base, const GateSide& other, const GateOptions& options);

// Summaries of times that no trace stands behind, so that they can be a base (*.sss): one a run. Their GPU time is not
// known: the whole step counts as "host, no event", and is_host_only says that no GPU event was seen.
// Of more steps than a summary has room for those kept are spread evenly over the run.
[[nodiscard]] std::vector<RankSummary> summarize_listed_runs(const std::vector<GateRun>& runs);

// The summary has the first steps alone: what is said of its steps may be wrong of the others.
[[nodiscard]] bool lacks_late_steps(const RankSummary& summary);
// Those that it keeps and those that it does not.
[[nodiscard]] std::int64_t recorded_step_count(const RankSummary& summary);

}  // namespace stepscope
