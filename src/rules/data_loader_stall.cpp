// data-loader-stall: the GPU waits for the next batch.
//
// Symptom: idle time in every step, blamed on the loader's `__next__` or on a span named data, get_batch and the like.
// Evidence: the step re-simulated with the data ready in time. Threshold: a note from 5 % on, a fault from 10 % on. A
// loop that collates a small batch in its main process costs 3 to 4 % (the healthy recordings); planted stalls cost
// 50 %; between them a loop is worth a remark. Without a re-simulation the idle time so blamed decides.
// False alarms: a span named `data` that also does other work; the first batch after an epoch's start.
//
// Without a GPU in the file: the share of the step that the training thread spends in the loader, by the same
// thresholds.
#include <algorithm>
#include <unordered_map>

#include "analyze/named_stretches.h"
#include "rules/host_only.h"
#include "rules/rule_list.h"
#include "rules/wording.h"
#include "stats/quantiles.h"

namespace stepscope {
namespace {

constexpr double kNote = 0.05;
constexpr double kFault = 0.10;

StringId costliest_detail(const RuleInput& input, HostLabel label) {
  const DeviceIdle* idle = input.facts.main_idle();
  if (idle == nullptr) return {};
  for (const DetailCost& detail : idle->details) {
    if (detail.label == label && !detail.detail.empty()) return detail.detail;
  }
  return {};
}

// "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__" -> what follows '#'.
std::string loader_name(std::string_view name) {
  const auto hash = name.find('#');
  if (name.starts_with("enumerate(DataLoader)") && hash != std::string_view::npos) name.remove_prefix(hash + 1);
  return shortened(name, 100);
}

std::vector<std::string> advice_for(std::string_view name) {
  std::vector<std::string> advice;
  if (name.find("MultiProcessing") != std::string_view::npos) {
    advice.emplace_back(
        "DataLoader(..., num_workers=N, prefetch_factor=4): more workers than now, they cannot keep up");
    advice.emplace_back("A cheaper sample: decode smaller images, augment on the GPU, cache what is decoded");
  } else if (name.find("DataLoader") != std::string_view::npos ||
             name.find("dataloader.py") != std::string_view::npos) {
    advice.emplace_back("DataLoader(..., num_workers=4, pin_memory=True): now the training process makes the batches");
    advice.emplace_back("prefetch_factor=4, persistent_workers=True; .to(device, non_blocking=True)");
    advice.emplace_back("A cheaper sample: decode smaller images, cache what is decoded");
  } else {
    advice.emplace_back("Make the next batch in another process: torch.utils.data.DataLoader(..., num_workers=4)");
    advice.emplace_back("Or in a thread that keeps a queue of two batches, where the work releases Python's lock");
  }
  return advice;
}

struct LoaderTime {
  std::vector<DurationNs> by_step_ns;
  StringId costliest;
};
LoaderTime loader_time(const RuleInput& input) {
  LoaderTime time;
  std::unordered_map<StringId, DurationNs> by_name;
  for (const std::vector<HostSlice>& step : host_only_slices(input)) {
    time.by_step_ns.push_back(0);
    for (const HostSlice& slice : step) {
      if (slice.label != HostLabel::kDataLoader) continue;
      const DurationNs length = slice.end_ns - slice.start_ns;
      time.by_step_ns.back() += length;
      const DurationNs sum = by_name[slice.detail] += length;
      if (time.costliest.empty() || sum > by_name[time.costliest]) time.costliest = slice.detail;
    }
  }
  return time;
}

// The title where the calls are known, and the evidence of the longest.
void describe_calls(const RuleInput& input, StringId name_id, const std::string& name, Finding& finding) {
  const NamedStretches calls = compute_named_stretches(input.trace, input.facts.steps, name_id);
  if (calls.count == 0) return;
  finding.title = name + " takes " + format_duration(calls.median_ns.value_or(0)) + " on the training thread, " +
                  times_a_step(static_cast<double>(calls.count) / step_count(input));
  finding.evidence.push_back({"The longest of its " + count_of(calls.count, "call", "calls") + " took " +
                                  format_duration(calls.longest.length_ns()) + ".",
                              calls.longest});
}

// What the replay saves, at most what the loader costs in the typical step: where one step waits long for its data and
// the others hardly, the medians with and without it are of different steps, and their difference is of neither.
Cost cost_of_loader(const RuleInput& input) {
  constexpr double kBeyond = 1.2;  // what is replayed without the profiler may differ from what was recorded
  const Cost cost = cost_of(input, Transform::kLoaderReady);
  const DeviceIdle* idle = input.facts.main_idle();
  if (!cost.saving || idle == nullptr || idle->blame_by_step_ns.size() != input.facts.steps.steps.size()) return cost;
  std::vector<DurationNs> by_step_ns;
  by_step_ns.reserve(idle->blame_by_step_ns.size());
  for (const IdleByCause& step : idle->blame_by_step_ns) {
    by_step_ns.push_back(step[static_cast<std::size_t>(HostLabel::kDataLoader)]);
  }
  const DurationNs typical_ns = median_ns(by_step_ns).value_or(0);
  if (static_cast<double>(cost.saving->mid_ns) <= kBeyond * static_cast<double>(typical_ns)) return cost;
  return cost_of(input, Estimate{std::min(cost.saving->low_ns, typical_ns), typical_ns,
                                 std::min(cost.saving->high_ns, typical_ns)});
}

std::optional<Finding> find_on_host(const RuleInput& input) {
  const LoaderTime time = loader_time(input);
  const Cost cost = host_only_cost(input, time.by_step_ns);
  if (*cost.ratio < kNote) return std::nullopt;
  Finding finding;
  finding.id = "data-loader-stall";
  finding.severity = *cost.ratio >= kFault ? Severity::kFault : Severity::kNote;
  const std::string_view full_name = input.trace.text(time.costliest);
  const std::string name = time.costliest.empty() ? "The data loader" : loader_name(full_name);
  const std::string each = format_duration(cost.saving->mid_ns);
  finding.title = name + " keeps the training thread for " + each + " a step";
  describe_calls(input, time.costliest, name, finding);
  finding.evidence.push_back({"The training thread spends " + each + " of the median step (" +
                                  format_percent(*cost.ratio) +
                                  ") on data; no GPU was recorded, so this is the host's own time.",
                              std::nullopt});
  finding.advice = advice_for(full_name);
  set_cost(finding, input, cost, "With the data made elsewhere, on a free core,");
  finding.saving_as_recorded = true;
  return finding;
}

}  // namespace

std::optional<Finding> find_data_loader_stall(const RuleInput& input) {
  if (input.facts.ledger.is_host_only) return find_on_host(input);
  const DurationNs blamed = idle_blamed_on(input, HostLabel::kDataLoader);
  const Cost cost = cost_of_loader(input);
  const double share = cost.ratio.value_or(share_of_window(input, blamed));
  if (share < kNote || blamed <= 0) return std::nullopt;

  Finding finding;
  finding.id = "data-loader-stall";
  finding.severity = share >= kFault ? Severity::kFault : Severity::kNote;
  const StringId name_id = costliest_detail(input, HostLabel::kDataLoader);
  const std::string_view full_name = input.trace.text(name_id);
  const std::string name = name_id.empty() ? "The data loader" : loader_name(full_name);
  finding.title = name + " keeps the GPU waiting " + describe_per_step(input, blamed);
  describe_calls(input, name_id, name, finding);
  finding.evidence.push_back({"The GPU is idle for " + describe_per_step(input, blamed) + " (" +
                                  format_percent(share_of_window(input, blamed)) + ") because of it.",
                              std::nullopt});
  finding.advice = advice_for(full_name);
  set_cost(finding, input, cost, "With the data ready in time");
  return finding;
}

}  // namespace stepscope
