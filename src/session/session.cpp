// The session: a counter of steps, the transitions that the schedule asks for, and who may do what at the same time.
//
// Two locks. `control` is held through start(), step() and stop(), the handler included, so that transitions never
// interleave; whoever calls one of them from inside a handler would wait for itself, so that is seen and refused. What
// can be asked of a session lies outside of it, so that handlers and watching threads may ask while a step ends.
// A handler outside the lock was rejected: two cycles' handlers could then run at once, and trace 2 end before trace 1.
#include "stepscope/session.h"

#include <unistd.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "capture/agent_link.h"
#include "capture/state_bits.h"
#include "capture/tick_clock.h"
#include "session/agent_source.h"
#include "session/cycle.h"
#include "session/recorded_trace.h"

namespace stepscope {
namespace {

// The process in which a session runs; 0: none. Not a flag, since a child made by fork() inherits the memory but not
// the session.
std::atomic<pid_t> session_process{0};

bool claim_process() {
  pid_t holder = session_process.load();
  while (holder != getpid()) {
    if (session_process.compare_exchange_weak(holder, getpid())) return true;
  }
  return false;
}

void release_process() {
  pid_t holder = getpid();
  session_process.compare_exchange_strong(holder, 0);
}

Error wrong(std::string sentence) { return {ErrorCode::kInvalidArgument, std::move(sentence), {}, {}}; }

// The user's code, which may throw, called where nothing may.
template <class Call>
auto guarded(const char* what, Call&& call) -> Result<decltype(call())> {
  try {
    return call();
  } catch (const std::exception& exception) {
    return wrong(std::string(what) + " threw: " + exception.what());
  } catch (...) {
    return wrong(std::string(what) + " threw");
  }
}

bool asks_for(const SessionOptions& options, Activity activity) {
  for (const Activity each : options.activities) {
    if (each == activity) return true;
  }
  return false;
}

enum class Phase : std::uint8_t { kNew, kRunning, kStopped };

}  // namespace

struct ProfilingSession::State {
  explicit State(SessionOptions given) : options(std::move(given)), problems(options.on_error, options.on_warning) {}

  const SessionOptions options;
  Problems problems;
  std::atomic<Phase> phase{Phase::kNew};
  std::atomic<std::int64_t> step_number{0};
  std::atomic<ProfilerAction> action{ProfilerAction::kNone};
  std::atomic<pid_t> process_id{0};
  std::atomic<std::int64_t> trace_count{0};
  const std::shared_ptr<WrittenFiles> files = std::make_shared<WrittenFiles>();

  std::mutex control;
  std::atomic<std::thread::id> controller{};  // the thread that holds `control`
  // Under `control`:
  RunIdentity identity;
  std::optional<Cycle> cycle;
  std::optional<CycleRecords> stopped;  // recorded, and not yet handed on
  std::optional<SessionStep> open_step;
  std::unique_ptr<DeviceSource> agent;  // when it is in the process and no other source is registered
  std::uint64_t agent_step_start_ticks = 0;

  std::mutex result_mutex;
  std::optional<RecordedTrace> last_trace;  // under result_mutex

  [[nodiscard]] bool is_alive() const { return phase == Phase::kRunning && process_id == getpid(); }

  Status start();
  void step();
  void stop();

  DeviceSource* find_device(bool by_default);
  Cycle make_cycle();
  ProfilerAction ask_schedule();
  Status go_to(ProfilerAction previous, std::optional<ProfilerAction> next);
  void open_next_step();
  void close_step();
  void tell_agent_of_step();
  void hand_over();
};

namespace {

// Holds a session's `control`, unless this thread holds it already.
template <class State>
class Control {
 public:
  explicit Control(State& state) : state_(state), is_mine_(state.controller != std::this_thread::get_id()) {
    if (!is_mine_) return;
    state_.control.lock();
    state_.controller = std::this_thread::get_id();
  }
  ~Control() {
    if (!is_mine_) return;
    state_.controller = std::thread::id();
    state_.control.unlock();
  }
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;
  explicit operator bool() const { return is_mine_; }

 private:
  State& state_;
  bool is_mine_;
};

}  // namespace

DeviceSource* ProfilingSession::State::find_device(bool by_default) {
  if (DeviceSource* const registered = registered_device_source()) return registered;
  agent = make_agent_source(!by_default, [this](const std::string& sentence) { problems.warn(sentence); });
  return agent.get();
}

Cycle ProfilingSession::State::make_cycle() {
  const bool by_default = options.activities.empty();
  CycleOptions made;
  made.cpu = by_default || asks_for(options, Activity::kCpu);
  if (by_default || asks_for(options, Activity::kCuda)) made.device = find_device(by_default);
  if (!by_default && made.device == nullptr && asks_for(options, Activity::kCuda)) {
    problems.warn(
        "CUDA is to be recorded, but nothing in this process can listen to a GPU (Stepscope's agent is not loaded; see "
        "load_agent): the trace will have no GPU rows");
  }
  made.recorder.max_bytes = options.max_bytes;
  made.recorder.record_shapes = options.record_shapes;
  made.recorder.record_memory = options.profile_memory;
  made.recorder.record_stacks = options.with_stack;
  made.recorder.record_flops = options.with_flops;
  return Cycle(made, problems);
}

ProfilerAction ProfilingSession::State::ask_schedule() {
  const auto answer = guarded("the schedule", [&] { return options.schedule.action(step_number); });
  if (answer) return *answer;
  problems.add(answer.error());
  return ProfilerAction::kNone;
}

Status ProfilingSession::State::start() {
  if (phase != Phase::kNew) return wrong("this session ran already: make a new one for another run");
  if (options.worker_name.find('/') != std::string::npos) {
    return wrong("worker_name `" + options.worker_name + "` names files and so cannot have a `/`");
  }
  if (!claim_process()) {
    return wrong("another profiling session runs in this process; there can be one at a time: stop() that one first");
  }
  process_id = getpid();
  identity = read_run_identity();
  for (const std::string& warning : identity.warnings) problems.warn(warning);
  for (const std::string& warning : options.schedule.warnings()) problems.warn(warning);
  cycle.emplace(make_cycle());
  phase = Phase::kRunning;
  action = ask_schedule();
  if (Status begun = go_to(ProfilerAction::kNone, action); !begun) {
    phase = Phase::kStopped;
    action = ProfilerAction::kNone;
    release_process();
    return begun;
  }
  open_next_step();
  agent_step_start_ticks = read_ticks();
  return Done{};
}

void ProfilingSession::State::step() {
  close_step();
  tell_agent_of_step();
  ++step_number;
  const ProfilerAction previous = action;
  action = ask_schedule();
  if (const Status gone = go_to(previous, action); !gone) problems.add(gone.error());
  open_next_step();
}

void ProfilingSession::State::stop() {
  open_step.reset();
  const ProfilerAction previous = action;
  if (const Status gone = go_to(previous, std::nullopt); !gone) problems.add(gone.error());
  phase = Phase::kStopped;
  action = ProfilerAction::kNone;
  release_process();
}

void ProfilingSession::State::open_next_step() {
  if (options.schedule.records_always() || !cycle->is_recording()) return;
  open_step = SessionStep{.number = step_number, .start_ns = recorder_now_ns(), .opened_by = gettid()};
}

void ProfilingSession::State::close_step() {
  if (!open_step) return;
  open_step->end_ns = recorder_now_ns();
  open_step->closed_by = gettid();
  cycle->add_step(*open_step);
  open_step.reset();
}

Status ProfilingSession::State::go_to(ProfilerAction previous, std::optional<ProfilerAction> next) {
  Status outcome = Done{};
  for (const ProfilerOperation operation : transition(previous, next)) {
    switch (operation) {
      case ProfilerOperation::kWarn:
        problems.warn(transition_warning(previous, next));
        break;
      case ProfilerOperation::kPrepare:
        cycle->prepare();
        break;
      case ProfilerOperation::kStart:
        outcome = cycle->start();
        break;
      case ProfilerOperation::kStop:
        if (cycle->is_recording()) stopped = cycle->stop();
        break;
      case ProfilerOperation::kTraceReady:
        hand_over();
        break;
    }
  }
  stopped.reset();
  return outcome;
}

// The agent's capture has the steps of the program whatever the session's own schedule says.
void ProfilingSession::State::tell_agent_of_step() {
  const std::uint64_t state = detail::load_recorder_state();
  if ((state & state_bits::kAgent) != 0 && (hear_agent(state) & state_bits::kHeard) != 0) {
    write_agent_step(step_number, agent_step_start_ticks);
  }
  agent_step_start_ticks = read_ticks();
}

void ProfilingSession::State::hand_over() {
  if (!stopped) return;  // it never started, which is among the errors
  const RecordedTraceOptions how{.flags = {.record_shapes = options.record_shapes,
                                           .profile_memory = options.profile_memory,
                                           .with_stack = options.with_stack,
                                           .with_flops = options.with_flops},
                                 .worker_name = options.worker_name};
  const RecordedTrace trace = make_recorded_trace(std::move(*stopped), identity, how, files);
  stopped.reset();
  if (trace.dropped_count() > 0) {
    problems.warn(std::to_string(trace.dropped_count()) +
                  " records did not fit into max_bytes = " + std::to_string(options.max_bytes) +
                  " or were lost by the GPU's source: trace " + std::to_string(trace_count + 1) + " is incomplete");
  }
  ++trace_count;
  if (!options.on_trace_ready) {
    const std::lock_guard lock(result_mutex);
    last_trace = trace;
    return;
  }
  const Result<Status> handled = guarded("the trace handler", [&] { return options.on_trace_ready(trace); });
  if (!handled) {
    problems.add(handled.error());
  } else if (!*handled) {
    problems.add(handled->error());
  }
}

ProfilingSession::ProfilingSession(SessionOptions options) : state_(std::make_unique<State>(std::move(options))) {}

ProfilingSession::~ProfilingSession() {
  if (const Status stopped = stop(); !stopped) return;  // told to on_error when it happened
}

Status ProfilingSession::start() {
  const Control control(*state_);
  if (!control) return wrong("start() was called from a callback of its own session");
  return state_->start();
}

void ProfilingSession::step() {
  if (!state_->is_alive()) {
    if (state_->phase != Phase::kRunning) state_->problems.warn("step() outside of start() and stop() does nothing");
    return;
  }
  const Control control(*state_);
  if (!control) return state_->problems.warn("step() was called from a callback of its own session and did nothing");
  if (state_->is_alive()) state_->step();
}

Status ProfilingSession::stop() {
  if (state_->is_alive()) {
    const Control control(*state_);
    if (!control) return wrong("stop() was called from a callback of its own session and did nothing");
    if (state_->is_alive()) state_->stop();
  }
  return state_->problems.status();
}

std::int64_t ProfilingSession::step_number() const { return state_->step_number; }
ProfilerAction ProfilingSession::action() const { return state_->action; }
std::int64_t ProfilingSession::trace_count() const { return state_->trace_count; }
std::vector<std::string> ProfilingSession::trace_files() const { return state_->files->paths(); }
std::vector<Error> ProfilingSession::errors() const { return state_->problems.errors(); }
std::vector<std::string> ProfilingSession::warnings() const { return state_->problems.warnings(); }
std::optional<RecordedTrace> ProfilingSession::last_trace() const {
  const std::lock_guard lock(state_->result_mutex);
  return state_->last_trace;
}

}  // namespace stepscope
