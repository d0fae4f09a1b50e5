// The program as a table of contents. Each pass reads the trace and the facts above it, and writes one field.
//
//   timeline, classes    need the trace alone
//   launches             when each event truly ended
//   steps                latencies (for the first boundary); the window of all accounts comes from here
//   ledger, memory       the window
//   busy                 classes and window; path: the host's side of the window
//   device_launches      launches again, of the main device alone
//   flops                the window; efficiency follows from it
//   idle, waits          busy and path meet; without a GPU host_collectives, of the path alone
//   what_ifs             everything but idle
//
// Passes that do not need one another run side by side: on two cores the report of a large trace takes little more
// than its longest chain.
#include "analyze/facts.h"

#include <functional>

#include "analyze/launch_returns.h"
#include "analyze/recorded_windows.h"
#include "base/parallel.h"

namespace stepscope {
namespace {

using Pass = std::function<void()>;

void run_side_by_side(std::initializer_list<Pass> passes) {
  parallel_for(passes.size(), 0, [&](std::size_t i) { passes.begin()[i](); });
}

// The device that was asked for, else the one with most GPU time.
std::size_t choose_main_device(const Trace& trace, const std::vector<DeviceBusy>& busy,
                               std::optional<std::int64_t> asked) {
  std::size_t chosen = 0;
  for (std::size_t i = 0; i < busy.size(); ++i) {
    if (asked && trace.devices.number[busy[i].device] == *asked) return i;
    if (busy[i].gpu_busy_ns > busy[chosen].gpu_busy_ns) chosen = i;
  }
  return chosen;
}

}  // namespace

Facts compute_facts(const Trace& trace, const FactOptions& options) {
  Facts facts;
  run_side_by_side({
      [&] { facts.timeline = compute_gpu_timeline(trace); },
      [&] { facts.classes = compute_kernel_classes(trace); },
  });
  facts.launches = compute_launches(trace, facts.timeline);
  facts.steps = compute_steps(trace, facts.timeline, facts.launches, options.steps);
  if (options.whole_file_window) {
    facts.steps.window = first_to_last_event(trace);
    facts.steps.unrecorded = find_between_windows(trace, facts.timeline, facts.steps.window);
  }
  run_side_by_side({
      [&] { facts.path = HostPath::build(trace, facts.steps); },
      [&] {
        facts.busy = compute_busy(trace, facts.timeline, facts.classes, facts.steps, options.device_number);
        facts.main_device = choose_main_device(trace, facts.busy, options.device_number);
        if (facts.busy.size() > 1) {
          facts.device_launches = compute_launches(trace, facts.timeline, facts.main_busy()->device);
        }
        facts.ledger = compute_ledger(trace, facts.timeline, facts.launches, facts.steps);
        facts.memory = compute_memory_levels(trace, facts.steps);
        facts.flops = compute_flops(trace, facts.steps);
        facts.efficiency = compute_efficiency(trace, facts.steps, facts.flops, options.peak_flops_per_s);
      },
  });
  run_side_by_side({
      [&] {
        facts.idle =
            compute_idle(trace, facts.timeline, facts.launches, facts.steps, facts.busy, facts.path, facts.main_device);
      },
      [&] {
        facts.waits = compute_waits(trace, facts.timeline, facts.steps, facts.path);
        if (facts.ledger.is_host_only) {
          facts.host_collectives = find_host_collectives(trace, facts.steps, facts.path);
        }
        if (facts.busy.empty()) return;
        WhatIfOptions what_if;
        what_if.device = facts.busy[facts.main_device].device;
        what_if.operators_to_remove = options.operators_to_remove;
        if (compute_launch_returns(trace, facts.timeline, facts.steps.window).launches_block()) {
          facts.what_ifs.self_check.refused =
              "every launch waited for its kernel (CUDA_LAUNCH_BLOCKING=1), so the step without that is not known";
          return;
        }
        facts.what_ifs = compute_what_ifs(trace, facts.timeline, facts.launches, facts.steps, facts.classes, facts.path,
                                          facts.waits, what_if);
      },
  });
  return facts;
}

}  // namespace stepscope
