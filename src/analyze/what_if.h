// The re-simulation: the run as one graph, a time is a longest path, a what-if changes edge weights (findings.md 2).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyze/idle.h"
#include "analyze/waits.h"

namespace stepscope {

// A guess as a range: the middle, and what a host that is a quarter faster or slower makes of it.
struct Estimate {
  DurationNs low_ns = 0;
  DurationNs mid_ns = 0;
  DurationNs high_ns = 0;
};

enum class Transform : std::uint8_t {
  kUnchanged,
  kLoaderReady,                 // data-loader time 0
  kHiddenSyncsNotWaited,        // hidden synchronizations do not wait
  kHiddenSyncsRemoved,          // nor do their operators' host work and kernels happen ("whole operator")
  kHiddenSyncFunctionsRemoved,  // nor what else the user's function does that is mostly such operators
  kBlockingCopiesAsync,         // pageable copies at pinned bandwidth, not waited for
  kAllocatorFree,               // allocation and free calls cost nothing
  kCheckpointRemoved,
  kHostZero,         // all host work 0 (CUDA graph): with loader, checkpoint, allocator gone too: the GPU floor
  kHostZeroAlone,    // host work 0, but loader, checkpoint and allocator stay
  kSpecificRemoved,  // loader, checkpoint and allocator gone, host work stays: what host-overhead is measured from
  kOptimizerFused,
  kTensorCores,              // SIMT matmuls at tensor-core speed
  kCommunicationOverlapped,  // exposed communication hidden
  kCopiesOverlapped,         // exposed copies hidden
  kPausesRemoved,            // stretches >= 5 ms of one Python frame or of no event
  kMatmulsAligned,           // matmuls with narrow loads at the speed of sizes that are multiples of 8
};
inline constexpr std::size_t kTransformCount = 17;
[[nodiscard]] std::string_view transform_name(Transform transform);  // "loader_ready", ...

struct WhatIf {
  Transform transform = Transform::kUnchanged;
  bool applies = false;             // it changed at least one edge
  Estimate step_unprofiled;         // median step after the change, without the profiler
  Estimate saving;                  // against kUnchanged, without the profiler; low <= mid <= high
  DurationNs step_recorded_ns = 0;  // median step after the change, as recorded
};

struct SelfCheck {
  double replay_error_ratio = 0;  // |replay with medians - recorded| / recorded, median step
  DurationNs unexplained_ns = 0;  // GPU delay a step that no edge explains
  std::size_t step_count = 0;     // steps replayed (long traces: so many in a row, replay/window.h)
  std::size_t first_step = 0;     // index of the first of them
  // Where their median is not that of all steps, every answer is scaled by this much, to stand beside the recorded one.
  double scale = 1;
  std::optional<std::string> refused;  // why what-ifs are refused; missing when they hold
};

struct PauseSite {   // for kPausesRemoved: where the long silent stretches are
  std::string what;  // frame or span name, or "host, no event"
  bool is_garbage_collection = false;
  DurationNs per_step_ns = 0;
  std::int64_t count = 0;
  Interval example;
};

// What if the operators that the user names took no time: neither their host work, their kernels nor their waits.
struct OperatorsRemoved {
  std::int64_t operator_count = 0;  // operators of the replayed steps that match
  Estimate step_unprofiled;
  Estimate saving;
  DurationNs step_recorded_ns = 0;
};

struct WhatIfs {
  SelfCheck self_check;
  std::vector<WhatIf> results;                        // by Transform, all of them when not refused; empty when refused
  std::vector<PauseSite> pauses;                      // costliest first
  std::optional<OperatorsRemoved> operators_removed;  // when WhatIfOptions names patterns
  [[nodiscard]] const WhatIf* find(Transform transform) const;
  // The median step without the profiler; missing when refused.
  [[nodiscard]] std::optional<Estimate> unprofiled_step() const;
};

struct WhatIfOptions {
  DeviceId device;                               // the device to replay
  std::size_t max_steps = 24;                    // replay at most so many steps
  bool from_first_step = false;                  // of all ranks the same ones, whatever each of them calls typical
  std::vector<std::string> operators_to_remove;  // patterns of operator names, '*' stands for anything: "aten::copy_"
};

[[nodiscard]] WhatIfs compute_what_ifs(const Trace& trace, const GpuTimeline& timeline, const Launches& launches,
                                       const Steps& steps, const KernelClasses& classes, const HostPath& path,
                                       const std::vector<Wait>& waits, const WhatIfOptions& options);

}  // namespace stepscope
