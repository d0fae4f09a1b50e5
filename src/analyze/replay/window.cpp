// The steps to replay and their host boundaries.
#include "analyze/replay/window.h"

#include <algorithm>

namespace stepscope {
namespace {

// One replayed GPU event costs about 1 us over all what-ifs, so this many cost 50 ms: unnoticeable beside the import.
constexpr std::int64_t kGpuEventBudget = 50'000;
// One step beyond this would take seconds and a gigabyte; no recording that we know has a tenth of it.
constexpr std::size_t kMaxGpuEvents = 400'000;
// Times further out than 36 years are not times, and sums of them could overflow.
constexpr TimeNs kFarthestNs = TimeNs{1} << 60;

bool is_far(Interval interval) { return interval.start_ns < -kFarthestNs || interval.end_ns > kFarthestNs; }

std::size_t steps_within_budget(const ReplayInput& input) {
  const std::vector<Step>& steps = input.steps.steps;
  const std::size_t limit = std::min(steps.size(), std::max<std::size_t>(1, input.options.max_steps));
  std::int64_t events = 0;
  std::size_t count = 0;
  while (count < limit && (count == 0 || events + steps[count].gpu_event_count <= kGpuEventBudget)) {
    events += steps[count].gpu_event_count;
    ++count;
  }
  return count;
}

void take_steps(const ReplayInput& input, ReplayWindow& window) {
  const std::vector<Step>& steps = input.steps.steps;
  const std::size_t count = steps_within_budget(input);
  for (std::size_t k = 0; k < count; ++k) {
    window.step_start_ns.push_back(steps[k].host.start_ns);
    window.recorded_ns.push_back(steps[k].duration_ns());
  }
  const Step& last = steps[count - 1];
  // A step ends where the next begins, unless one that is left out lies between.
  const bool next_follows = count < steps.size() && steps[count].gpu.start_ns == last.gpu.end_ns;
  const TimeNs end = next_follows ? steps[count].host.start_ns : last.host.end_ns;
  window.host = {steps[0].host.start_ns, std::max(end, last.host.end_ns)};
  window.first_boundary_ns = steps[0].gpu.start_ns;
}

void take_whole_window(const ReplayInput& input, ReplayWindow& window) {
  const Interval whole = input.steps.window;
  window.host = whole;
  window.step_start_ns = {whole.start_ns};
  window.recorded_ns = {whole.length_ns()};
  window.first_boundary_ns = whole.start_ns;
}

std::size_t calls_within(const ReplayInput& input, Interval window) {
  std::size_t count = 0;
  const std::vector<TimeNs>& starts = input.trace.calls.start_ns.raw();
  for (const ThreadId thread : input.path.working_threads()) {
    const auto range = input.trace.calls_of_thread[thread];
    const auto begin = starts.begin() + range.begin, end = starts.begin() + range.end;
    count += std::lower_bound(begin, end, window.end_ns) - std::lower_bound(begin, end, window.start_ns);
  }
  return count;
}

}  // namespace

ReplayWindow choose_replay_window(const ReplayInput& input) {
  ReplayWindow window;
  window.main_thread = input.path.main_thread();
  if (!window.main_thread.has_value()) {
    window.refused = "no host thread was recorded";
    return window;
  }
  input.steps.steps.empty() ? take_whole_window(input, window) : take_steps(input, window);
  if (window.host.length_ns() <= 0 || is_far(window.host)) {
    window.refused = "the steps have no length";
  } else if (calls_within(input, window.host) > kMaxGpuEvents) {
    window.refused = "one step has too many calls to replay";
  }
  return window;
}

}  // namespace stepscope
