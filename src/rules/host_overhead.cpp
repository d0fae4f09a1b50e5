// host-overhead: the GPU is faster than the host can launch its work.
//
// Symptom: short kernels, gaps of a launch's length between them. Evidence: the step without loader, checkpoint and
// allocator against the GPU floor (the host's work set to 0), both without the profiler; what specific findings save
// is taken off first, so this is what remains. Where that is a fault, stretches in which the host launches nothing for
// long are put back (held_host.h): no graph and no fused kernel takes them away, and host-pause names them. The low end
// of the estimate decides, since the profiler's own cost is the main doubt: a fault when the rest is 15 % of that step
// (9 % at most on a healthy recording, 32 % on the least planted one). Without a re-simulation nothing can be said
// about the unprofiled step, so it takes 30 % idle time blamed on launching, and it is a note: a healthy loop under a
// profiler shows 16 %. False alarm: a step that ends with a synchronization always pays one launch's head and tail
// (under 1 ms).
#include <algorithm>
#include <array>

#include "analyze/framework.h"
#include "analyze/held_host.h"
#include "rules/costs.h"
#include "rules/rule_list.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

constexpr double kFault = 0.15;
constexpr double kNoteWithoutEstimate = 0.30;

constexpr std::array<HostLabel, 6> kLaunching = {HostLabel::kOptimizer, HostLabel::kOperator, HostLabel::kPython,
                                                 HostLabel::kLaunch,    HostLabel::kOtherApi, HostLabel::kNoEvent};
constexpr std::array<std::string_view, 5> kSpecific = {"garbage-collection", "host-pause", "hidden-sync",
                                                       "blocking-copy", "unfused-optimizer"};

bool is_pause(std::string_view id) { return id == "host-pause" || id == "garbage-collection"; }

struct Remaining {
  Cost cost;
  double low_share = 0;  // what decides
  DurationNs floor_ns = 0;
  DurationNs held_ns = 0;  // a step, of work that launches nothing and stays
};

Remaining compute_rest(const RuleInput& input, const WhatIf& specific, const WhatIf& floor, bool takes_pauses) {
  Estimate rest = difference(specific.step_unprofiled, floor.step_unprofiled);
  for (const std::string_view id : kSpecific) {
    const Finding* found = find_found(input, id);
    if (found == nullptr || !found->saving || (!takes_pauses && is_pause(id))) continue;
    rest.low_ns = std::max<DurationNs>(0, rest.low_ns - found->saving->mid_ns);
    rest.mid_ns = std::max<DurationNs>(0, rest.mid_ns - found->saving->mid_ns);
    rest.high_ns = std::max<DurationNs>(0, rest.high_ns - found->saving->mid_ns);
  }
  Remaining out;
  out.cost = cost_of(input, rest, floor);
  out.low_share =
      static_cast<double>(rest.low_ns) / static_cast<double>(std::max<DurationNs>(1, specific.step_unprofiled.low_ns));
  out.floor_ns = floor.step_unprofiled.mid_ns;
  return out;
}

std::optional<Remaining> compute_remaining(const RuleInput& input) {
  const WhatIf* specific = input.facts.what_ifs.find(Transform::kSpecificRemoved);
  const WhatIf* floor = input.facts.what_ifs.find(Transform::kHostZero);
  if (specific == nullptr || floor == nullptr) return std::nullopt;
  Remaining all = compute_rest(input, *specific, *floor, true);
  if (all.low_share < kFault) return all;
  // What a graph leaves on the host: its pauses are among it, so they are not taken off a second time.
  const auto held = compute_held_host(input.trace, input.facts);
  if (!held || held->sites.empty()) return all;
  Remaining launching = compute_rest(input, *specific, held->as_graph, false);
  if (launching.low_share >= all.low_share) return all;
  launching.floor_ns = all.floor_ns;
  launching.held_ns = held->per_step_ns;
  return launching;
}

DurationNs idle_of_launching(const RuleInput& input) {
  DurationNs sum = 0;
  for (const HostLabel label : kLaunching) sum += idle_blamed_on(input, label);
  return sum;
}

void add_kernels(const RuleInput& input, Finding& finding) {
  const DeviceBusy& busy = *input.facts.main_busy();
  std::int64_t events = 0;
  for (const std::int64_t count : busy.count_by_kind) events += count;
  std::string text = format_count(static_cast<double>(events) / step_count(input)) + " GPU events a step";
  const Launches& launches = input.facts.main_launches();
  if (launches.median_kernel_ns) text += ", half of them shorter than " + format_duration(*launches.median_kernel_ns);
  text += "; a launch reaches an idle GPU after " + format_duration(launches.latency_ns(false)) + ".";
  finding.evidence.push_back({text, std::nullopt});
  if (input.facts.steps.host_span_median_ns) {
    finding.evidence.push_back({"The host needs " + format_duration(*input.facts.steps.host_span_median_ns) +
                                    " for a step under the profiler; the GPU works " +
                                    format_duration(per_step(input, busy.gpu_busy_ns)) + " of it.",
                                std::nullopt});
  }
}

void add_costliest(const RuleInput& input, Finding& finding) {
  const DeviceIdle* idle = input.facts.main_idle();
  if (idle == nullptr) return;
  const std::string between =
      find_framework(input.trace) == Framework::kCpp ? "what is between operators" : "Python between operators";
  std::string text;
  int shown = 0;
  for (const DetailCost& detail : idle->details) {
    if (std::find(kLaunching.begin(), kLaunching.end(), detail.label) == kLaunching.end() || detail.detail.empty())
      continue;
    if (detail.label == HostLabel::kLaunch || detail.label == HostLabel::kOtherApi) continue;
    const std::string_view name = input.trace.text(detail.detail);
    text += (text.empty() ? "" : ", ") + (name.starts_with("ProfilerStep#") ? between : shortened(name, 50)) + " " +
            format_duration(per_step(input, detail.length_ns));
    if (++shown == 4) break;
  }
  if (!text.empty()) finding.evidence.push_back({"Most idle time a step falls to: " + text + ".", std::nullopt});
}

}  // namespace

std::optional<Finding> find_host_overhead(const RuleInput& input) {
  if (input.facts.main_busy() == nullptr || !has_steps(input)) return std::nullopt;
  const auto remaining = compute_remaining(input);
  if (!remaining && input.facts.launches.launch_count == 0) return std::nullopt;  // launches were not recorded
  const double share = remaining ? remaining->low_share : share_of_window(input, idle_of_launching(input));
  if (share < (remaining ? kFault : kNoteWithoutEstimate)) return std::nullopt;

  Finding finding;
  finding.id = "host-overhead";
  finding.severity = remaining ? Severity::kFault : Severity::kNote;
  finding.title =
      remaining ? std::string(runs_as_graph(input) ? "The GPU waits for the host between its graphs"
                                                   : "The host cannot launch the work as fast as the GPU does it") +
                      ": a step's GPU work would take " + format_duration(remaining->floor_ns)
                : "The GPU is idle for " + format_percent(share) + " of the time because the host launches late";
  add_kernels(input, finding);
  add_costliest(input, finding);
  if (remaining && remaining->held_ns > 0) {
    finding.evidence.push_back({"Of a step, " + format_duration(remaining->held_ns) +
                                    " are work of the host that launches nothing; a graph leaves it as it is.",
                                std::nullopt});
  }
  finding.advice = {"torch.compile(model, mode='reduce-overhead')  (fuses kernels, replays CUDA graphs)",
                    "A larger batch: the same launches for more work",
                    "Fused operators: scaled_dot_product_attention, fused optimizer, F.layer_norm"};
  set_cost(finding, input, remaining ? remaining->cost : Cost{},
           runs_as_graph(input) ? "Without the host's work" : "As one CUDA graph");
  return finding;
}

}  // namespace stepscope
