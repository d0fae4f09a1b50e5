// torch.save without Python stacks is silence between copies of every parameter to the host.
//
// A step is taken for one that saves when the main thread makes >= 16 device-to-host copies of >= 64 MiB together in
// it. A loop without a checkpoint copies losses and metrics, a few bytes each; the smallest model worth a checkpoint
// has more than 16 parameters and, with its optimizer's state, more than 64 MiB. Known false alarms, kept out: training
// that moves activations or gradients to the host all the time. It does so in most steps (a checkpoint is the
// exception), or between its kernels (a checkpoint copies without computing), so steps are left out when more than half
// of three or more do it, or when fewer than half of the launches between the first copy and the last are such copies.
// The stretch ends where the loop next launches anything but a copy, at the latest with the step: the file
// is written after the last copy, in silence.
#include "analyze/checkpoint_copies.h"

#include <algorithm>

namespace stepscope {
namespace {

constexpr std::int64_t kLeastCopies = 16;
constexpr std::int64_t kLeastBytes = 64LL << 20;

bool is_copy_to_host(const Trace& trace, GpuEventId event) {
  if (trace.gpu_events.kind[event] != GpuEventKind::kCopy) return false;
  const std::string_view name = trace.text(trace.gpu_events.name[event]);
  return name.find("DtoH") != name.npos || name.find("DeviceToHost") != name.npos;
}

// Calls of the main thread that start in `within`. Calls are sorted by start on each thread.
IdRange<CallId> calls_within(const Trace& trace, ThreadId thread, Interval within) {
  const auto& starts = trace.calls.start_ns.raw();
  const IdRange<CallId> all = trace.calls_of_thread[thread];
  const auto first = starts.begin() + all.begin, last = starts.begin() + all.end;
  const auto from = std::lower_bound(first, last, within.start_ns);
  const auto to = std::lower_bound(from, last, std::max(within.start_ns, within.end_ns));
  return {static_cast<std::uint32_t>(from - starts.begin()), static_cast<std::uint32_t>(to - starts.begin())};
}

struct Bulk {
  std::int64_t copy_count = 0;
  std::int64_t bytes = 0;
  std::int64_t launches_between = 0;  // of any kind, from the first copy to the last
  std::int64_t launches_since = 0;    // after the last copy so far
  HostSlice at;
};

Bulk measure_step(const Trace& trace, ThreadId thread, Interval step) {
  Bulk bulk;
  bulk.at.label = HostLabel::kCheckpoint;
  for (const CallId call : calls_within(trace, thread, step).ids()) {
    if (trace.calls.gpu_count[call] == 0) continue;
    const GpuEventId event = trace.gpu_events_of(call)[0];
    if (!is_copy_to_host(trace, event)) {
      if (bulk.launches_since++ == 0) bulk.at.end_ns = trace.calls.start_ns[call];
      continue;
    }
    if (bulk.copy_count == 0) {
      bulk.at.start_ns = trace.calls.start_ns[call];
      bulk.at.detail = trace.gpu_events.name[event];
      bulk.launches_since = 0;
    }
    ++bulk.copy_count;
    bulk.bytes += std::max<std::int64_t>(0, std::min(trace.gpu_events.bytes[event].value_or(0), kLeastBytes));
    bulk.launches_between += 1 + bulk.launches_since;
    bulk.launches_since = 0;
  }
  if (bulk.launches_since == 0) bulk.at.end_ns = step.end_ns;
  return bulk;
}

}  // namespace

std::vector<HostSlice> infer_checkpoints(const Trace& trace, const Steps& steps) {
  std::vector<HostSlice> found;
  if (!steps.main_thread.has_value()) return found;
  for (const Step& step : steps.steps) {
    const Bulk bulk = measure_step(trace, steps.main_thread, step.host);
    if (bulk.copy_count < kLeastCopies || bulk.bytes < kLeastBytes) continue;
    if (bulk.copy_count * 2 < bulk.launches_between || bulk.at.end_ns <= bulk.at.start_ns) continue;
    found.push_back(bulk.at);
  }
  const bool in_most_steps = steps.steps.size() >= 3 && found.size() * 2 > steps.steps.size();
  if (in_most_steps) found.clear();
  return found;
}

}  // namespace stepscope
