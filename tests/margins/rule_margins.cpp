// Measures every threshold of the rules against every recording: the largest value where a rule must be silent, the
// smallest where it must fire, and what a threshold fitted without one recording would say about that recording.
//
//     rule_margins                 the tables of docs/decisions/thresholds.md
//     rule_margins NAME...         what is found in these files of tests/data ("h200/solid")
//
// A threshold is fitted as the geometric middle of the two values (half of the smaller one where all silent values are
// 0). Recordings in which a rule may say either are left out of its row: they are named in `either`.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <set>

#include "analyze/allocation_calls.h"
#include "analyze/collectives.h"
#include "analyze/host_copies.h"
#include "analyze/kernel_totals.h"
#include "analyze/launch_returns.h"
#include "analyze/matmul_shapes.h"
#include "analyze/this_run.h"
#include "recorded/recorded_trace.h"
#include "rules/costs.h"
#include "rules/pauses.h"
#include "rules/rules.h"
#include "rules/wording.h"
#include "stats/quantiles.h"

namespace stepscope {
namespace {

const std::vector<std::string> kRecordings = {"h200/solid",
                                              "h200/loader",
                                              "h200/sync",
                                              "h200/tiny",
                                              "h200/optimizer",
                                              "h200/memspike",
                                              "h200/graph",
                                              "h200/fp32",
                                              "h200/logsync",
                                              "h200/solid4_stack",
                                              "h200/ddp_rank0",
                                              "h200/ddp_rank1",
                                              "h200/straggler_rank0",
                                              "h200/straggler_rank1",
                                              "h200/resnet_healthy",
                                              "h200/resnet_pageable",
                                              "h200/mask_sync",
                                              "planted/thrash",
                                              "planted/checkpoint",
                                              "planted/checkpoint_stack",
                                              "planted/gc",
                                              "planted/gc_stack",
                                              "planted/offload",
                                              "planted/launch_blocking",
                                              "planted/cold_start",
                                              "planted/compile",
                                              "planted/compile_steady",
                                              "planted/decode",
                                              "planted/odd_sizes",
                                              "planted/fp32_shapes",
                                              "planted/loader_workers",
                                              "planted/python_batch",
                                              "planted/scaler",
                                              "planted/small_pageable",
                                              "planted/evaluate",
                                              "planted/recompute",
                                              "planted/loop_checkpoint",
                                              "planted/loop_thrash",
                                              "planted/loop_unpinned",
                                              "planted/loop_gc",
                                              "planted/score"};

struct Run {
  const Trace& trace;
  Facts facts;
  std::vector<Finding> findings;
  [[nodiscard]] RuleInput input() const { return {trace, facts, findings}; }
};

const Run& run_of(const std::string& name) {
  static std::map<std::string, Run> known;
  auto at = known.find(name);
  if (at == known.end()) {
    const Trace& trace = recorded_trace(name);
    at = known.emplace(name, Run{trace, compute_facts(trace, {}), {}}).first;
    at->second.findings = find_all(at->second.input());
  }
  return at->second;
}

struct Measure {
  std::string id;
  std::string what;
  double threshold;
  std::set<std::string> fires;
  std::set<std::string> either;
  std::function<double(const RuleInput&)> value;
};

double hidden_waits(const RuleInput& input) {
  std::vector<std::int64_t> by_step(input.facts.steps.steps.size(), 0);
  for (const Wait& wait : input.facts.waits) by_step[wait.hidden() ? *wait.step : 0] += wait.hidden() ? 1 : 0;
  return static_cast<double>(median_ns(by_step).value_or(0));
}

double allocation_calls(const RuleInput& input) {
  const AllocationCalls calls = compute_allocation_calls(input.trace, input.facts.steps);
  std::vector<std::int64_t> by_step;
  for (std::size_t step = 0; step < input.facts.steps.steps.size(); ++step) by_step.push_back(calls.in_step(step));
  return static_cast<double>(median_ns(by_step).value_or(0));
}

double outlier(const RuleInput& input) {
  std::vector<std::int64_t> lengths;
  for (const Step& step : input.facts.steps.steps) lengths.push_back(step.duration_ns());
  const auto worst = std::max_element(lengths.begin() + 1, lengths.end());
  const auto longest = static_cast<double>(*worst);
  lengths.erase(worst);
  return longest / static_cast<double>(*median_ns(lengths));
}

double optimizer_kernels(const RuleInput& input) {
  const OptimizerKernels kernels = compute_optimizer_kernels(input.trace, input.facts.timeline, input.facts.classes,
                                                             input.facts.steps, input.facts.main_busy()->device);
  if (!kernels.median_ns || *kernels.median_ns >= 20'000) return 0;
  return static_cast<double>(kernels.count) / step_count(input);
}

double host_share(const RuleInput& input) {
  const WhatIf* specific = input.facts.what_ifs.find(Transform::kSpecificRemoved);
  const WhatIf* floor = input.facts.what_ifs.find(Transform::kHostZero);
  if (specific == nullptr || floor == nullptr) return 0;  // refused: launches that block
  DurationNs rest = specific->step_unprofiled.low_ns - floor->step_unprofiled.low_ns;
  for (const char* id : {"garbage-collection", "host-pause", "hidden-sync", "blocking-copy", "unfused-optimizer"}) {
    const Finding* found = find_found(input, id);
    if (found != nullptr && found->saving) rest -= found->saving->mid_ns;
  }
  return std::max(0.0, static_cast<double>(rest) / static_cast<double>(specific->step_unprofiled.low_ns));
}

double lone_wait(const RuleInput& input) {
  const LoneWaits waits = compute_lone_waits(input.trace, input.facts.timeline, input.facts.classes, input.facts.steps,
                                             input.facts.main_busy()->device);
  return static_cast<double>(waits.median_exposed_wait_ns.value_or(0)) / static_cast<double>(recorded_step_ns(input));
}

double floor_ratio(const RuleInput& input) {
  const WhatIf* floor = input.facts.what_ifs.find(Transform::kHostZero);
  if (floor == nullptr) return 0;  // refused: launches that block
  return static_cast<double>(floor->step_unprofiled.mid_ns) / static_cast<double>(best_step_ns(input)) -
         share_of_window(input, input.facts.main_busy()->exposed_communication_ns);
}

double ratio_of(const RuleInput& input, Transform transform) { return cost_of(input, transform).ratio.value_or(0); }

std::vector<Measure> measures() {
  return {
      {"launch-blocking",
       "kernels over 20 us that ended before their call returned",
       0.95,
       {"planted/launch_blocking"},
       {},
       [](const RuleInput& i) {
         return compute_launch_returns(i.trace, i.facts.timeline, i.facts.steps.window).ratio();
       }},
      {"data-loader-stall",
       "saving / step (fault; a note from 0.05)",
       0.10,
       {"h200/loader", "planted/loader_workers"},
       {},
       [](const RuleInput& i) { return ratio_of(i, Transform::kLoaderReady); }},
      {"host-pause, garbage-collection",
       "saving / step",
       0.05,
       {"h200/straggler_rank1", "planted/gc", "planted/loop_gc", "planted/gc_stack", "planted/python_batch"},
       {},
       [](const RuleInput& i) { return gather_pauses(i, false).share + gather_pauses(i, true).share; }},
      {"hidden-sync", "hidden waits in the median step", 2, {"h200/sync", "h200/mask_sync"}, {}, hidden_waits},
      {"blocking-copy",
       "pageable host-to-device copies a step",
       1,
       {"h200/resnet_pageable", "planted/small_pageable", "planted/loop_unpinned"},
       {},
       [](const RuleInput& i) {
         return static_cast<double>(
                    compute_pageable_copies(i.trace, i.facts.timeline, i.facts.steps, i.facts.main_busy()->device)
                        .count) /
                step_count(i);
       }},
      {"allocator-thrash",
       "allocation and free calls in the median step",
       2,
       {"planted/thrash", "planted/loop_thrash"},
       {"planted/cold_start"},
       allocation_calls},
      {"allocator-thrash",
       "saving / step",
       0.01,
       {"planted/thrash", "planted/loop_thrash"},
       {},
       [](const RuleInput& i) { return ratio_of(i, Transform::kAllocatorFree); }},
      {"outlier-step",
       "longest step but the first / median of the others",
       1.5,
       {"planted/checkpoint", "planted/checkpoint_stack", "planted/compile"},
       {"planted/loader_workers", "planted/loop_checkpoint"},
       outlier},
      {"unfused-optimizer",
       "optimizer kernels a step with a median under 20 us",
       200,
       {"h200/optimizer", "planted/scaler"},
       {},
       optimizer_kernels},
      {"no-tensor-cores",
       "SIMT matmul time / GPU time",
       0.10,
       {"h200/fp32", "planted/fp32_shapes"},
       {},
       [](const RuleInput& i) {
         const DeviceBusy& busy = *i.facts.main_busy();
         return static_cast<double>(busy.simt_matmul_ns) / static_cast<double>(busy.gpu_sum_ns);
       }},
      {"odd-matmul-sizes",
       "time of matmul kernels with narrow loads / GPU time (and a low end of the saving of 0.05)",
       0.10,
       {"planted/odd_sizes"},
       {},
       [](const RuleInput& i) {
         const DeviceBusy& busy = *i.facts.main_busy();
         const MatmulShapes shapes =
             compute_matmul_shapes(i.trace, i.facts.timeline, i.facts.classes, i.facts.steps, busy.device);
         return static_cast<double>(shapes.narrow_ns) / static_cast<double>(busy.gpu_sum_ns);
       }},
      {"exposed-copy",
       "copies alone / window and saving / step, the smaller (fault; a note from 0.05)",
       0.20,
       {"planted/offload"},
       {},
       [](const RuleInput& i) {
         return std::min(share_of_window(i, i.facts.main_busy()->exposed_copy_ns),
                         ratio_of(i, Transform::kCopiesOverlapped));
       }},
      {"straggler (one rank)", "exposed wait / step", 0.10, {"h200/straggler_rank0"}, {}, lone_wait},
      {"exposed-communication",
       "communication alone / window, straggler's waits included",
       0.05,
       {"h200/straggler_rank0"},
       {},
       [](const RuleInput& i) { return share_of_window(i, i.facts.main_busy()->exposed_communication_ns); }},
      {"host-overhead",
       "(step without specific causes - GPU floor) / step, low end",
       0.15,
       {"h200/tiny", "h200/mask_sync", "planted/decode", "planted/score"},
       {"planted/launch_blocking"},
       host_share},
      {"profiler-distortion",
       "recorded step / high end of the step without the profiler",
       1.10,
       {"h200/tiny", "h200/optimizer", "h200/mask_sync", "planted/decode"},
       {"h200/logsync", "h200/sync", "planted/scaler", "planted/evaluate", "planted/recompute",
        "planted/compile_steady", "planted/thrash", "planted/loop_thrash", "planted/score", "planted/loader_workers"},
       [](const RuleInput& i) {
         const auto step = estimate_this_run(i.trace, i.facts);
         return static_cast<double>(recorded_step_ns(i)) /
                static_cast<double>(step ? step->high_ns : recorded_step_ns(i));
       }},
      {"graph-step",
       "events from graph launches / events",
       0.5,
       {"h200/graph"},
       {},
       [](const RuleInput& i) {
         return static_cast<double>(i.facts.launches.graph_event_count) /
                static_cast<double>(i.facts.ledger.gpu_event_count);
       }},
      {"compute-bound",
       "GPU floor / step - communication alone",
       0.80,
       {"h200/solid", "h200/memspike", "h200/graph", "h200/logsync", "h200/solid4_stack", "h200/ddp_rank0",
        "h200/ddp_rank1", "h200/resnet_healthy", "h200/fp32", "planted/compile_steady", "planted/recompute",
        "planted/loop_unpinned", "planted/odd_sizes", "planted/fp32_shapes"},
       // Silenced by a fault of their own, by their copies, or not a matter of the median step.
       {"h200/sync", "h200/optimizer", "h200/resnet_pageable", "planted/offload", "planted/small_pageable",
        "planted/scaler", "planted/thrash", "planted/loop_thrash", "planted/loop_checkpoint", "planted/checkpoint",
        "planted/checkpoint_stack", "planted/compile", "planted/cold_start", "planted/evaluate",
        "planted/launch_blocking"},
       floor_ratio}};
}

struct Values {
  std::map<std::string, double> fires, silent;
};

struct Margin {
  double largest_silent = 0, smallest_firing = 0;
  std::string silent_name, firing_name;
};

Margin margin_without(const Values& values, const std::string& left_out) {
  Margin out;
  out.smallest_firing = HUGE_VAL;
  for (const auto& [name, value] : values.silent) {
    if (name == left_out || value < out.largest_silent || (value == 0 && !out.silent_name.empty())) continue;
    out.largest_silent = value;
    out.silent_name = name;
  }
  for (const auto& [name, value] : values.fires) {
    if (name == left_out || value >= out.smallest_firing) continue;
    out.smallest_firing = value;
    out.firing_name = name;
  }
  return out;
}

// The middle of the margin; the threshold as shipped when nothing is left to fire.
double fitted(const Margin& margin, double shipped) {
  if (margin.firing_name.empty()) return shipped;
  if (margin.largest_silent <= 0) return margin.smallest_firing / 2;
  return std::sqrt(margin.largest_silent * margin.smallest_firing);
}

void print_margins() {
  std::string changed;
  std::printf("| rule | what decides | largest where silent | threshold | smallest where it must fire | fitted |\n");
  std::printf("|---|---|---|---|---|---|\n");
  for (const Measure& measure : measures()) {
    Values values;
    for (const std::string& name : kRecordings) {
      if (measure.either.contains(name)) continue;
      (measure.fires.contains(name) ? values.fires : values.silent)[name] = measure.value(run_of(name).input());
    }
    const Margin margin = margin_without(values, "");
    std::printf("| %s | %s | %.3g (%s) | %.3g | %.3g (%s) | %.3g |\n", measure.id.c_str(), measure.what.c_str(),
                margin.largest_silent, margin.largest_silent > 0 ? margin.silent_name.c_str() : "all",
                measure.threshold, margin.smallest_firing, margin.firing_name.c_str(),
                fitted(margin, measure.threshold));
    for (const auto* side : {&values.fires, &values.silent}) {
      for (const auto& [name, value] : *side) {
        const double threshold = fitted(margin_without(values, name), measure.threshold);
        const bool should_fire = side == &values.fires;
        if ((value >= threshold) == should_fire) continue;
        changed += "| " + measure.id + " | " + name + " | " + std::to_string(value) + " | " +
                   std::to_string(threshold) + " | " + (should_fire ? "missed" : "false alarm") + " |\n";
      }
    }
  }
  std::printf(
      "\n| rule | left out | its value | threshold fitted without it | verdict on it |\n|---|---|---|---|---|\n%s",
      changed.empty() ? "| none | | | | |\n" : changed.c_str());
}

void print_findings(const std::string& name) {
  const Run& run = run_of(name);
  std::printf("== %s\n   %s\n", name.c_str(), write_verdict(run.input(), run.findings).c_str());
  for (const WhatIf& what_if : run.facts.what_ifs.results) {
    if (!what_if.applies) continue;
    std::printf("   what-if %s: %s\n", std::string(transform_name(what_if.transform)).c_str(),
                format_duration(what_if.saving.mid_ns).c_str());
  }
  for (const Finding& finding : run.findings) {
    std::printf("   [%s] %s %s %s\n      %s\n", std::string(severity_name(finding.severity)).c_str(),
                finding.id.c_str(), finding.saving ? format_duration(finding.saving->mid_ns).c_str() : "-",
                finding.saving_ratio ? format_percent(*finding.saving_ratio).c_str() : "", finding.title.c_str());
    for (const Evidence& evidence : finding.evidence) std::printf("      . %s\n", evidence.text.c_str());
    for (const std::string& advice : finding.advice) std::printf("      > %s\n", advice.c_str());
    if (!finding.gain.empty()) std::printf("      = %s\n", finding.gain.c_str());
  }
}

}  // namespace
}  // namespace stepscope

int main(int argc, char** argv) {
  if (argc < 2) stepscope::print_margins();
  for (int at = 1; at < argc; ++at) stepscope::print_findings(argv[at]);
}
