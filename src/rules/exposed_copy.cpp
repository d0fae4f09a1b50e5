// exposed-copy: the GPU copies while no kernel runs.
//
// Symptom: copies on the compute stream, between kernels. Evidence: the union of copies minus the union of kernels,
// without the pageable ones that blocking-copy names. Threshold: a note at 5 % of the window, a fault at 20 %: a
// loop that copies its batch on the compute stream exposes 12 % and is healthy otherwise (resnet_healthy), planted
// offloading 38 %. Between them a copy stream is advice, not a repair.
// False alarm: copies within the device (Memcpy DtoD) are kernels' work in disguise; the name says which it is.
#include <algorithm>

#include "analyze/host_copies.h"
#include "rules/costs.h"
#include "rules/host_sites.h"
#include "rules/rule_list.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

constexpr double kNote = 0.05;
constexpr double kFault = 0.20;
constexpr std::size_t kShown = 2;
// A direction with less than a tenth of the copying is not worth a line of advice.
constexpr double kWorthAdvice = 0.10;

struct Directions {
  DurationNs to_device_ns = 0;
  DurationNs to_host_ns = 0;
  DurationNs other_ns = 0;
  void add(std::string_view name, DurationNs length_ns) {
    const bool to_device = name.find("HtoD") != std::string_view::npos;
    const bool to_host = name.find("DtoH") != std::string_view::npos;
    (to_device ? to_device_ns : to_host ? to_host_ns : other_ns) += length_ns;
  }
  [[nodiscard]] bool worth_advice(DurationNs part_ns) const {
    return static_cast<double>(part_ns) >
           kWorthAdvice * static_cast<double>(std::max<DurationNs>(1, to_device_ns + to_host_ns + other_ns));
  }
};

std::vector<std::string> advise(const Directions& copies) {
  std::vector<std::string> advice;
  if (copies.worth_advice(copies.to_device_ns)) {
    advice.emplace_back("with torch.cuda.stream(s): x = host.to(device, non_blocking=True)");
  }
  if (copies.worth_advice(copies.to_host_ns)) {
    advice.emplace_back("with torch.cuda.stream(s): host.copy_(x, non_blocking=True)");
  }
  if (!advice.empty())
    advice.emplace_back("Make host in pinned memory (pin_memory=True), and begin the copies while kernels run");
  if (copies.worth_advice(copies.other_ns)) {
    advice.emplace_back("Copies within the device: write results in place (out=...) instead of cloning them");
  }
  return advice;
}

}  // namespace

std::optional<Finding> find_exposed_copy(const RuleInput& input) {
  const DeviceBusy* busy = input.facts.main_busy();
  if (busy == nullptr || share_of_window(input, busy->exposed_copy_ns) < kNote) return std::nullopt;
  const PageableCopies pageable =
      compute_pageable_copies(input.trace, input.facts.timeline, input.facts.steps, busy->device);
  const bool named = find_found(input, "blocking-copy") != nullptr;
  const DurationNs exposed = std::max<DurationNs>(0, busy->exposed_copy_ns - (named ? pageable.exposed_ns : 0));
  // The median step must gain too: copies of one checkpoint are no habit.
  const Cost cost = cost_of(input, Transform::kCopiesOverlapped);
  const double share = share_of_window(input, exposed);
  const double decisive = std::min(share, cost.ratio.value_or(share));
  if (decisive < kNote) return std::nullopt;

  Finding finding;
  finding.id = "exposed-copy";
  finding.severity = decisive >= kFault ? Severity::kFault : Severity::kNote;
  finding.title = "The GPU copies for " + describe_per_step(input, exposed) + " (" + format_percent(share) +
                  ") while no kernel runs";
  Directions directions;
  for (const CopyTotal& total :
       compute_copy_totals(input.trace, input.facts.timeline, input.facts.steps, busy->device)) {
    if (named && is_pageable_to_device(input.trace.text(total.name))) continue;
    if (!total.largest) continue;
    directions.add(input.trace.text(total.name), total.gpu_sum_ns);
    if (finding.evidence.size() >= kShown) continue;
    const GpuEventId largest = *total.largest;
    const CallId call = input.trace.gpu_events.call[largest];
    const std::string where = call.has_value() ? describe_call_place(input.trace, call) : std::string();
    finding.evidence.push_back(
        {std::string(input.trace.text(total.name)) + ": " + format_bytes(total.bytes / step_count(input)) + " in " +
             describe_per_step(input, total.gpu_sum_ns) + (where.empty() ? "" : ", the largest by " + where) + ".",
         Interval{input.trace.gpu_events.start_ns[largest], input.facts.timeline.end_ns[largest]}});
  }
  finding.advice = advise(directions);
  set_cost(finding, input, cost, "With copies under kernels");
  return finding;
}

}  // namespace stepscope
