// Host work lies on edges from one launching or waiting call to the next, so an edge is the stretch that is asked for.
#include "analyze/held_host.h"

#include <algorithm>
#include <map>

#include "analyze/replay/ask_again.h"
#include "analyze/replay/saving.h"
#include "analyze/replay/transforms.h"
#include "stats/quantiles.h"

namespace stepscope {
namespace {

// Half a millisecond is a hundred launches. Twenty times the usual way keeps loops whose launches are slow throughout
// (recorded stacks, small graphs) from being called held.
constexpr DurationNs kLeastHeldNs = 500'000;
constexpr DurationNs kTimesUsual = 20;

constexpr LabelMask kQuiet = mask_of(HostLabel::kOperator) | mask_of(HostLabel::kOptimizer) |
                             mask_of(HostLabel::kPython) | mask_of(HostLabel::kNoEvent);

DurationNs quiet_ns(const ReplayGraph& graph, const HostWork& work) {
  DurationNs sum = 0;
  for (std::uint32_t at = work.label_begin; at < work.label_end; ++at) {
    if (kQuiet & mask_of(graph.labels[at].label)) sum += graph.labels[at].length_ns;
  }
  return sum;
}

class HeldReplay {
 public:
  HeldReplay(const ReplayInput& input, const ReplayWindow& window, const ReplayGraph& graph)
      : input_(input),
        window_(window),
        graph_(graph),
        cost_(ProfilerCost::of(input.trace.info, measure_hook_pace(input, window.host))),
        unchanged_(weigh_edges(graph, cost_)),
        step_(step_of(unchanged_)) {}

  HeldHost run() {
    HeldHost out;
    out.least_ns = find_held();
    if (std::none_of(held_.begin(), held_.end(), [](bool held) { return held; })) return out;
    list_sites(out);
    const Pauses no_pauses;
    Edits edits = edits_of(Transform::kHostZero, {input_, window_, graph_, no_pauses});
    std::vector<Lanes> weights;
    apply_edits(graph_, cost_, unchanged_, edits, weights);
    weigh_held(kSpecificLabels, weights);
    out.as_graph = answer(weights);
    weights = unchanged_;
    weigh_held(kQuiet, weights);
    out.without = answer(weights);
    edits = {};
    edits.is_unwaited.assign(input_.waits.size(), 1);
    apply_edits(graph_, cost_, unchanged_, edits, weights);
    out.ahead = answer(weights);
    return out;
  }

 private:
  // Median of what lies between the end of one launch and the begin of the thread's next.
  [[nodiscard]] DurationNs usual_way_ns() const {
    const Calls& calls = input_.trace.calls;
    std::vector<CallId> launches;
    for (const GpuUnit& unit : graph_.units.raw()) {
      if (unit.call.has_value()) launches.push_back(unit.call);
    }
    const auto place = [&](CallId call) { return std::pair(calls.thread[call].value, calls.start_ns[call]); };
    std::sort(launches.begin(), launches.end(), [&](CallId a, CallId b) { return place(a) < place(b); });
    std::vector<std::int64_t> ways;
    for (std::size_t at = 1; at < launches.size(); ++at) {
      const CallId before = launches[at - 1], after = launches[at];
      if (calls.thread[before] != calls.thread[after]) continue;
      ways.push_back(std::max<DurationNs>(0, calls.start_ns[after] - calls.end_ns[before]));
    }
    return median_ns(ways).value_or(0);
  }

  DurationNs find_held() {
    const DurationNs least = std::max(kLeastHeldNs, kTimesUsual * usual_way_ns());
    for (const HostWork& work : graph_.work.raw()) held_.push_back(quiet_ns(graph_, work) >= least);
    return least;
  }

  void list_sites(HeldHost& out) const {
    const auto steps = static_cast<DurationNs>(std::max<std::size_t>(1, window_.steps.size()));
    std::map<std::pair<std::uint32_t, HostLabel>, HeldSite> sites;
    std::vector<HostSlice> slices;
    for (std::size_t at = 0; at < held_.size(); ++at) {
      if (!held_[at]) continue;
      const HostWork& work = graph_.work[WorkId(at)];
      slices.clear();
      input_.path.slices(work.thread, work.at.start_ns, work.at.end_ns, slices);
      for (const HostSlice& slice : slices) {
        if (!(kQuiet & mask_of(slice.label))) continue;
        const Interval part{slice.start_ns, slice.end_ns};
        HeldSite& site = sites[{slice.detail.value, slice.label}];
        site.name = slice.detail;
        site.label = slice.label;
        site.per_step_ns += part.length_ns();
        if (part.length_ns() > site.longest.length_ns()) site.longest = part;
      }
    }
    for (auto& [key, site] : sites) {
      site.per_step_ns /= steps;
      out.per_step_ns += site.per_step_ns;
      out.sites.push_back(site);
    }
    std::stable_sort(out.sites.begin(), out.sites.end(),
                     [](const HeldSite& a, const HeldSite& b) { return a.per_step_ns > b.per_step_ns; });
  }

  // Held stretches without the labels in `zero`, whatever the weights said of them.
  void weigh_held(LabelMask zero, std::vector<Lanes>& weights) const {
    for (std::size_t at = 0; at < weights.size(); ++at) {
      const ReplayEdge& edge = graph_.edges[at];
      if (edge.kind != EdgeKind::kWork || !held_[edge.item]) continue;
      weights[at] = weigh_work(graph_, graph_.work[WorkId(edge.item)], cost_, zero);
    }
  }

  [[nodiscard]] Lanes step_of(const std::vector<Lanes>& weights) const {
    std::vector<Lanes> times;
    evaluate(graph_, weights, times);
    return compute_median_step(graph_, times);
  }

  [[nodiscard]] WhatIf answer(const std::vector<Lanes>& weights) const {
    Lanes after = step_of(weights);
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) after[lane] = std::min(step_[lane], after[lane]);
    WhatIf out;
    out.applies = true;
    out.saving = saving_between(step_, after);
    scale_by(out.saving, window_.scale);
    out.step_unprofiled = estimate_of(after);
    scale_by(out.step_unprofiled, window_.scale);
    out.step_recorded_ns = scaled_by(after[kRecorded], window_.scale);
    return out;
  }

  const ReplayInput& input_;
  const ReplayWindow& window_;
  const ReplayGraph& graph_;
  ProfilerCost cost_;
  std::vector<Lanes> unchanged_;
  Lanes step_;
  std::vector<bool> held_;  // by WorkId
};

}  // namespace

std::optional<HeldHost> compute_held_host(const Trace& trace, const Facts& facts) {
  return ask_again(trace, facts, [](const ReplayInput& input, const ReplayWindow& window, const ReplayGraph& graph) {
    return HeldReplay(input, window, graph).run();
  });
}

}  // namespace stepscope
