// Windows by the schedule, at the ends of steps, on the thread that ends them.
//
// A window has to hold whole steps, so it is opened and closed where one step ends and the next begins, before the
// program goes on. That costs its thread, once a window: 0.05 ms to open, 1.2 ms for CUPTI's stop, and two small files
// of status; the first start of CUPTI, 20 ms, falls into a warm-up step. A step's end without a change costs one mutex.
// Rejected: a thread of ours that opens and closes (it comes some launches late, so the first step would lack some).
//
// Which spans end steps, where the user names none: `ProfilerStep#N`; before the first of those, and again once their
// session is over, calls of optimizers (optimizer_steps.h says which), heard by the hooks of torch.optim where they
// are, else as spans.
//
// Between windows spans are heard for the ends of steps alone, and that is not free: with any callback registered,
// PyTorch's autograd engine makes its lists of callbacks anew twice a node (docs/performance.md, "Capture": 2.3 % of a
// step). So once hooks of optimizers have ended a few steps and no ProfilerStep has come, none is registered.
#include "agent/controller.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace stepscope::agent {
namespace {

constexpr std::string_view kProfilerStep = "ProfilerStep#";
constexpr std::string_view kOptimizer = "Optimizer.";
constexpr std::string_view kOptimizerStep = "Optimizer.step#";
// Of --every N: as many as torch.profiler's examples; fewer where N leaves no room.
constexpr std::int64_t kActivePerCycle = 3;
constexpr std::int64_t kWarmupPerCycle = 2;
// Steps that optimizers' hooks end before spans are no longer listened to between windows: a ProfilerStep of the
// program has come by then, also where the first optimizer of several ends the first step.
constexpr std::uint64_t kStepsToLearn = 3;
// Steps of optimizers without a ProfilerStep, beyond twice what lay between two of those, before its session is over: a
// pass or two of another length end none.
constexpr std::uint64_t kStepsToReturn = 8;

// "train" is a step of `train`, and so are "train#12" and "train 12".
bool is_named(std::string_view name, std::string_view asked) {
  if (!name.starts_with(asked)) return false;
  return name.size() == asked.size() || step_number_of(name).has_value();
}

}  // namespace

std::optional<std::int64_t> step_number_of(std::string_view name) {
  const std::size_t at = name.find_last_of("# ");
  if (at == std::string_view::npos) return std::nullopt;
  const char* const end = name.data() + name.size();
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(name.data() + at + 1, end, number);
  if (error != std::errc() || stop != end || number < 0) return std::nullopt;
  return number;
}

std::optional<Schedule> wanted_schedule(const AgentOptions& options) {
  if (!options.schedule.empty()) {
    Result<Schedule> parsed = parse_schedule(options.schedule);
    if (parsed && !parsed.value().records_always()) return std::move(parsed.value());
    return std::nullopt;
  }
  if (options.every == 0) return std::nullopt;
  const auto every = static_cast<std::int64_t>(
      std::min<std::uint64_t>(options.every, std::uint64_t{1} << 60));  // as good as never again
  ScheduleParameters parameters;
  parameters.active = std::min(kActivePerCycle, every);
  parameters.warmup = std::min(kWarmupPerCycle, every - parameters.active);
  parameters.wait = every - parameters.active - parameters.warmup;
  Result<Schedule> made = make_schedule(parameters);
  if (!made) return std::nullopt;
  return std::move(made.value());
}

Controller::Controller(const AgentOptions& options, ControllerParts parts)
    : options_(options), parts_(std::move(parts)), process_id_(getpid()), schedule_(wanted_schedule(options)) {
  is_paused_ = options.start_paused;
  status_.process_id = process_id_;
  status_.directory = options.directory;
}

void Controller::start() {
  const std::lock_guard lock(mutex_);
  if (!options_.schedule.empty() && !schedule_ && options_.schedule != "always") {
    parts_.remark("the schedule is not understood, so everything is recorded: " + options_.schedule);
  }
  if (!is_paused_) {
    if (schedule_) {
      go_to(schedule_->action(0));
    } else {
      open(-1);
    }
  }
  publish();
}

void Controller::stop() {
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  close(next_number_ - 1);
  status_.is_over = true;
  publish();
}

bool Controller::is_step_mark(std::string_view name) const {
  if (!options_.step_name.empty()) return is_named(name, options_.step_name);
  if (name.starts_with(kProfilerStep)) return true;
  return name.starts_with(kOptimizer) && !hooks_tell_.load(std::memory_order_relaxed);
}

bool Controller::goes_by_profiler_steps() const { return status_.step_name.starts_with(kProfilerStep); }

bool Controller::accept_mark(std::string_view name, TimeNs start_ns, TimeNs end_ns, std::uint32_t place) {
  if (!is_step_mark(name)) return false;
  if (!options_.step_name.empty()) {
    status_.step_name = options_.step_name;
    return true;
  }
  if (!name.starts_with(kProfilerStep)) return accept_optimizer(name, optimizer_steps_.note(name, place));
  if (!goes_by_profiler_steps()) status_.step_name = kProfilerStep;
  // Of two in a row: what lies before the first of a session tells nothing of its steps.
  const bool is_next = last_profiler_step_ns_ != 0 && start_ns - last_profiler_step_ns_ <= end_ns - start_ns;
  if (is_next) most_between_ = std::max(most_between_, since_profiler_step_);
  last_profiler_step_ns_ = end_ns;
  since_profiler_step_ = 0;
  return true;
}

bool Controller::accept_optimizer(std::string_view name, bool ends_pass) {
  if (ends_pass) ++since_profiler_step_;
  if (goes_by_profiler_steps()) {
    if (!ends_pass || since_profiler_step_ <= 2 * most_between_ + kStepsToReturn) return false;
    status_.step_name = name;
    last_end_ns_ = 0;  // where the step that ends here began is not known
  } else if (status_.step_name.empty() && name.starts_with(kOptimizerStep)) {
    status_.step_name = name;
  }
  return ends_pass;
}

void Controller::note_step_mark(std::string_view name, TimeNs start_ns, TimeNs end_ns, std::uint32_t place) {
  const std::lock_guard lock(mutex_);
  if (!is_stopped_ && accept_mark(name, start_ns, end_ns, place)) end_step(name, end_ns);
}

void Controller::note_optimizer_step(std::string_view name, TimeNs end_ns, std::uint32_t place, std::uint64_t object) {
  const std::lock_guard lock(mutex_);
  if (is_stopped_ || !options_.step_name.empty()) return;
  hooks_tell_.store(true, std::memory_order_relaxed);
  if (accept_optimizer(name, optimizer_steps_.note(name, place, object))) end_step(name, end_ns);
}

void Controller::forget_optimizer(std::uint64_t object) {
  const std::lock_guard lock(mutex_);
  optimizer_steps_.forget(object);
}

void Controller::choose_spans() {
  const bool are_needed =
      !hooks_tell_.load(std::memory_order_relaxed) || status_.step_count < kStepsToLearn || goes_by_profiler_steps();
  if (std::exchange(hears_spans_, are_needed) != are_needed) parts_.hear_spans(are_needed);
}

// A step lasts from end to end, so that no time lies between two of them.
void Controller::end_step(std::string_view name, TimeNs end_ns) {
  const bool names_itself = name.starts_with(kProfilerStep);
  const std::int64_t number = step_number_of(name).value_or(next_number_);
  // The program's own ProfilerStep is in the file already, as a span of its own.
  if (!names_itself && status_.window_is_open && last_end_ns_ != 0 && last_end_ns_ <= end_ns) {
    parts_.write_step(number, last_end_ns_, end_ns);
  }
  last_end_ns_ = end_ns;
  next_number_ = number + 1;
  const bool is_first = ++status_.step_count == 1;
  if (action_ != ProfilerAction::kWarmup) choose_spans();
  const auto window_count = status_.window_count;
  if (schedule_ && !is_paused_) go_to(schedule_->action(++next_position_));
  run_request();
  // What opening took is between two steps: a window's first begins once its recording has begun.
  if (status_.window_count != window_count) last_end_ns_ = std::max(last_end_ns_, parts_.now());
  if (is_first) publish();
}

// From the action of the step that ended to that of the step that begins.
void Controller::go_to(ProfilerAction next) {
  for (const ProfilerOperation operation : transition(action_, next)) {
    switch (operation) {
      case ProfilerOperation::kPrepare:
        parts_.prepare_window();
        break;
      case ProfilerOperation::kStart:
        open(status_.step_count == 0 ? 0 : next_number_);
        break;
      case ProfilerOperation::kStop:
        close(next_number_ - 1);
        break;
      case ProfilerOperation::kWarn:  // schedules of text make none
      case ProfilerOperation::kTraceReady:
        break;
    }
  }
  action_ = next;
}

void Controller::open(std::int64_t first_step) {
  if (status_.window_is_open || !parts_.open_window(first_step)) return;
  status_.window_is_open = true;
  ++status_.window_count;
  publish();
}

void Controller::close(std::int64_t last_step) {
  if (!status_.window_is_open) return;
  (void)parts_.close_window(status_.step_count == 0 ? -1 : last_step);
  status_.window_is_open = false;
  publish();
}

void Controller::request(Request request, std::string_view who, const char* what) {
  if (is_stopped_) return;
  request_.store(request, std::memory_order_relaxed);
  parts_.remark(std::string(what) + " was asked for by " + std::string(who));
}

void Controller::request_start(std::string_view who) {
  const std::lock_guard lock(mutex_);
  request(Request::kStart, who, "a start");
}

void Controller::request_stop(std::string_view who) {
  const std::lock_guard lock(mutex_);
  request(Request::kStop, who, "a stop");
}

void Controller::request_toggle(std::string_view who) {
  const std::lock_guard lock(mutex_);
  if (status_.window_is_open) {
    request(Request::kStop, who, "a stop");
  } else {
    request(Request::kStart, who, "a start");
  }
}

void Controller::run_requests() {
  const std::lock_guard lock(mutex_);
  run_request();
}

void Controller::run_request() {
  const Request request = request_.exchange(Request::kNone, std::memory_order_relaxed);
  if (request == Request::kNone || is_stopped_) return;
  if (request == Request::kStop) {
    is_paused_ = true;
    if (std::exchange(action_, ProfilerAction::kNone) == ProfilerAction::kWarmup) parts_.cancel_window();
    close(next_number_ - 1);
  } else if (is_paused_ && schedule_) {
    is_paused_ = false;
    next_position_ = 0;  // the schedule counts from here
    go_to(schedule_->action(0));
  } else {
    is_paused_ = false;
    open(status_.step_count == 0 ? -1 : next_number_);
  }
  publish();
}

AgentStatus Controller::status() const {
  const std::lock_guard lock(mutex_);
  AgentStatus status = status_;
  status.is_paused = is_paused_;
  return status;
}

void Controller::publish() {
  AgentStatus status = status_;
  status.is_paused = is_paused_;
  parts_.publish(status);
}

}  // namespace stepscope::agent
