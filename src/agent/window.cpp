// Opening and closing, each on the caller's thread, so that the first and the last call of a step fall on the right
// side. Order: what is heard first is switched off last, so that no record comes without the call that made it.
#include <utility>

#include "agent/agent_state.h"
#include "agent/gpu.h"
#include "agent/own_overhead.h"
#include "agent/parts.h"
#include "capture/event_ring.h"

namespace stepscope::agent {

void listen_between_windows(const AgentState& agent) noexcept {
  if (agent.options.graphs) {
    set_torch_detail(TorchDetail::kFull);
  } else {
    set_torch_detail(agent.hears_spans ? TorchDetail::kUserScopes : TorchDetail::kOff);
  }
}

namespace {

// Under the lock, while a window is open.
void start_gpu(AgentState& agent) {
  Gpu* const gpu = attached_gpu();
  if (gpu == nullptr || !agent.options.gpu || gpu->is_started()) return;
  (void)gpu->start();
  Worker* const worker = agent.worker.load();
  if (std::exchange(agent.described_gpu, gpu) != gpu && worker != nullptr) worker->describe_again();
}

}  // namespace

bool attach_wanted_gpu(const AgentState& agent) noexcept {
  if (attached_gpu() != nullptr) return true;
  if (!agent.wants_gpu || !attach_gpu(agent.options)) return false;
  end_before_newcomers();
  return true;
}

void join_open_window(AgentState& agent, bool has_cuda) noexcept try {
  const std::lock_guard lock(agent.window);
  if (has_cuda) agent.wants_gpu = true;
  if (!agent.window_is_open) return listen_between_windows(agent);
  const OwnOverhead overhead("began to record the GPU");
  set_torch_detail(TorchDetail::kFull);
  (void)attach_wanted_gpu(agent);
  start_gpu(agent);
} catch (...) {
  // The next window has the GPU.
}

void prepare_window() noexcept try {
  AgentState& agent = state();
  const std::lock_guard lock(agent.window);
  if (agent.is_disarmed || agent.window_is_open) return;
  if (!std::exchange(agent.is_warmed_up, true)) set_torch_detail(TorchDetail::kWarmUp);
  (void)attach_wanted_gpu(agent);
  static bool is_prepared = false;  // under the lock of the state that has the GPU: children of a fork have none
  Gpu* const gpu = attached_gpu();
  if (is_prepared || gpu == nullptr || !agent.options.gpu || agent.session_has_gpu) return;
  is_prepared = true;
  if (gpu->start()) gpu->stop();
} catch (...) {
  // The first window pays.
}

bool open_window(std::int64_t first_step) noexcept try {
  AgentState& agent = state();
  const std::lock_guard lock(agent.window);
  Worker* const worker = agent.worker.load();
  if (worker == nullptr || agent.is_disarmed || agent.window_is_open) return false;
  if (agent.session_has_gpu) {
    complain("a window was not opened: a profiling session of the program had the GPU");
    return false;
  }
  // Before the window, whose times shall hold no loading of ours.
  (void)attach_wanted_gpu(agent);
  agent.window_is_open = true;
  agent.window_first_step = first_step;
  agent.window_start_ns = now_ns();
  hook_events_on.store(true, std::memory_order_relaxed);
  const OwnOverhead overhead("began to record");
  set_torch_detail(TorchDetail::kFull);
  start_gpu(agent);
  worker->window_opened();
  return true;
} catch (...) {
  return false;
}

bool close_window(std::int64_t last_step) noexcept try {
  AgentState& agent = state();
  const std::lock_guard lock(agent.window);
  if (!agent.window_is_open) return false;
  const TimeNs end_ns = now_ns();
  if (Gpu* const gpu = attached_gpu(); gpu != nullptr) gpu->stop();
  listen_between_windows(agent);
  hook_events_on.store(false, std::memory_order_relaxed);
  agent.window_is_open = false;
  if (Worker* const worker = agent.worker.load(); worker != nullptr) {
    worker->window_closed({agent.window_start_ns, end_ns, agent.window_first_step, last_step});
  }
  return true;
} catch (...) {
  return false;
}

void cancel_window() noexcept try {
  AgentState& agent = state();
  const std::lock_guard lock(agent.window);
  if (!agent.window_is_open && !agent.is_disarmed) listen_between_windows(agent);
} catch (...) {
  // Operators are heard in vain until the next window has closed.
}

void hear_spans_between_windows(bool are_wanted) noexcept try {
  AgentState& agent = state();
  const std::lock_guard lock(agent.window);
  agent.hears_spans = are_wanted;
  if (!agent.window_is_open && !agent.is_disarmed) listen_between_windows(agent);
} catch (...) {
  // The next window's end sees to it.
}

bool is_window_open() noexcept { return state().window_is_open.load(std::memory_order_relaxed); }

}  // namespace stepscope::agent
