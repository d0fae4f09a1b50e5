// hidden-sync: a line in mid-step makes the host wait for the GPU.
//
// Symptom: the queue runs dry, so the GPU idles while the host catches up. Evidence: synchronization calls that
// blocked with at least 5 % of the step's launches still to come (Wait::hidden), so that one `.item()` at the end of a
// step is legal. Waits of the loader, a checkpoint, a free or a pageable copy belong to other findings.
// Threshold: 2 in the median step, or 1 that costs 5 %: a scaler or a clipping check waits once a step and costs next
// to nothing, planted ones wait 12 to 16 times. A fault from 1 % of the step on, else a note: 2 cheap waits are a
// habit worth knowing, not a fault. Prices: the wait alone; the whole operator gone (its host work and kernels with
// it); and, where a function of the program does little else than that, the whole function: the high end of the saving.
//
// Where the host decides the step, two runs differ by themselves, so the finding says between what a measurement of the
// change may lie. mask_sync went from 22.5 to 16.0 ms where these prices are 0.1, 1.3 and 2.0 ms: no replay can give
// more, since all that could overlap or vanish is 2.8 ms of host time and 2.4 ms of GPU time a step, profiler's cost
// included. docs/decisions/hidden-sync-saving.md has the account.
// False alarm: code that must decide on a GPU value in mid-step (early exit, dynamic shapes): the wait is real but
// wanted.
#include <algorithm>
#include <cmath>

#include "rules/costs.h"
#include "rules/host_sites.h"
#include "rules/rule_list.h"
#include "rules/wording.h"
#include "stats/quantiles.h"

namespace stepscope {
namespace {

constexpr std::int64_t kWaitsAStep = 2;
constexpr double kOneWait = 0.05;
constexpr double kFault = 0.01;
constexpr std::size_t kSitesShown = 3;
// Host time of one and the same loop moved by 20 to 40 % between runs on the machines of the recordings.
constexpr double kHostMovement = 0.4;
// Where host work is less of the step than host-overhead asks for, its movement hides behind the GPU.
constexpr double kHostDecides = 0.15;

struct HiddenWaits {
  std::vector<CallId> calls;
  DurationNs call_sum_ns = 0;
  double median_a_step = 0;
};

HiddenWaits gather(const RuleInput& input) {
  HiddenWaits out;
  std::vector<std::int64_t> by_step(input.facts.steps.steps.size(), 0);
  for (const Wait& wait : input.facts.waits) {
    if (!wait.hidden() || !wait.step) continue;
    out.calls.push_back(wait.call);
    out.call_sum_ns += input.trace.calls.end_ns[wait.call] - input.trace.calls.start_ns[wait.call];
    if (*wait.step < by_step.size()) ++by_step[*wait.step];
  }
  out.median_a_step = static_cast<double>(median_ns(by_step).value_or(0));
  return out;
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

void add_advice(std::string_view operators, std::vector<std::string>& advice) {
  std::string line;
  if (has(operators, "nonzero") || has(operators, "aten::index") || has(operators, "masked_select")) {
    line =
        "torch.where(mask, x, 0) or x * mask instead of x[mask], nonzero and masked_select, whose size must come back";
  } else if (has(operators, "item") || has(operators, "_local_scalar_dense") || has(operators, "is_nonzero")) {
    line = "x.detach() instead of x.item(), no `if tensor:` or print in the step; read the value once at its end";
  } else if (has(operators, "_to_copy") || has(operators, "copy_") || has(operators, "aten::to")) {
    line = "x.to('cpu', non_blocking=True) into pinned memory, and read it a step later";
  } else if (has(operators, "unique") || has(operators, "repeat_interleave")) {
    line = "Give the result's size where the operator takes it (repeat_interleave(..., output_size=n))";
  } else {
    line = "Remove torch.cuda.synchronize() and event.synchronize() from the step; a timer needs one after many steps";
  }
  if (std::find(advice.begin(), advice.end(), line) == advice.end()) advice.push_back(std::move(line));
}

void add_sites(const RuleInput& input, const std::vector<Site>& sites, Finding& finding) {
  bool any_line = false;
  for (std::size_t at = 0; at < std::min(sites.size(), kSitesShown); ++at) {
    const Site& site = sites[at];
    any_line = any_line || site.has_line;
    finding.evidence.push_back({site.where + ": " + times_a_step(static_cast<double>(site.count) / step_count(input)) +
                                    ", " + format_duration(per_step(input, site.call_sum_ns)) + " in the call.",
                                site.example});
    add_advice(site.operators, finding.advice);
  }
  if (!any_line) finding.advice.emplace_back("profile(..., with_stack=True) names the line");
}

void add_prices(const RuleInput& input, const Cost& wait, const Cost& whole, const Cost& function, Finding& finding) {
  if (!wait.saving || !whole.saving) return;
  finding.evidence.push_back({"Wait: not waiting saves " + format_duration(wait.saving->mid_ns) +
                                  " a step. Whole operator: without its kernels and host work too, " +
                                  format_duration(whole.saving->mid_ns) + ".",
                              std::nullopt});
  if (function.saving && function.saving->mid_ns > whole.saving->mid_ns) {
    finding.evidence.push_back(
        {"The function that does little else gone as a whole, Python and other operators of it too: " +
             format_duration(function.saving->mid_ns) + ".",
         std::nullopt});
  }
  const DeviceIdle* idle = input.facts.main_idle();
  if (idle != nullptr && idle->drained_by_wait_ns > 0) {
    finding.evidence.push_back({"Blocking calls drained the queue before " +
                                    format_duration(per_step(input, idle->drained_by_wait_ns)) +
                                    " of idle time a step.",
                                std::nullopt});
  }
}

// What remains once the waits are gone, and how far its host part moves from run to run: a sentence, or nothing where
// the GPU decides the step.
void add_movement(const RuleInput& input, Finding& finding) {
  const WhatIfs& what_ifs = input.facts.what_ifs;
  const WhatIf* after = what_ifs.find(Transform::kHiddenSyncFunctionsRemoved);
  const WhatIf* floor = what_ifs.find(Transform::kHostZero);
  const auto step = what_ifs.unprofiled_step();
  if (after == nullptr || floor == nullptr || !step || !finding.saving) return;
  const auto host_ns = [&](const Estimate& estimate) {
    return static_cast<double>(estimate.high_ns - floor->step_unprofiled.high_ns);
  };
  if (static_cast<double>(step->mid_ns - floor->step_unprofiled.mid_ns) <
      kHostDecides * static_cast<double>(step->mid_ns)) {
    return;
  }
  const double moved = kHostMovement * std::max(0.0, host_ns(after->step_unprofiled));
  const auto most = finding.saving->high_ns + static_cast<DurationNs>(moved);
  finding.evidence.push_back(
      {"The host decides this step, and its speed moves by up to 40 % from run to run: one run "
       "before and one after may differ by anything from nothing to " +
           format_duration(most) + ". Time both in turns, several times.",
       std::nullopt});
}

Cost price(const Cost& wait, const Cost& whole, const Cost& function) {
  if (!wait.saving || !whole.saving || !wait.ratio || !whole.ratio) return wait.saving ? wait : whole;
  Estimate all = whole.saving->mid_ns >= wait.saving->mid_ns ? *whole.saving : *wait.saving;
  all.low_ns = std::min(wait.saving->low_ns, whole.saving->low_ns);
  all.high_ns = std::max(wait.saving->high_ns, whole.saving->high_ns);
  if (function.saving) all.high_ns = std::max(all.high_ns, function.saving->high_ns);
  // The step that remains is the one of the sentence: not waiting, or without the whole operator.
  return {all, std::max(*wait.ratio, *whole.ratio),
          whole.saving->mid_ns >= wait.saving->mid_ns ? whole.left : wait.left};
}

}  // namespace

std::optional<Finding> find_hidden_sync(const RuleInput& input) {
  const HiddenWaits waits = gather(input);
  if (waits.median_a_step < 1) return std::nullopt;
  const Cost wait = cost_of(input, Transform::kHiddenSyncsNotWaited);
  const Cost whole = cost_of(input, Transform::kHiddenSyncsRemoved);
  const Cost function = cost_of(input, Transform::kHiddenSyncFunctionsRemoved);
  const Cost cost = price(wait, whole, function);
  const DeviceIdle* idle = input.facts.main_idle();
  const DurationNs drained = idle == nullptr ? 0 : idle->drained_by_wait_ns;
  const double share = cost.ratio.value_or(share_of_window(input, drained));
  if (waits.median_a_step < kWaitsAStep && share < kOneWait) return std::nullopt;

  Finding finding;
  finding.id = "hidden-sync";
  finding.severity = share >= kFault ? Severity::kFault : Severity::kNote;
  const std::vector<Site> sites = group_by_site(input.trace, waits.calls);
  finding.title = (sites.empty() ? std::string("A blocking call") : sites.front().where) +
                  " makes the host wait for the GPU in mid-step; " +
                  count_of(std::llround(waits.median_a_step), "such wait", "such waits") + " a step";
  add_sites(input, sites, finding);
  add_prices(input, wait, whole, function, finding);
  // The price that counts is named: "these waits" alone would promise what only the operator's removal brings.
  const bool by_whole = wait.saving && cost.saving && cost.saving->mid_ns > wait.saving->mid_ns;
  set_cost(finding, input, cost,
           by_whole ? "Not waiting saves " + format_duration(wait.saving->mid_ns) + "; without the whole operator"
                    : "Without these waits");
  add_movement(input, finding);
  return finding;
}

}  // namespace stepscope
