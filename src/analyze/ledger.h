// How complete the recording is: what was launched, what arrived, what cannot be trusted.
//
// Every report shows this. When the data cannot carry a headline (GPU records lost, two ranks in one row, two
// writers in one file), `headline_withheld` says so in a sentence and the report leads with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyze/steps.h"

namespace stepscope {

struct Ledger {
  std::int64_t launch_count = 0;     // calls that should have GPU events, inside the recording
  std::int64_t gpu_event_count = 0;  // unique sound or unsound, duplicates excluded
  std::int64_t linked_gpu_event_count = 0;
  std::int64_t unlinked_gpu_event_count = 0;          // no launch call; the leading run is counted apart
  std::int64_t leading_unlinked_gpu_event_count = 0;  // queued before recording began: expected, not a loss
  std::int64_t launch_without_gpu_event_count = 0;
  std::int64_t bad_duration_count = 0;
  std::int64_t swallowing_duration_count = 0;
  std::int64_t duplicate_gpu_event_count = 0;
  std::int64_t negative_latency_count = 0;
  std::int64_t outside_window_gpu_event_count = 0;
  std::int64_t steps_without_gpu_events_count = 0;
  std::int64_t merged_process_count = 0;      // processes whose correlations clash; 0 if sound
  std::optional<double> largest_event_ratio;  // longest recorded duration / sum of recorded durations
  // A program's CPU side was recorded where the file knows of no GPU: no device, no call, no GPU event, and no part of
  // the file was lost. Then step times are the host's own and no GPU work is missing.
  bool is_host_only = false;
  // Why no headline (step time, busy, idle) may be shown; missing when it may.
  std::optional<std::string> headline_withheld;
};

[[nodiscard]] Ledger compute_ledger(const Trace& trace, const GpuTimeline& timeline, const Launches& launches,
                                    const Steps& steps);

}  // namespace stepscope
