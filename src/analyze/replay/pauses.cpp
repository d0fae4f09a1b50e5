// Neighbouring slices of one label and name are one stretch; main's hand-offs are cut out of it.
#include "analyze/replay/pauses.h"

#include <algorithm>
#include <map>

namespace stepscope {
namespace {

class PauseFinder {
 public:
  PauseFinder(const ReplayInput& input, const ReplayWindow& window) : input_(input), window_(window) {
    for (const Handoff& handoff : input.path.handoffs()) {
      if (handoff.start_ns >= window.host.end_ns) break;  // sorted by start
      main_stands_.push_back({handoff.fork_ns, handoff.join_ns});
      if (handoff.worker.value >= worker_runs_.size()) worker_runs_.resize(handoff.worker.value + 1);
      worker_runs_[handoff.worker.value].push_back({handoff.start_ns, handoff.end_ns});
    }
    main_stands_ = union_of(std::move(main_stands_));
  }

  Pauses find() {
    for (const ThreadId thread : input_.path.working_threads()) search(thread);
    result_.regions.finish();
    for (auto& [name, site] : sites_) {
      site.per_step_ns /= static_cast<DurationNs>(std::max<std::size_t>(1, window_.steps.size()));
      result_.sites.push_back(std::move(site));
    }
    std::stable_sort(result_.sites.begin(), result_.sites.end(),
                     [](const auto& a, const auto& b) { return a.per_step_ns > b.per_step_ns; });
    return std::move(result_);
  }

 private:
  void search(ThreadId thread) {
    slices_.clear();
    input_.path.slices(thread, window_.host.start_ns, window_.host.end_ns, slices_);
    for (std::size_t first = 0; first < slices_.size();) {
      std::size_t next = first + 1;
      while (next < slices_.size() && slices_[next].label == slices_[first].label &&
             slices_[next].detail == slices_[first].detail) {
        ++next;
      }
      const HostLabel label = slices_[first].label;
      const Interval stretch{slices_[first].start_ns, slices_[next - 1].end_ns};
      const bool silent = label == HostLabel::kNoEvent || label == HostLabel::kPython;
      if (silent && stretch.length_ns() >= kLeastPauseNs) take(thread, stretch, slices_[first]);
      first = next;
    }
  }

  // Main: where it does not stand still for a worker. A worker: where it runs for main.
  void take(ThreadId thread, Interval stretch, const HostSlice& slice) {
    IntervalSet parts;
    if (thread == window_.main_thread) {
      parts = subtract(std::vector{stretch}, main_stands_);
    } else if (thread.value < worker_runs_.size()) {
      parts = clip(worker_runs_[thread.value], stretch);
    }
    for (const Interval& part : parts) {
      if (part.length_ns() >= kLeastPauseNs) add(thread, part, slice);
    }
  }

  void add(ThreadId thread, Interval part, const HostSlice& slice) {
    result_.regions.add(thread, part);
    PauseSite& site = sites_[slice.detail.value];
    if (site.count++ == 0) {
      // Inside nothing but the step's own span it is as silent as outside of all.
      const std::string_view name = input_.trace.text(slice.detail);
      site.what = name.empty() || name.starts_with("ProfilerStep#") ? "host, no event" : std::string(name);
      site.is_garbage_collection = names_garbage_collection(site.what);
    }
    site.per_step_ns += part.length_ns();
    if (part.length_ns() > site.example.length_ns()) site.example = part;
  }

  const ReplayInput& input_;
  const ReplayWindow& window_;
  IntervalSet main_stands_;
  std::vector<IntervalSet> worker_runs_;  // by ThreadId, sorted by start
  std::vector<HostSlice> slices_;
  std::map<std::uint32_t, PauseSite> sites_;  // by name
  Pauses result_;
};

}  // namespace

Pauses find_pauses(const ReplayInput& input, const ReplayWindow& window) { return PauseFinder(input, window).find(); }

bool names_garbage_collection(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  // CPython names built-ins `<built-in function collect>` or `<built-in method collect of module object ...>`;
  // callbacks of gc.callbacks and spans bear the user's own words.
  return has("gc.collect") || has("built-in function collect>") || has("built-in method collect of module") ||
         has("gc_callback") || has("gc_collect") || has("garbage_collect") || has("garbage collect");
}

}  // namespace stepscope
