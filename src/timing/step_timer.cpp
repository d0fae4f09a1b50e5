// The events of a step are given back as soon as its time is known, so that a long run holds two of them (and two more
// for each step that may be pending).
//
// Rejected: one event a step boundary, which halves the events but counts the data between two steps as step time.
#include "stepscope/step_timer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "stats/outliers.h"
#include "stats/quantiles.h"
#include "timing/clock_notes.h"

namespace stepscope {
namespace {

Error bad_argument(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message), ""}; }

std::vector<std::int64_t> part_of(const std::vector<std::int64_t>& all, std::size_t from, std::size_t to) {
  return {all.begin() + static_cast<std::ptrdiff_t>(from), all.begin() + static_cast<std::ptrdiff_t>(to)};
}

}  // namespace

Status detail::check_step_options(const StepTimerOptions& options) {
  // Far from overflow, and more steps than a run has.
  constexpr std::int64_t kMostSteps = std::int64_t{1} << 60;
  if (options.warmup_steps < 0) return bad_argument("warmup_steps is negative");
  if (options.pending_steps < 0) return bad_argument("pending_steps is negative");
  if (options.steps && *options.steps < 1) return bad_argument("steps has to be at least 1");
  if (options.warmup_steps > kMostSteps || options.steps.value_or(0) > kMostSteps) {
    return bad_argument("more than 2^60 steps");
  }
  return Done{};
}

StepTimer::StepTimer(StepTimerOptions options) : options_(std::move(options)) {
  if (!options_.default_clock) options_.default_clock = make_cpu_clock;
  if (Status checked = detail::check_step_options(options_); !checked) error_ = checked.error();
  if (options_.clock == nullptr) own_clock_ = options_.default_clock();
  if (options_.clock == nullptr && own_clock_ == nullptr) own_clock_ = make_cpu_clock();
}

StepTimer::~StepTimer() {
  drop_step();
  for (const Pending& step : pending_) {
    clock().release_event(step.begin);
    clock().release_event(step.end);
  }
}

Status StepTimer::fail(Error error) {
  error_ = std::move(error);
  return *error_;
}

// A device's clock is kept. Steps that the host's clock timed so far are warm-up and end with it.
Status StepTimer::choose_clock() {
  const bool is_warm = static_cast<std::int64_t>(steps_ns_.size() + pending_.size()) > options_.warmup_steps;
  if (options_.clock != nullptr || own_clock_->is_device() || is_warm) return Done{};
  std::unique_ptr<Clock> chosen = options_.default_clock();
  if (chosen == nullptr || !chosen->is_device()) return Done{};
  if (Status resolved = resolve_down_to(0); !resolved) return resolved;
  own_clock_ = std::move(chosen);
  return Done{};
}

Status StepTimer::begin_step() {
  if (error_) return *error_;
  if (begin_) return fail(bad_argument("a step began while another one was under way"));
  if (Status chosen = choose_clock(); !chosen) return chosen;
  const Result<ClockEvent> event = clock().record_event();
  if (!event) return fail(event.error());
  begin_ = *event;
  step_data_ns_ = std::exchange(next_data_ns_, 0);
  return Done{};
}

Status StepTimer::end_step() {
  if (error_) return *error_;
  if (!begin_) return fail(bad_argument("a step ended that had not begun"));
  const Result<ClockEvent> event = clock().record_event();
  if (!event) return fail(event.error());
  pending_.push_back({*begin_, *event, step_data_ns_});
  begin_.reset();
  return resolve_down_to(options_.pending_steps);
}

void StepTimer::drop_step() {
  if (begin_) clock().release_event(*begin_);
  begin_.reset();
}

Status StepTimer::resolve_down_to(std::int64_t pending_steps) {
  while (static_cast<std::int64_t>(pending_.size()) > pending_steps) {
    const Pending step = pending_.front();
    if (Status waited = clock().wait_event(step.end); !waited) return fail(waited.error());
    const Result<double> elapsed = clock().elapsed_ns(step.begin, step.end);
    if (!elapsed) return fail(elapsed.error());
    pending_.pop_front();
    clock().release_event(step.begin);
    clock().release_event(step.end);
    steps_ns_.push_back(std::max<std::int64_t>(0, std::llround(*elapsed)));
    data_ns_.push_back(step.data_ns);
  }
  return Done{};
}

Result<StepTimes> StepTimer::times() {
  if (error_) return *error_;
  if (Status resolved = resolve_down_to(0); !resolved) return resolved.error();
  const std::size_t count = steps_ns_.size();
  const auto warmup = static_cast<std::size_t>(options_.warmup_steps);
  if (count <= warmup) {
    return bad_argument(std::to_string(count) + " steps were timed, and the first " + std::to_string(warmup) +
                        " are warm-up: nothing is left to report");
  }
  StepTimes out;
  out.clock = clock().name();
  out.waited_for_each = options_.pending_steps == 0;
  out.warmup_ns = part_of(steps_ns_, 0, warmup);
  out.steps_ns = part_of(steps_ns_, warmup, count);
  if (has_data_) out.data_ns = part_of(data_ns_, warmup, count);
  const Outliers found = find_outliers(out.steps_ns);
  out.typical_ns = found.typical_ns;
  for (const std::size_t index : found.indices) {
    out.outliers.push_back({static_cast<std::int64_t>(warmup + index), out.steps_ns[index]});
  }
  out.warnings = find_clock_notes(clock(), options_.default_clock);
  return out;
}

}  // namespace stepscope
