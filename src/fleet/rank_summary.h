// What is kept of one rank's recording so that many ranks can be looked at together, two runs compared, and a change
// gated: at most 256 KiB in its file (docs/formats/summary.md), where the trace had hundreds of megabytes.
//
// Everything of this room is a function of summaries: traces are read where they lie, one at a time, and nobody ever
// holds two. Keeping traces was rejected (1,024 ranks of 200 MB fit no machine), and so was keeping finished findings
// only: what a rank waited for is known only once all have been read. Numbers are integers, so that the order in which
// summaries are put together changes no bit.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/host_label.h"
#include "analyze/idle.h"
#include "analyze/kernel_class.h"
#include "analyze/steps.h"
#include "analyze/what_if.h"
#include "base/result.h"
#include "base/time.h"

namespace stepscope {

// One step of one rank. Times are since 1970 on its host's clock (base_ns added) when RankSummary::has_clock, else the
// file's own. gpu_busy_ns + sum(idle_ns) == duration_ns, exactly; but where is_host_only, all of GPU and idle is 0,
// and exposed_communication_ns is what the training thread waits for collectives and does nothing else.
// A recording without steps (step_source "none") has one, number 0: its whole window.
struct SummaryStep {
  std::int64_t number = 0;
  TimeNs start_ns = 0;
  DurationNs duration_ns = 0;               // between boundaries on the GPU's clock
  DurationNs host_span_ns = 0;              // what a clock around the step would have said
  DurationNs gpu_busy_ns = 0;               // union over kernels, copies and sets of the main device
  DurationNs exposed_communication_ns = 0;  // of gpu_busy_ns
  IdleByCause idle_ns{};                    // blame view
  std::optional<std::int64_t> allocated_peak_bytes, reserved_peak_bytes;
};

// A process group. Files without groups have one, with an empty name.
struct SummaryGroup {
  std::string name;
  std::string description;  // "default_pg", "mesh_tp", ...; empty if the file does not say
  std::optional<std::int64_t> size{};
  std::vector<std::int64_t> ranks;  // ascending; empty if unknown
};

// One collective on this rank, in order of (step, group, sequence). Where not all could be kept, those of the first
// steps are: a step's are here all or none, but when the first step alone has too many.
struct SummaryCollective {
  std::uint32_t group = 0;  // index into groups
  std::uint32_t name = 0;   // index into collective_names: "allreduce", ...
  std::uint32_t step = 0;   // index into steps
  // k-th of its group in its step, from 0: the same on every rank of the group, or the program would hang. Sends and
  // receives, of which ranks have different numbers, are counted after all others of their group and step.
  std::uint32_t sequence = 0;
  TimeNs start_ns = 0;  // this rank arrived
  TimeNs end_ns = 0;
  std::optional<std::int64_t> bytes;      // that the rank put in or got out, the larger; missing if not recorded
  std::optional<std::int64_t> bus_bytes;  // that cross the wire (nccl-tests' convention); missing likewise
  DurationNs exposed_ns = 0;  // of its length: nothing computes on this rank meanwhile; pauses between kernels left out
};

// GPU work that one operator does with one kernel at one place. `busy_by_step_ns` shares gpu_busy_ns among the rows:
// where several events run at once, each nanosecond goes to one of them, so that the rows add up to the steps exactly.
// count and gpu_sum_ns are over all steps, also those that did not fit (steps_not_kept_count).
struct SummaryWork {
  std::string operator_name;  // "aten::mm"; empty if unknown
  std::string shapes;         // of its inputs, torch's text; empty if not recorded
  std::string kernel;         // "" in the row that holds what did not fit (one for each class)
  std::string place;          // spans around it, outermost first: "forward", "backward"; empty if none
  KernelClass kernel_class = KernelClass::kOther;
  TensorCores tensor_cores = TensorCores::kUnknown;
  std::int64_t count = 0;                   // events that began in a step, over all steps
  DurationNs gpu_sum_ns = 0;                // sum of their lengths, over all steps
  std::vector<DurationNs> busy_by_step_ns;  // one for each of steps
};

// Host time of one operator: self_cpu time, over all steps. Also one row with an empty name for what did not fit.
struct SummaryOperator {
  std::string name;
  std::int64_t count = 0;
  DurationNs self_cpu_ns = 0;
};

// A finding of this rank alone.
struct SummaryFinding {
  std::string id;
  std::string severity;  // severity_name()
  std::optional<Estimate> saving;
  std::optional<double> saving_ratio;
  std::string title;
  // Version 2 of the file, as all that say so; a file of version 1 has none of it.
  std::vector<std::string> evidence{};  // sentences
  std::vector<std::string> advice{};
  bool saving_as_recorded = false;  // Finding::saving_as_recorded
};

// The rank's replay graph, reduced to where ranks meet; an edge says "not before from + weight". A point without edges
// into it (but kOrigin and kEnd) does not occur. fleet/reduced_replay.h makes it, fleet/fleet_replay.h replays it.
struct SummaryReplayPoint {
  enum class Kind : std::uint8_t {
    kOrigin,     // the first point, once: when the replayed steps began
    kPass,       // nobody meets here; ways from step to step are cut at a few places so that edges stay few
    kReady,      // what a collective sends has been computed; likewise
    kArrival,    // a collective's start on this rank
    kEnd,        // its end: no edge leads here, the meeting decides
    kStepStart,  // boundaries on the GPU's clock
    kStepEnd,
  };
  Kind kind = Kind::kOrigin;
  // kReady, kArrival, kEnd: index into collectives; steps: index into steps; kPass: the step that follows.
  std::uint32_t of = 0;
  TimeNs recorded_ns = 0;  // on the same clock as steps and collectives
};
struct SummaryReplayEdge {
  std::uint32_t from = 0;  // index into points, below `to`
  std::uint32_t to = 0;
  DurationNs recorded_ns = 0;    // may be negative: a collective may end after what waited for it began, by clock noise
  DurationNs unprofiled_ns = 0;  // without the profiler's cost
  DurationNs uncontended_ns = 0;  // without it, and compute that ran beside a collective at its own speed
};
struct SummaryReplay {
  std::vector<SummaryReplayPoint> points;  // in topological order
  std::vector<SummaryReplayEdge> edges;    // by `to`, then `from`
  std::uint32_t step_count = 0;            // the first so many of steps are in it; long runs are cut short
  // The profiler's cost (recorded - unprofiled) may be off by this share of itself, either way.
  double cost_uncertainty_ratio = 0;
  std::optional<std::string> refused;  // why there is none
};

// What the profiler was asked to record beside times. Each costs the host time that the program alone does not take.
struct SummaryOptions {
  bool memory = false, stacks = false, flops = false, modules = false;
  bool operator==(const SummaryOptions&) const = default;
};

// When this rank waited for Stepscope itself (a memory snapshot was written) and its GPUs did not work. Others that
// then wait in a collective for it wait for Stepscope, too. On the clock of steps.
struct SummaryStop {
  TimeNs start_ns = 0;
  DurationNs length_ns = 0;
};

struct RankSummary {
  // Who: distributedInfo, else what the file's name says (rank_is_from_name), else missing.
  std::optional<std::int64_t> rank, world_size;
  bool rank_is_from_name = false;
  std::string source;     // the file
  std::string host_name;  // empty if absent
  std::string backend;    // "nccl", ...
  std::string device_name;
  std::int64_t device_number = 0;
  std::optional<std::int64_t> device_memory_bytes;
  std::optional<double> peak_flops_per_s;
  std::string torch_version;  // empty if absent
  bool has_clock = false;     // the times are on the host's clock
  bool has_shapes = false;
  std::optional<SummaryOptions> options;  // version 2
  // Which process it was (version 2): recordings of one have its number, and CUPTI numbers their calls on and on.
  std::optional<std::int64_t> process_id;
  std::optional<std::int64_t> first_correlation, last_correlation;
  std::optional<TimeNs> process_start_ns;  // of our own captures, since 1970 (version 5)

  // How complete.
  std::uint64_t text_bytes = 0, event_count = 0;
  std::int64_t launch_count = 0, gpu_event_count = 0, linked_gpu_event_count = 0;
  std::int64_t lost_count = 0;  // events that notes of severity kLost and kUnsound count
  std::optional<std::string> headline_withheld;
  bool is_host_only = false;
  std::string step_source;                   // step_source_name()
  std::string step_detail;                   // Steps::source_detail, "span `train`": version 2
  std::vector<std::int64_t> steps_left_out;  // numbers of steps that were cut off, or that Stepscope itself stopped
  std::vector<MissingSteps> missing_steps;   // numbers that the recording skips, Steps::missing (version 4)
  // Of more steps than fit (docs/formats/summary.md says how many) some are in no list; how many that are.
  std::int64_t steps_not_kept_count = 0;
  // Those that are kept stand for all (fleet/kept_steps.h); else they are the first ones (before version 6).
  bool are_steps_spread = false;
  std::int64_t collectives_not_kept_count = 0;

  std::vector<SummaryStep> steps;
  std::vector<SummaryStop> own_stops;  // in order; of very many the longest (version 3)
  std::optional<Estimate> unprofiled_step;
  std::optional<double> flops_per_step;  // by the operators, counted once
  std::optional<double> mfu_ratio;
  std::vector<SummaryGroup> groups;
  std::vector<std::string> collective_names;
  std::vector<SummaryCollective> collectives;
  std::vector<SummaryWork> work;           // costliest first
  std::vector<SummaryOperator> operators;  // likewise
  std::vector<SummaryFinding> findings;    // in reading order
  std::string verdict;
  SummaryReplay replay;
};

// Words of ErrorCode, in its order, as files and JSON say them.
inline constexpr std::array<std::string_view, 8> kErrorCodeWords = {
    "not_found", "permission", "io", "empty", "unknown_format", "damaged", "invalid_argument", "unsupported"};

// A file of the run that gave nothing.
struct UnreadableRank {
  std::string source;
  std::string reason;
  ErrorCode code = ErrorCode::kDamaged;  // version 2
  auto operator<=>(const UnreadableRank&) const = default;
};

// A run, or a part of it: a set. Each distinct rank summary stands in it once, sorted by its bytes in the file within
// its rank; merging is the union, hence associative, commutative and idempotent, byte for byte.
struct RunSummary {
  std::vector<RankSummary> ranks;
  std::vector<UnreadableRank> unreadable;
};

}  // namespace stepscope
