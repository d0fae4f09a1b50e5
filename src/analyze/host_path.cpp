// Builds the slices of all working threads (in parallel, one thread a piece) and answers questions about them.
//
// The path is a rule, not a search: from a launch on a worker back to the start of its hand-off, then main; on
// main, wherever it waited, the worker. A dependency graph over all events gives the same on the recordings and costs
// ten times the memory (what_if builds one, over calls only).
#include "analyze/host_path.h"

#include <algorithm>

#include "analyze/checkpoint_copies.h"
#include "base/parallel.h"

namespace stepscope {
namespace {

// First index in [0, size) for which `before` is false, given that it is true for a prefix; searches outward from
// `hint` in doubling strides.
template <class Before>
std::size_t gallop(std::size_t size, std::size_t hint, const Before& before) {
  hint = std::min(hint, size);
  std::size_t low = 0, high = size, stride = 1;
  if (hint < size && before(hint)) {
    low = hint + 1;
    while (low < size && stride < size - low && before(low + stride)) {
      low += stride + 1;
      stride *= 2;
    }
    high = low < size ? std::min(size, low + stride) : size;
  } else {
    high = hint;
    while (high > 0 && stride < high && !before(high - stride)) {
      high -= stride;
      stride *= 2;
    }
    low = high > stride ? high - stride : 0;
  }
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (before(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

bool launches_work(const Trace& trace, ThreadId thread) {
  for (const CallId call : trace.calls_of_thread[thread].ids()) {
    if (trace.calls.gpu_count[call] > 0) return true;
  }
  return false;
}

bool runs_autograd(const Trace& trace, const HostNames& names, ThreadId thread) {
  for (const OpId op : trace.ops_of_thread[thread].ids()) {
    if (names.has(trace.ops.name[op], kAutogradName)) return true;
  }
  return false;
}

using RowsByThread = Column<ThreadId, std::vector<HostSlice>>;

// The profiler's overhead rows, by the thread they name. Files that give them a process of their own (-1) are
// understood by the thread's key where only one thread has it.
void add_overhead(const Trace& trace, RowsByThread& rows) {
  struct Named {
    StringId process, thread;
    ThreadId id;
  };
  std::vector<Named> threads;
  for (const OtherEventId event : trace.other_events.ids().ids()) {
    const auto& events = trace.other_events;
    if (events.end_ns[event] <= events.start_ns[event]) continue;
    const std::string_view category = trace.text(events.category[event]);
    if (category != "overhead" && category != "Overhead") continue;
    if (threads.empty()) {
      for (const ThreadId id : trace.threads.ids().ids()) {
        threads.push_back({trace.processes.key[trace.threads.process[id]], trace.threads.key[id], id});
      }
      std::sort(threads.begin(), threads.end(), [](const Named& a, const Named& b) { return a.thread < b.thread; });
    }
    const StringId key = events.thread_key[event];
    const auto first = std::lower_bound(threads.begin(), threads.end(), key,
                                        [](const Named& a, StringId wanted) { return a.thread < wanted; });
    ThreadId found;
    // 64: a bound for damaged files; real ones hold a handful of processes.
    for (auto at = first; at != threads.end() && at->thread == key && at - first < 64; ++at) {
      if (at->process == events.process_key[event]) found = at->id;
    }
    const bool only_one =
        first != threads.end() && first->thread == key && (first + 1 == threads.end() || (first + 1)->thread != key);
    if (!found.has_value() && only_one) found = first->id;
    if (!found.has_value()) continue;
    rows[found].push_back({events.start_ns[event], events.end_ns[event], HostLabel::kProfiler, events.name[event]});
  }
}

RowsByThread collect_more(const Trace& trace, const Steps& steps) {
  RowsByThread rows;
  rows.raw().resize(trace.threads.size());
  add_overhead(trace, rows);
  if (steps.main_thread.has_value()) {
    auto& of_main = rows[steps.main_thread];
    for (const HostSlice& stretch : infer_checkpoints(trace, steps)) of_main.push_back(stretch);
  }
  for (auto& of_thread : rows.raw()) {
    std::stable_sort(of_thread.begin(), of_thread.end(),
                     [](const HostSlice& a, const HostSlice& b) { return a.start_ns < b.start_ns; });
  }
  return rows;
}

}  // namespace

HostPath HostPath::build(const Trace& trace, const Steps& steps) {
  HostPath path;
  path.main_ = steps.main_thread;
  path.slices_.raw().resize(trace.threads.size());
  path.handoff_starts_.raw().resize(trace.threads.size());
  const HostNames names(trace);
  std::vector<ThreadId> workers;  // in main's process: threads of others never work for it
  for (const ThreadId thread : trace.threads.ids().ids()) {
    const bool is_main = thread == path.main_;
    if (!is_main && !launches_work(trace, thread) && !runs_autograd(trace, names, thread)) continue;
    path.working_.push_back(thread);
    const bool same_process =
        path.main_.has_value() && trace.threads.process[thread] == trace.threads.process[path.main_];
    if (!is_main && same_process) workers.push_back(thread);
  }

  const RowsByThread more = collect_more(trace, steps);
  std::vector<TimeNs> boundaries;
  parallel_for(path.working_.size(), 0, [&](std::size_t at) {
    const ThreadId thread = path.working_[at];
    const bool wants_boundaries = thread == path.main_ && !workers.empty();
    ThreadCut cut = cut_thread(trace, names, thread, more[thread], wants_boundaries);
    path.slices_[thread] = std::move(cut.slices);
    if (wants_boundaries) boundaries = std::move(cut.boundaries);
  });

  path.handoffs_ = find_handoffs(trace, workers, boundaries);
  path.waits_ = resolve_waits(path.handoffs_);
  for (const Handoff& handoff : path.handoffs_) path.handoff_starts_[handoff.worker].push_back(handoff.start_ns);
  return path;
}

HostPath::Cursor HostPath::cursor() const {
  Cursor at;
  at.slice.raw().resize(slices_.size());
  return at;
}

const std::vector<HostSlice>& HostPath::all_slices(ThreadId thread) const {
  static const std::vector<HostSlice> kNone;
  return thread.value < slices_.size() ? slices_[thread] : kNone;
}

void HostPath::slices(ThreadId thread, TimeNs start_ns, TimeNs end_ns, std::vector<HostSlice>& out) const {
  std::size_t hint = all_slices(thread).size() / 2;
  slices_from(hint, thread, start_ns, end_ns, out);
}

void HostPath::slices(Cursor& at, ThreadId thread, TimeNs start_ns, TimeNs end_ns, std::vector<HostSlice>& out) const {
  std::size_t none = 0;
  slices_from(thread.value < at.slice.size() ? at.slice[thread] : none, thread, start_ns, end_ns, out);
}

void HostPath::slices_from(std::size_t& hint, ThreadId thread, TimeNs start_ns, TimeNs end_ns,
                           std::vector<HostSlice>& out) const {
  const std::vector<HostSlice>& all = all_slices(thread);
  TimeNs now = start_ns;
  const auto fill_until = [&](TimeNs to) {
    if (to > now) out.push_back({now, to, HostLabel::kNoEvent, {}});
    now = std::max(now, to);
  };
  if (!all.empty()) {
    hint = gallop(all.size(), hint, [&](std::size_t i) { return all[i].end_ns <= start_ns; });
    for (std::size_t i = hint; i < all.size() && all[i].start_ns < end_ns; ++i) {
      fill_until(all[i].start_ns);
      const TimeNs to = std::min(all[i].end_ns, end_ns);
      if (to > now) out.push_back({now, to, all[i].label, all[i].detail});
      now = std::max(now, to);
    }
  }
  fill_until(end_ns);
}

void HostPath::path(ThreadId thread, TimeNs start_ns, TimeNs end_ns, std::vector<PathPart>& out) const {
  Cursor at;
  at.wait = waits_.size() / 2;
  path(at, thread, start_ns, end_ns, out);
}

void HostPath::path(Cursor& at, ThreadId thread, TimeNs start_ns, TimeNs end_ns, std::vector<PathPart>& out) const {
  const std::size_t first = out.size();
  TimeNs now = end_ns;  // walks back
  const auto take = [&](TimeNs from, ThreadId on) {
    from = std::max(from, start_ns);
    if (from < now) out.push_back({from, now, on});
    now = std::min(now, from);
  };
  if (thread != main_) {
    // On the worker back to where its latest hand-off began; a thread that never worked for main stays by itself.
    TimeNs since = start_ns;
    if (thread.value < handoff_starts_.size()) {
      const std::vector<TimeNs>& starts = handoff_starts_[thread];
      const auto after = std::upper_bound(starts.begin(), starts.end(), now);
      if (after != starts.begin()) since = *(after - 1);
    }
    take(since, thread);
  }
  at.wait = gallop(waits_.size(), at.wait, [&](std::size_t i) { return waits_[i].start_ns < now; });
  for (std::size_t i = at.wait; i > 0 && now > start_ns && waits_[i - 1].end_ns > start_ns; --i) {
    const MainWait& wait = waits_[i - 1];
    take(wait.end_ns, main_);
    take(wait.start_ns, wait.worker);
  }
  take(start_ns, main_);
  std::reverse(out.begin() + static_cast<std::ptrdiff_t>(first), out.end());
}

HostLabel HostPath::label_at(ThreadId thread, TimeNs time_ns) const {
  const std::vector<HostSlice>& all = all_slices(thread);
  const auto at =
      std::partition_point(all.begin(), all.end(), [&](const HostSlice& slice) { return slice.end_ns <= time_ns; });
  return at == all.end() || at->start_ns > time_ns ? HostLabel::kNoEvent : at->label;
}

}  // namespace stepscope
