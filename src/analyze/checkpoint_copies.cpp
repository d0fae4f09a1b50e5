// torch.save without Python stacks is silence between copies of every parameter to the host.
//
// A step saves when the main thread makes >= 16 device-to-host copies of >= 64 MiB together in one run. A loop without
// a checkpoint copies losses and metrics, a few bytes each; the smallest model worth a checkpoint has more
// than 16 parameters and, with its optimizer's state, more than 64 MiB.
// Known false alarms, kept out: training that moves activations or gradients to the host all the time. It does
// so between its kernels, where a checkpoint copies without computing, so more than two other launches (the clone of
// a tensor with gaps takes two) end a run; or it does so in most steps, where a checkpoint is the exception, so
// none is believed when more than half of three or more steps have one.
// The stretch is all between the last other launch before the run and the next one after it (or the step's
// bounds), since saving is silent before its first copy and after its last: on a recording of torch.save without
// stacks that silence is 84 of 340 ms, and the one with stacks shows it inside torch/serialization.py.
#include "analyze/checkpoint_copies.h"

#include <algorithm>
#include <optional>

namespace stepscope {
namespace {

constexpr std::int64_t kLeastCopies = 16;
constexpr std::int64_t kLeastBytes = 64LL << 20;
constexpr std::int64_t kMostBetween = 2;

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

// Copies to the host with next to nothing launched between them, and the time around them.
struct Run {
  std::int64_t copy_count = 0;
  std::int64_t bytes = 0;
  HostSlice at;
  [[nodiscard]] bool is_checkpoint() const {
    return copy_count >= kLeastCopies && bytes >= kLeastBytes && at.end_ns > at.start_ns;
  }
};

// Cuts a step's launches into runs and keeps the first that is a checkpoint.
class RunFinder {
 public:
  explicit RunFinder(Interval step) : step_(step), other_end_ns_(step.start_ns) {}

  void add_copy(const Trace& trace, GpuEventId copy) {
    if (since_count_ > kMostBetween) close();
    since_count_ = 0;
    if (run_.copy_count++ == 0) run_.at = {other_end_ns_, 0, HostLabel::kCheckpoint, trace.gpu_events.name[copy]};
    run_.bytes += std::clamp<std::int64_t>(trace.gpu_events.bytes[copy].value_or(0), 0, kLeastBytes);
  }
  void add_other(TimeNs start_ns, TimeNs end_ns) {
    if (since_count_++ == 0) since_start_ns_ = start_ns;
    other_end_ns_ = end_ns;
  }
  std::optional<HostSlice> finish() {
    close();
    return found_;
  }

 private:
  void close() {
    run_.at.end_ns = since_count_ > 0 ? since_start_ns_ : step_.end_ns;
    if (!found_ && run_.is_checkpoint()) found_ = run_.at;
    run_ = {};
  }

  Interval step_;
  Run run_;
  std::int64_t since_count_ = 0;  // other launches since the last copy, the first of them at since_start_ns_
  TimeNs since_start_ns_ = 0;
  TimeNs other_end_ns_;
  std::optional<HostSlice> found_;
};

std::optional<HostSlice> find_in_step(const Trace& trace, ThreadId thread, Interval step) {
  RunFinder finder(step);
  for (const CallId call : calls_within(trace, thread, step).ids()) {
    if (trace.calls.gpu_count[call] == 0) continue;
    const GpuEventId event = trace.gpu_events_of(call)[0];
    if (is_copy_to_host(trace, event)) {
      finder.add_copy(trace, event);
    } else {
      finder.add_other(trace.calls.start_ns[call], trace.calls.end_ns[call]);
    }
  }
  return finder.finish();
}

}  // namespace

std::vector<HostSlice> infer_checkpoints(const Trace& trace, const Steps& steps) {
  std::vector<HostSlice> found;
  if (!steps.main_thread.has_value()) return found;
  for (const Step& step : steps.steps) {
    if (const auto stretch = find_in_step(trace, steps.main_thread, step.host)) found.push_back(*stretch);
  }
  const bool in_most_steps = steps.steps.size() >= 3 && found.size() * 2 > steps.steps.size();
  if (in_most_steps) found.clear();
  return found;
}

}  // namespace stepscope
