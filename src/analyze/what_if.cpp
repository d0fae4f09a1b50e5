// The pipeline of the re-simulation: choose steps, build the graph, check it, then one evaluation for each what-if.
//
// What-ifs are independent of each other, so they run on all cores. The stages stand in replay/.
#include "analyze/what_if.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "analyze/replay/build_graph.h"
#include "analyze/replay/saving.h"
#include "analyze/replay/self_check.h"
#include "analyze/replay/transforms.h"
#include "base/parallel.h"

namespace stepscope {
namespace {

// The graph with the weights and the median step of the unchanged run.
class Replayer {
 public:
  Replayer(const ReplayGraph& graph, const ProfilerCost& cost)
      : graph_(graph), cost_(cost), unchanged_(weigh_edges(graph, cost_)) {
    std::vector<Lanes> times;
    evaluate(graph_, unchanged_, times);
    step_ = compute_median_step(graph_, times);
  }

  struct Outcome {
    bool changed = false;
    Lanes step{};
  };
  // Memory for one evaluation at a time, megabytes of it: allocating it anew for each what-if cost a quarter of the
  // time.
  struct Buffers {
    std::vector<Lanes> weights, times;
  };
  [[nodiscard]] Outcome replay(const Edits& edits, Buffers& buffers) const {
    Outcome outcome;
    outcome.step = step_;
    outcome.changed = !edits.empty() && apply_edits(graph_, cost_, unchanged_, edits, buffers.weights);
    if (!outcome.changed) return outcome;
    evaluate(graph_, buffers.weights, buffers.times);
    const Lanes after = compute_median_step(graph_, buffers.times);
    // Less work never makes the run longer, but may shift time from one step to the next; a median can follow that.
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) outcome.step[lane] = std::min(step_[lane], after[lane]);
    return outcome;
  }
  [[nodiscard]] const Lanes& step() const { return step_; }

 private:
  const ReplayGraph& graph_;
  ProfilerCost cost_;
  std::vector<Lanes> unchanged_;
  Lanes step_{};
};

// Two doubts, and each answer's range holds both: the whole host is faster or slower, or only its launching is.
struct Replayers {
  Replayer whole_host, fast_launches;
  [[nodiscard]] Estimate saving(const Edits& edits, const Replayer::Outcome& outcome,
                                Replayer::Buffers& buffers) const {
    Estimate saving = saving_between(whole_host.step(), outcome.step);
    if (!outcome.changed) return saving;
    const DurationNs other =
        fast_launches.step()[kMid] - fast_launches.replay(edits, buffers).step[kMid];  // never below 0
    saving.low_ns = std::min(saving.low_ns, other);
    saving.high_ns = std::max(saving.high_ns, other);
    return saving;
  }
};

WhatIf answer(Transform transform, const TransformInput& from, const Replayers& replayers, Replayer::Buffers& buffers) {
  const Edits edits = edits_of(transform, from);
  const Replayer::Outcome outcome = replayers.whole_host.replay(edits, buffers);
  WhatIf result;
  result.transform = transform;
  result.applies = outcome.changed;
  result.step_unprofiled = estimate_of(outcome.step);
  result.saving = replayers.saving(edits, outcome, buffers);
  result.step_recorded_ns = outcome.step[kRecorded];
  return result;
}

std::vector<WhatIf> answer_all(const TransformInput& from, const Replayers& replayers) {
  std::vector<WhatIf> results(kTransformCount);
  std::atomic<std::size_t> next = 0;
  parallel_for(std::min<std::size_t>(available_threads(), kTransformCount), 0, [&](std::size_t) {
    Replayer::Buffers buffers;
    for (std::size_t t = next++; t < kTransformCount; t = next++) {
      results[t] = answer(static_cast<Transform>(t), from, replayers, buffers);
    }
  });
  return results;
}

// What the replay itself misses, beside the pace of the host: where the GPU decides, the middle was off by up to 3%.
// The two doubts are independent of each other. No process is slower for not being recorded, so the range ends there.
void widen_by_model_error(Estimate& step, DurationNs recorded_ns) {
  constexpr double kModelError = 0.03;
  const double error = kModelError * static_cast<double>(step.mid_ns);
  const auto off = [&](DurationNs by) { return static_cast<DurationNs>(std::hypot(static_cast<double>(by), error)); };
  step.low_ns = std::max<DurationNs>(0, step.mid_ns - off(step.mid_ns - step.low_ns));
  step.high_ns = std::min(step.mid_ns + off(step.high_ns - step.mid_ns), std::max(step.mid_ns, recorded_ns));
}

// The replayed steps' own answers as those of the median step of all: nothing is compared with another set's recorded
// time.
void scale_answers(WhatIfs& answers) {
  const double scale = answers.self_check.scale;
  if (scale == 1) return;
  const auto scale_one = [&](auto& answer) {
    scale_by(answer.step_unprofiled, scale);
    scale_by(answer.saving, scale);
    answer.step_recorded_ns = scaled_by(answer.step_recorded_ns, scale);
  };
  for (WhatIf& each : answers.results) scale_one(each);
  if (answers.operators_removed) scale_one(*answers.operators_removed);
}

OperatorsRemoved remove_operators(const ReplayInput& input, const ReplayWindow& window, const ReplayGraph& graph,
                                  const Replayers& replayers) {
  const MatchedOperators matched = match_operators(input, window, input.options.operators_to_remove);
  Edits edits;
  remove_regions(input, graph, matched.regions, edits);
  Replayer::Buffers buffers;
  const Replayer::Outcome outcome = replayers.whole_host.replay(edits, buffers);
  const Estimate saving = replayers.saving(edits, outcome, buffers);
  OperatorsRemoved removed{matched.count, estimate_of(outcome.step), saving, outcome.step[kRecorded]};
  widen_by_model_error(removed.step_unprofiled, removed.step_recorded_ns);
  return removed;
}

}  // namespace

std::string_view transform_name(Transform transform) {
  switch (transform) {
    case Transform::kUnchanged:
      return "unchanged";
    case Transform::kLoaderReady:
      return "loader_ready";
    case Transform::kHiddenSyncsNotWaited:
      return "hidden_syncs_not_waited";
    case Transform::kHiddenSyncsRemoved:
      return "hidden_syncs_removed";
    case Transform::kHiddenSyncFunctionsRemoved:
      return "hidden_sync_functions_removed";
    case Transform::kBlockingCopiesAsync:
      return "blocking_copies_async";
    case Transform::kAllocatorFree:
      return "allocator_free";
    case Transform::kCheckpointRemoved:
      return "checkpoint_removed";
    case Transform::kHostZero:
      return "host_zero";
    case Transform::kHostZeroAlone:
      return "host_zero_alone";
    case Transform::kSpecificRemoved:
      return "specific_removed";
    case Transform::kOptimizerFused:
      return "optimizer_fused";
    case Transform::kTensorCores:
      return "tensor_cores";
    case Transform::kCommunicationOverlapped:
      return "communication_overlapped";
    case Transform::kCopiesOverlapped:
      return "copies_overlapped";
    case Transform::kPausesRemoved:
      return "pauses_removed";
    case Transform::kMatmulsAligned:
      return "matmuls_aligned";
  }
  return "";
}

const WhatIf* WhatIfs::find(Transform transform) const {
  const auto at = std::find_if(results.begin(), results.end(), [&](const auto& r) { return r.transform == transform; });
  return at == results.end() ? nullptr : &*at;
}

std::optional<Estimate> WhatIfs::unprofiled_step() const {
  const WhatIf* unchanged = find(Transform::kUnchanged);
  return unchanged ? std::optional(unchanged->step_unprofiled) : std::nullopt;
}

WhatIfs compute_what_ifs(const Trace& trace, const GpuTimeline& timeline, const Launches& launches, const Steps& steps,
                         const KernelClasses& classes, const HostPath& path, const std::vector<Wait>& waits,
                         const WhatIfOptions& options) {
  const ReplayInput input{trace, timeline, launches, steps, classes, path, waits, options};
  WhatIfs answers;
  const ReplayWindow window = choose_replay_window(input);
  if (window.refused) {
    answers.self_check.refused = window.refused;
    return answers;
  }
  Pauses pauses = find_pauses(input, window);
  const BuiltGraph built = build_replay_graph(input, window);
  if (built.refused) {
    answers.self_check.refused = built.refused;
  } else {
    answers.self_check = check_replay(input, window, built.graph);
  }
  if (!answers.self_check.refused) {
    const ProfilerCost cost = ProfilerCost::of(trace.info, measure_hook_pace(input, window.host));
    const Replayers replayers{Replayer(built.graph, cost), Replayer(built.graph, cost.with_fast_launches())};
    const TransformInput from{input, window, built.graph, pauses};
    answers.results = answer_all(from, replayers);
    for (WhatIf& each : answers.results) widen_by_model_error(each.step_unprofiled, each.step_recorded_ns);
    const Estimate before = answers.unprofiled_step().value_or(Estimate{});
    for (WhatIf& each : answers.results) cap_saving(each.saving, before, each.step_unprofiled);
    if (!options.operators_to_remove.empty()) {
      answers.operators_removed = remove_operators(input, window, built.graph, replayers);
      OperatorsRemoved& removed = *answers.operators_removed;
      cap_saving(removed.saving, before, removed.step_unprofiled);
    }
    scale_answers(answers);
  }
  answers.pauses = std::move(pauses.sites);
  return answers;
}

}  // namespace stepscope
