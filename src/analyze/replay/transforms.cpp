// Each transform is a few edits. Those that concern speed of kernels and copies stand in speed_transforms.cpp.
#include "analyze/replay/transforms.h"

#include <algorithm>

#include "analyze/replay/speed_transforms.h"

namespace stepscope {
namespace {

// Of 1,300 launches of an unfused optimizer 56 stay with foreach and 9 with fused: a tenth of its host work at most.
constexpr double kFusedHostShare = 0.1;
// Fused AdamW against foreach on an H200: 1.10 ms against 2.96 ms of GPU time.
constexpr double kFusedGpuShare = 0.36;

template <class Test>
void unwait_if(const TransformInput& from, Edits& edits, const Test& test) {
  const std::vector<Wait>& waits = from.input.waits;
  for (std::size_t w = 0; w < waits.size(); ++w) {
    if (test(waits[w])) edits.unwait(waits.size(), w);
  }
}

HostRegions regions_labelled(const TransformInput& from, HostLabel label) {
  HostRegions regions;
  const std::vector<LabelledWork>& labels = from.graph.labels;
  if (std::none_of(labels.begin(), labels.end(), [&](const auto& part) { return part.label == label; })) return regions;
  std::vector<HostSlice> slices;
  for (const ThreadId thread : from.input.path.working_threads()) {
    slices.clear();
    from.input.path.slices(thread, from.window.host.start_ns, from.window.host.end_ns, slices);
    for (const HostSlice& slice : slices) {
      if (slice.label == label) regions.add(thread, {slice.start_ns, slice.end_ns});
    }
  }
  regions.finish();
  return regions;
}

void free_allocator(const TransformInput& from, Edits& edits) {
  edits.zero_labels |= mask_of(HostLabel::kAllocator);
  unwait_if(from, edits, [](const Wait& wait) { return wait.kind == WaitKind::kFree; });
}

// Its host work, its waits and its copies to the host; kernels launched in it are somebody else's.
void remove_checkpoint(const TransformInput& from, Edits& edits) {
  edits.zero_labels |= mask_of(HostLabel::kCheckpoint);
  const HostRegions regions = regions_labelled(from, HostLabel::kCheckpoint);
  if (regions.empty()) return;
  cut_waits(from.input, regions, edits);
  for (std::uint32_t u = 0; u < from.graph.units.size(); ++u) {
    const GpuUnit& unit = from.graph.units[UnitId(u)];
    if (unit.copy == CopyPath::kDeviceToHost && launched_in(from.input, unit, regions)) {
      remove_unit(from.graph, UnitId(u), edits);
    }
  }
}

void remove_specific(const TransformInput& from, Edits& edits) {
  edits.zero_labels |= kSpecificLabels;
  free_allocator(from, edits);
  remove_checkpoint(from, edits);
}

// The operator that a line of the program calls: the outermost of the library's operators around the wait. Others
// around it (modules, compiled regions, autograd functions) hold other work too.
Interval operator_around(const Trace& trace, CallId call) {
  Interval around{trace.calls.start_ns[call], trace.calls.end_ns[call]};
  bool first = true;
  for (OpId op = trace.calls.op[call]; op.has_value(); op = trace.ops.parent[op]) {
    const bool library = trace.text(trace.ops.name[op]).starts_with("aten::");
    if (!library && !first) break;
    around = {trace.ops.start_ns[op], trace.ops.end_ns[op]};
    first = false;
    if (!library) break;
  }
  return around;
}

template <class Visit>
void for_hidden_waits(const TransformInput& from, const Visit& visit) {
  const Calls& calls = from.input.trace.calls;
  for (const Wait& wait : from.input.waits) {
    const TimeNs start_ns = calls.start_ns[wait.call];
    const bool within = start_ns >= from.window.host.start_ns && start_ns < from.window.host.end_ns;
    if (wait.hidden() && within) visit(wait.call, calls.thread[wait.call]);
  }
}

HostRegions hidden_sync_operators(const TransformInput& from) {
  HostRegions regions;
  for_hidden_waits(from,
                   [&](CallId call, ThreadId thread) { regions.add(thread, operator_around(from.input.trace, call)); });
  regions.finish();
  return regions;
}

// A function of the program's that does little else than wait (a hook that selects by a mask, a check for NaN) goes as
// a whole when somebody mends it: its other operators feed those that wait, and its Python is the line itself. Half of
// its time is where that stops being likely: below, it is somebody's training step with a wait in it.
HostRegions hidden_sync_functions(const TransformInput& from, const HostRegions& operators) {
  constexpr double kMostly = 0.5;
  const Trace& trace = from.input.trace;
  HostRegions regions;
  for_hidden_waits(from, [&](CallId call, ThreadId thread) {
    Interval gone = operator_around(trace, call);
    const FrameId frame = find_user_frame(trace, thread, trace.calls.start_ns[call]);
    if (frame.has_value()) {
      const Interval function{trace.frames.start_ns[frame], trace.frames.end_ns[frame]};
      const auto inside = static_cast<double>(operators.overlap_ns(thread, function));
      if (inside >= kMostly * static_cast<double>(function.length_ns())) gone = function;
    }
    regions.add(thread, gone);
  });
  regions.finish();
  return regions;
}

void fuse_optimizer(const TransformInput& from, Edits& edits) {
  const Trace& trace = from.input.trace;
  HostRegions regions;
  for (const ThreadId thread : from.input.path.working_threads()) {
    for (const SpanId span : trace.spans_of_thread[thread].ids()) {
      if (trace.spans.start_ns[span] >= from.window.host.end_ns) break;
      if (!trace.text(trace.spans.name[span]).starts_with("Optimizer.step#")) continue;
      regions.add(thread, {trace.spans.start_ns[span], trace.spans.end_ns[span]});
    }
  }
  regions.finish();
  if (regions.empty()) return;
  cut_host(from.graph, regions, kFusedHostShare, edits);
  for (std::uint32_t u = 0; u < from.graph.units.size(); ++u) {
    const GpuUnit& unit = from.graph.units[UnitId(u)];
    if (!launched_in(from.input, unit, regions)) continue;
    edits.tighten(from.graph, UnitId(u));
    for (const UnitEndId end : from.graph.ends_of(unit).ids()) {
      // foreach moves the same bytes as before; fused, the lower end of the range, moves fewer. Which of the two a
      // program can use is not known, nor is a fused share on other devices: the middle is three quarters of the gain.
      const auto length = static_cast<double>(from.graph.ends[end].end_ns - unit.start_ns);
      Lanes by = all_lanes(0);
      by[kLow] = static_cast<DurationNs>(length * (1 - kFusedGpuShare));
      by[kMid] = by[kLow] / 4 * 3;
      edits.shorten(from.graph, end, by);
    }
  }
}

template <class Test>
void detach_if(const TransformInput& from, Edits& edits, const Test& test) {
  for (std::uint32_t u = 0; u < from.graph.units.size(); ++u) {
    if (test(from.graph.units[UnitId(u)])) edits.detach(from.graph, UnitId(u), kEveryLane);
  }
}

}  // namespace

Edits edits_of(Transform transform, const TransformInput& from) {
  Edits edits;
  switch (transform) {
    case Transform::kUnchanged:
      break;
    case Transform::kLoaderReady:
      edits.zero_labels = mask_of(HostLabel::kDataLoader);
      break;
    case Transform::kHiddenSyncsNotWaited:
      unwait_if(from, edits, [](const Wait& wait) { return wait.hidden(); });
      break;
    case Transform::kHiddenSyncsRemoved:
      remove_regions(from.input, from.graph, hidden_sync_operators(from), edits);
      break;
    case Transform::kHiddenSyncFunctionsRemoved:
      remove_regions(from.input, from.graph, hidden_sync_functions(from, hidden_sync_operators(from)), edits);
      break;
    case Transform::kBlockingCopiesAsync:
      copy_from_pinned_memory(from, edits);
      break;
    case Transform::kAllocatorFree:
      free_allocator(from, edits);
      break;
    case Transform::kCheckpointRemoved:
      remove_checkpoint(from, edits);
      break;
    case Transform::kHostZero:
      remove_specific(from, edits);
      edits.zero_labels = kAllLabels;
      break;
    case Transform::kHostZeroAlone:
      edits.zero_labels = kAllLabels & ~kSpecificLabels;
      break;
    case Transform::kSpecificRemoved:
      remove_specific(from, edits);
      break;
    case Transform::kOptimizerFused:
      fuse_optimizer(from, edits);
      break;
    case Transform::kTensorCores:
      use_tensor_cores(from, edits);
      break;
    case Transform::kCommunicationOverlapped:
      detach_if(from, edits, [](const GpuUnit& unit) { return unit.kernel_class == KernelClass::kCommunication; });
      break;
    case Transform::kCopiesOverlapped:
      detach_if(from, edits, [](const GpuUnit& unit) { return unit.copy != CopyPath::kNone; });
      break;
    case Transform::kPausesRemoved:
      cut_host(from.graph, from.pauses.regions, 0, edits);
      break;
    case Transform::kMatmulsAligned:
      align_matmuls(from, edits);
      break;
  }
  return edits;
}

}  // namespace stepscope
