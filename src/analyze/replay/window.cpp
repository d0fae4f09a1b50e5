// The steps to replay and their host boundaries.
#include "analyze/replay/window.h"

#include <algorithm>
#include <cmath>

#include "stats/quantiles.h"

namespace stepscope {
namespace {

// One replayed GPU event costs about 1 us over all what-ifs, so this many cost 50 ms: unnoticeable beside the import.
constexpr std::int64_t kGpuEventBudget = 50'000;
// One step beyond this would take seconds and a gigabyte; no recording that we know has a tenth of it.
constexpr std::size_t kMaxGpuEvents = 400'000;
// As far as the replay itself may be off (self_check.cpp): up to there the replayed steps' median is that of all.
constexpr double kAlike = 0.01;

struct Block {
  std::size_t first = 0, count = 0;
  DurationNs median_ns = 0;
};

Block block_from(const ReplayInput& input, std::size_t first) {
  const std::vector<Step>& steps = input.steps.steps;
  const std::size_t limit = std::min(steps.size() - first, std::max<std::size_t>(1, input.options.max_steps));
  Block block{first, 0, 0};
  std::int64_t events = 0;
  std::vector<DurationNs> durations;
  while (block.count < limit) {
    const Step& step = steps[first + block.count];
    if (block.count > 0 && events + step.gpu_event_count > kGpuEventBudget) break;
    events += step.gpu_event_count;
    durations.push_back(step.duration_ns());
    ++block.count;
  }
  block.median_ns = median_ns(durations).value_or(0);
  return block;
}

double off_by(const Block& block, DurationNs typical_ns) {
  const auto typical = static_cast<double>(typical_ns);
  return typical > 0 ? std::abs(static_cast<double>(block.median_ns) - typical) / typical : 0;
}

// The first steps, unless others stand better for all of them.
Block choose_block(const ReplayInput& input) {
  const std::size_t count = input.steps.steps.size();
  const DurationNs typical_ns = input.steps.median_ns.value_or(0);
  Block chosen = block_from(input, 0);
  if (input.options.from_first_step || off_by(chosen, typical_ns) <= kAlike) return chosen;
  for (std::size_t first = 1, end = chosen.count; end < count; ++first) {
    const Block block = block_from(input, first);
    end = first + block.count;
    if (off_by(block, typical_ns) < off_by(chosen, typical_ns)) chosen = block;
  }
  return chosen;
}

void cut_at(ReplayWindow& window, TimeNs at_ns) {
  // Steps may overlap in hostile files; a cut never goes back.
  window.cut_ns.push_back(window.cut_ns.empty() ? at_ns : std::max(window.cut_ns.back(), at_ns));
}

void take_steps(const ReplayInput& input, ReplayWindow& window) {
  const std::vector<Step>& steps = input.steps.steps;
  const Block block = choose_block(input);
  window.first_step = block.first;
  bool follows = false;  // on the step before, at once
  for (std::size_t k = block.first; k < block.first + block.count; ++k) {
    if (!follows) cut_at(window, steps[k].host.start_ns);
    const auto start = static_cast<std::uint32_t>(window.cut_ns.size() - 1);
    follows = k + 1 < steps.size() && steps[k + 1].gpu.start_ns == steps[k].gpu.end_ns;
    cut_at(window, follows ? steps[k + 1].host.start_ns : steps[k].host.end_ns);
    window.steps.push_back({start, start + 1});
    window.recorded_ns.push_back(steps[k].duration_ns());
  }
  window.host = {window.cut_ns.front(), window.cut_ns.back()};
  window.first_boundary_ns = steps[block.first].gpu.start_ns;
  const DurationNs typical_ns = input.steps.median_ns.value_or(0);
  if (input.options.from_first_step || block.median_ns <= 0 || off_by(block, typical_ns) <= kAlike) return;
  window.scale = static_cast<double>(typical_ns) / static_cast<double>(block.median_ns);
}

void take_whole_window(const ReplayInput& input, ReplayWindow& window) {
  window.host = input.steps.window;
  window.cut_ns = {window.host.start_ns, window.host.end_ns};
  window.steps = {{0, 1}};
  window.recorded_ns = {window.host.length_ns()};
  window.first_boundary_ns = window.host.start_ns;
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

bool is_near(const ReplayWindow& window, TimeNs time_ns) {
  // 9 years. In doubles, since the difference of two hostile times need not fit 64 bits.
  constexpr double kFarthestNs = static_cast<double>(TimeNs{1} << 58);
  return std::abs(static_cast<double>(time_ns) - static_cast<double>(window.host.start_ns)) < kFarthestNs;
}

ReplayWindow choose_replay_window(const ReplayInput& input) {
  ReplayWindow window;
  window.main_thread = input.path.main_thread();
  if (!window.main_thread.has_value()) {
    window.refused = "no host thread was recorded";
    return window;
  }
  input.steps.steps.empty() ? take_whole_window(input, window) : take_steps(input, window);
  if (window.host.end_ns <= window.host.start_ns || !is_near(window, window.host.end_ns)) {
    window.refused = "the steps have no length";
  } else if (calls_within(input, window.host) > kMaxGpuEvents) {
    window.refused = "one step has too many calls to replay";
  }
  return window;
}

}  // namespace stepscope
