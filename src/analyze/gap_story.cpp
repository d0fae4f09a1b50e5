// Edges view: over the gap itself, the host's path up to the launch call, then launch latency. Blame view: to close a
// gap of g the launch had to be issued g earlier, so the host's path over the g before it is what must go. The blame
// view is shown, since it names what to change; the edges view says what was seen.
//
// A launch that begins after its kernel (the two clocks disagree) is taken as begun with it: the host's time
// after a kernel's start cannot have delayed it. This also bounds how much host time can be charged how often.
#include "analyze/gap_story.h"

#include <algorithm>

namespace stepscope {
namespace {

bool is_blocking(const Trace& trace, CallId call) {
  switch (trace.calls.kind[call]) {
    case ApiKind::kStreamSync:
    case ApiKind::kEventSync:
    case ApiKind::kDeviceSync:
    case ApiKind::kFree:
      return true;
    case ApiKind::kCopy:
      return outlasted_its_copy(trace, call);
    default:
      return false;
  }
}

}  // namespace

GapTeller::GapTeller(const Trace& trace, const HostPath& path) : trace_(trace), path_(path), cursor_(path.cursor()) {
  call_at_.raw().reserve(trace.threads.size());
  for (const ThreadId thread : trace.threads.ids().ids()) call_at_.push_back(trace.calls_of_thread[thread].begin);
}

void GapTeller::add_path(ThreadId thread, TimeNs start_ns, TimeNs end_ns, std::vector<HostSlice>& out) {
  parts_.clear();
  path_.path(cursor_, thread, start_ns, end_ns, parts_);
  for (const PathPart& part : parts_) path_.slices(cursor_, part.thread, part.start_ns, part.end_ns, out);
}

// The call open on the path's thread when the gap began, if it blocks and returned before the launch. Calls of a thread
// hardly nest (a runtime call holds a driver call at most), so a few steps back find it.
std::optional<CallId> GapTeller::find_root(ThreadId thread, TimeNs gap_start_ns, TimeNs before_ns) {
  if (thread.value >= call_at_.size()) return std::nullopt;
  const IdRange<CallId> all = trace_.calls_of_thread[thread];
  const auto starts = trace_.calls.start_ns.raw().begin();
  std::uint32_t& at = call_at_[thread];
  if (at < all.end && starts[at] > gap_start_ns) at = all.begin;
  std::uint32_t stride = 1;
  while (at + stride < all.end && starts[at + stride] <= gap_start_ns) at += stride, stride *= 2;
  const auto limit = starts + std::min(all.end, at + stride + 1);
  const auto after = std::upper_bound(starts + at, limit, gap_start_ns);
  at = after == starts + all.begin ? all.begin : static_cast<std::uint32_t>(after - starts) - 1;
  for (std::uint32_t back = 0; back < 4 && at >= all.begin + back && at - back < all.end; ++back) {
    const CallId call(at - back);
    const TimeNs end_ns = trace_.calls.end_ns[call];
    if (trace_.calls.start_ns[call] > gap_start_ns || end_ns < gap_start_ns) continue;
    if (end_ns <= before_ns && is_blocking(trace_, call)) return call;
  }
  return std::nullopt;
}

void GapTeller::tell(const DeviceGap& gap, GapStory& story) {
  const auto [start_ns, end_ns] = gap.at;
  story.edges.clear();
  story.blame.clear();
  story.blocked_by.reset();
  if (gap.cause != GapCause::kHostLate) {
    const HostLabel label = gap.cause == GapCause::kKernelGap ? HostLabel::kKernelGap : HostLabel::kUnlinked;
    story.edges.push_back({start_ns, end_ns, label, trace_.gpu_events.name[*gap.ended_by]});
    story.blame = story.edges;
    return;
  }
  const TimeNs launch_ns = std::min(gap.launch_ns, end_ns);
  const TimeNs host_until = std::max(start_ns, launch_ns);
  add_path(gap.thread, start_ns, host_until, story.edges);
  if (!parts_.empty()) story.blocked_by = find_root(parts_.front().thread, start_ns, host_until);
  if (host_until < end_ns) {
    const StringId call_name = gap.call.has_value() ? trace_.calls.name[gap.call] : StringId{};
    story.edges.push_back({host_until, end_ns, HostLabel::kLaunchLatency, call_name});
  }
  add_path(gap.thread, launch_ns - gap.at.length_ns(), launch_ns, story.blame);
  for (HostSlice& slice : story.blame) {
    slice.start_ns += end_ns - launch_ns;
    slice.end_ns += end_ns - launch_ns;
  }
}

}  // namespace stepscope
