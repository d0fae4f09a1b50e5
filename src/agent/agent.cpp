// The agent's life: armed by whoever loads it, active once there is something to hear, over at the process's exit.
//
// A preloaded agent sits in every process that a command starts, shells and compilers too. So nothing is started before
// torch, CUDA or NVTX is there, and a process that uses none of them costs the reading of one environment variable.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include "agent/agent_state.h"
#include "agent/bridge.h"
#include "agent/gpu.h"
#include "agent/gpu_devices.h"
#include "agent/keep.h"
#include "agent/own_capture.h"
#include "agent/process_facts.h"
#include "agent/process_memory.h"
#include "agent/remarks.h"
#include "agent/session_gpu.h"
#include "agent/toggle_signal.h"
#include "agent/torch_hook.h"
#include "capture/event_ring.h"
#include "capture/recorder.h"

namespace stepscope::agent {
namespace {

// Of waiting for the worker at exit: its own limit for the device, and some for a slow disk.
constexpr DurationNs kFinishLimitNs = 20'000'000'000;

std::atomic<AgentState*>& place() {
  static auto* const one = new std::atomic<AgentState*>(new AgentState);
  return *one;
}
[[maybe_unused]] const std::atomic<AgentState*>& at_load = place();

CaptureInfo describe_capture() {
  CaptureInfo info = describe_process(options(), now_ns());
  info.python_version = python_version();
  info.torch_version = torch_version();
  add_cuda_versions(info);
  if (const Gpu* const gpu = attached_gpu(); gpu != nullptr) {
    info.records_gpu = true;
    info.cupti_version = gpu->version();
  }
  return info;
}

Result<std::unique_ptr<CaptureFile>> create_capture() {
  const CaptureInfo info = describe_capture();
  mkdir(options().directory.c_str(), 0777);  // one level; a failure shows at the file
  AgentState& agent = state();
  agent.capture_path = capture_path(options(), info);
  return CaptureFile::create(agent.capture_path, info, {.max_file_bytes = options().max_file_bytes});
}

void say_complaint(AgentState& agent) {
  const std::string line = complaint_line();
  if (line.empty() || agent.has_spoken) return;
  agent.has_spoken = true;
  const std::string text = line + "\n";
  // Not the program's stream: it may be locked, closed or gone by now.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

void register_end() {
  if (std::atexit(finish) != 0) remark("the process could not say when it ends: the capture's last second is missing");
}

// False: the environment asks for nothing, or for something that is not understood.
bool read_options(AgentState& agent) {
  if (agent.options_read) return agent.is_wanted;
  agent.options_read = true;
  const char* const text = std::getenv(kAgentOptionsVariable);
  if (text == nullptr) return false;
  Result<AgentOptions> parsed = parse_agent_options(text);
  if (!parsed) {
    complain(std::string("nothing is captured: ") + kAgentOptionsVariable + ": " + parsed.error().message);
    say_complaint(agent);
    return false;
  }
  agent.options = std::move(parsed.value());
  agent.is_wanted = true;
  watch_forks();
  if (agent.options.toggle_signal <= 64) catch_toggle_signal(static_cast<int>(agent.options.toggle_signal));
  return true;
}

bool is_cuda_for_us(const AgentState& agent, std::string_view who) { return who == "cuda" && agent.options.gpu; }

// What has appeared since the last call. True: there is something to hear.
bool attach_all(AgentState& agent, std::string_view who) {
  if (agent.options.stacks) (void)attach_python();
  const bool has_torch = attach_torch();
  const bool has_cuda = is_cuda_for_us(agent, who);
  if (has_cuda && !agent.is_active) agent.wants_gpu = true;
  // Graphs are captured at any time, windows or not, so their nodes are heard from the start; all else can wait.
  const bool has_gpu = has_cuda && (!agent.options.graphs || attach_gpu(agent.options));
  return has_torch || has_gpu || who == "nvtx" || who == "library" || agent.is_active;
}

bool arm_locked(AgentState& agent, std::string_view who) {
  if (agent.is_disarmed || who == "preload") return !agent.is_disarmed;
  // Also for the line that says why nothing could be attached.
  end_at_exit();
  if (!attach_all(agent, who)) return true;
  if (!agent.is_active) return activate(agent);
  join_open_window(agent, is_cuda_for_us(agent, who));
  return true;
}

}  // namespace

AgentState& state() noexcept { return *place().load(std::memory_order_acquire); }
const AgentOptions& options() noexcept { return state().options; }
TimeNs now_ns() noexcept { return recorder_now_ns(); }

// Handlers run in reverse, and ours must run before CUDA's, which takes the contexts down: CUPTI crashes after that. A
// runtime that is linked statically registers its own in its first call, after InitializeInjection; so ours is
// registered again at the end of that call, and once CUPTI is loaded. The first one to run does the work.
void end_at_exit() {
  static const bool is_registered = [] {
    register_end();
    on_first_call.store(register_end);
    return true;
  }();
  (void)is_registered;
}

void end_before_newcomers() { register_end(); }

bool arm(const char* who) noexcept {
  // Attaching runs code of the program (an operator, CUPTI), which may come back here.
  static thread_local bool is_arming = false;
  if (is_arming) return true;
  is_arming = true;
  bool is_armed = false;
  try {
    AgentState& agent = state();
    const std::lock_guard lock(agent.arming);
    is_armed = read_options(agent) && arm_locked(agent, who);
  } catch (...) {
    disarm();
  }
  is_arming = false;
  return is_armed;
}

bool arm_with(const AgentOptions& options) noexcept try {
  AgentState& agent = state();
  const std::lock_guard lock(agent.arming);
  agent.options = options;
  agent.options_read = agent.is_wanted = true;
  watch_forks();
  return activate(agent);
} catch (...) {
  return false;
}

bool begin_capture(std::string_view text, std::string& problem) noexcept try {
  Result<AgentOptions> options = parse_agent_options(text);
  if (!options) {
    problem = options.error().message;
    return false;
  }
  AgentState& before = state();
  const std::lock_guard lock(before.arming);
  if (before.is_active || (before.is_wanted && !before.is_own_capture)) {
    problem = before.is_own_capture ? "a capture is under way in this process already"
                                    : "this process is captured by stepscope run already";
    return false;
  }
  auto* const agent = new AgentState;
  agent->options = std::move(options.value());
  agent->options.start_paused = true;
  agent->options_read = agent->is_wanted = agent->is_own_capture = true;
  reset_remarks();
  keep_forever(place().exchange(agent));
  watch_forks();
  if (Gpu* const gpu = attached_gpu(); gpu != nullptr) gpu->leave_file();
  // What of an operator can be read is proven when the hook is attached.
  const AgentOptions& last = before.options;
  if (last.shapes != agent->options.shapes || last.stacks != agent->options.stacks) detach_torch();
  (void)attach_all(*agent, agent->options.gpu ? "cuda" : "library");
  if (activate(*agent)) return true;
  problem = complaint_line();
  return false;
} catch (...) {
  problem = "the process is out of memory";
  return false;
}

std::string end_capture(std::string& problem) noexcept try {
  AgentState& agent = state();
  if (!agent.is_own_capture || !agent.is_active) {
    problem = "no capture was begun";
    return "";
  }
  finish();
  set_torch_detail(TorchDetail::kOff);  // between captures nothing is heard, also where no window was opened
  if (agent.has_unfinished_worker) {
    problem = complaint_line();
    return "";
  }
  return agent.capture_path;
} catch (...) {
  return "";
}

bool activate(AgentState& agent) {
  set_ring_cap(agent.options.max_memory_bytes / 4);
  const bool asks_memory = agent.options.memory && agent.options.gpu;
  auto* const worker = new Worker({.create_file = create_capture,
                                   .describe = describe_capture,
                                   .describe_devices = write_devices,
                                   .disarm = disarm,
                                   .samples_stacks = agent.options.stacks && !python_version().empty(),
                                   .sample_memory = asks_memory ? sample_process_memory : nullptr});
  if (!worker->start()) {
    delete worker;
    complain("nothing is captured: no thread could be started");
    disarm();
    return false;
  }
  {
    const std::lock_guard lock(agent.forking);
    agent.worker.store(worker);
  }
  agent.is_active = true;
  end_at_exit();
  listen_between_windows(agent);
  start_controller();
  tell_libraries();
  return true;
}

void disarm() noexcept {
  state().is_disarmed = true;
  tell_libraries();
  (void)close_window(-1);
  set_torch_detail(TorchDetail::kOff);
}

void finish() noexcept try {
  AgentState& agent = state();
  end_session_gpu();
  if (!agent.is_active) return say_complaint(agent);
  agent.is_active = false;
  stop_controller();
  {
    // From here on nobody opens a window, so nobody holds the worker when it goes.
    const std::lock_guard lock(agent.window);
    agent.is_disarmed = true;
  }
  tell_libraries();
  (void)close_window(-1);
  Worker* worker = nullptr;
  {
    const std::lock_guard lock(agent.forking);
    worker = agent.worker.exchange(nullptr);
  }
  if (worker != nullptr) {
    if (worker->finish(kFinishLimitNs)) {
      delete worker;
    } else {
      agent.has_unfinished_worker = true;
      complain("the capture was not finished: the disk or the device did not answer in time");
    }
  }
  say_complaint(agent);
} catch (...) {
  // The process ends anyway.
}

void start_over_in_child() noexcept try {
  begin_process();
  forget_session_gpu();
  hook_events_on.store(false, std::memory_order_relaxed);
  const AgentState& parent = state();
  forget_gpu_in_child(parent.wants_gpu);
  reset_callbacks(nullptr, false);
  reset_remarks();
  auto* const child = new AgentState;
  // Only read: nobody of this process writes the options once they were read.
  child->options = parent.options;
  child->options_read = parent.options_read;
  child->is_wanted = parent.is_wanted;
  // A child of a process that records is its helper (a data loader's worker). One of a process that has not begun, a
  // launcher perhaps, may be the one that was meant.
  child->is_disarmed = parent.is_disarmed || (parent.is_active && !parent.options.follow_children);
  keep_forever(place().exchange(child));
  tell_libraries();
  forget_toggles_in_child();
  if (child->is_disarmed) return;
  allow_events_in_child();
  if (parent.is_active) activate(*child);
} catch (...) {
  // Without memory for a state of its own the child has none that records.
}

void forget_everything() {
  forget_libraries();
  forget_session_gpu();
  replace_gpu(nullptr);
  reset_callbacks(nullptr, false);
  reset_remarks();
  keep_forever(place().exchange(new AgentState));
}

}  // namespace stepscope::agent
