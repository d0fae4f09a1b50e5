// Spans of a thread nest, so its places are a list of changes over time, and each launch looks up its own.
//
// Two recordings of a program are compared place by place, so what differs from step to step must not be part of one:
// only spans inside a step count, not the step's own span nor "epoch 3" around it, and no spans of compilers. Autograd
// works on a thread of its own under no span: there the place is that of the main thread, which waits in
// `backward()`; where the program has no spans at all, work of the backward pass is in "(backward)".
#include "fleet/launch_places.h"

#include <tsl/robin_map.h>

#include <algorithm>

#include "analyze/program_spans.h"
#include "base/hash.h"

namespace stepscope {
namespace {

constexpr std::size_t kMostDepth = 8;  // what nests deeper than people read (and a hostile file nests a million)
constexpr std::string_view kBackward = "(backward)";

// A span that is inside a step and not the step itself; all of them where there are no steps.
bool is_inside_step(const Steps& steps, Interval span) {
  if (steps.steps.empty()) return true;
  const auto at = steps.find_by_host_time(span.start_ns);
  if (!at) return false;
  const Interval host = steps.steps[*at].host;
  if (span == host) return false;
  const bool is_last = *at + 1 == steps.steps.size();
  return is_last ? span.end_ns <= host.end_ns
                 : span.end_ns <= std::max(host.end_ns, steps.steps[*at + 1].host.start_ns);
}

}  // namespace

// Gives places their numbers.
class LaunchPlaces::Opener {
 public:
  explicit Opener(std::vector<Place>& places) : places_(places) {}
  std::uint32_t open(std::uint32_t parent, StringId name) {
    const std::size_t depth = places_[parent].depth + 1;
    if (depth > kMostDepth) return parent;
    const auto next = static_cast<std::uint32_t>(places_.size());
    const auto [at, is_new] = numbers_.try_emplace(std::uint64_t{parent} << 32 | name.value, next);
    if (is_new) places_.push_back({parent, depth, name});
    return at->second;
  }

 private:
  std::vector<Place>& places_;
  tsl::robin_map<std::uint64_t, std::uint32_t, MixedHash> numbers_;
};

LaunchPlaces::LaunchPlaces(const Trace& trace, const Steps& steps)
    : trace_(trace), names_(trace), main_thread_(steps.main_thread) {
  places_.resize(2);  // none, and the backward pass without spans
  Opener opener(places_);
  for (const ThreadId thread : trace.threads.ids().ids()) changes_.push_back(changes_of(thread, steps, opener));
}

std::vector<LaunchPlaces::Change> LaunchPlaces::changes_of(ThreadId thread, const Steps& steps, Opener& opener) const {
  struct Open {
    TimeNs end_ns;
    std::uint32_t place;
  };
  std::vector<Change> changes;
  std::vector<Open> open;
  const auto place = [&] { return open.empty() ? 0 : open.back().place; };
  const auto close_until = [&](TimeNs now) {
    while (!open.empty() && open.back().end_ns <= now) {
      const TimeNs end = open.back().end_ns;
      open.pop_back();
      changes.push_back({end, place()});
    }
  };
  TimeNs last_end = 0;
  for (const SpanId span : trace_.spans_of_thread[thread].ids()) {
    const Interval at{trace_.spans.start_ns[span], trace_.spans.end_ns[span]};
    if (trace_.spans.is_async[span] != 0 || !is_inside_step(steps, at)) continue;
    const StringId name = trace_.spans.name[span];
    if (is_compiler_span(trace_.text(name)) || names_.has(name, kStepName)) continue;
    close_until(at.start_ns);
    while (!open.empty() && open.back().end_ns < at.end_ns) open.pop_back();  // it does not enclose this one
    open.push_back({at.end_ns, opener.open(place(), name)});
    changes.push_back({at.start_ns, place()});
    last_end = changes.size() == 1 ? at.end_ns : std::max(last_end, at.end_ns);
  }
  close_until(last_end);
  return changes;
}

std::uint32_t LaunchPlaces::place_at(ThreadId thread, TimeNs time_ns) const {
  if (thread.value >= changes_.size()) return 0;
  const std::vector<Change>& changes = changes_[thread];
  const auto after = std::upper_bound(changes.begin(), changes.end(), time_ns,
                                      [](TimeNs time, const Change& change) { return time < change.time_ns; });
  return after == changes.begin() ? 0 : std::prev(after)->place;
}

bool LaunchPlaces::is_in_backward(OpId op) const {
  for (; op.has_value(); op = trace_.ops.parent[op]) {
    if (names_.has(trace_.ops.name[op], kAutogradName)) return true;
  }
  return false;
}

std::uint32_t LaunchPlaces::place_of(GpuEventId event) const {
  const CallId call = trace_.gpu_events.call[event];
  if (!call.has_value()) return 0;
  const ThreadId thread = trace_.calls.thread[call];
  const TimeNs time = trace_.calls.start_ns[call];
  std::uint32_t place = place_at(thread, time);
  if (place == 0 && thread != main_thread_) place = place_at(main_thread_, time);
  if (place == 0 && is_in_backward(trace_.gpu_events.op[event])) return 1;
  return place;
}

std::string LaunchPlaces::text(std::uint32_t place) const {
  if (place == 1) return std::string(kBackward);
  std::string text;
  for (; place != 0; place = places_[place].parent) {
    text = std::string(trace_.text(places_[place].name)) + (text.empty() ? "" : " > ") + text;
  }
  return text;
}

}  // namespace stepscope
