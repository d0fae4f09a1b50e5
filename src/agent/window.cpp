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
  set_torch_detail(agent.options.graphs ? TorchDetail::kFull : TorchDetail::kUserScopes);
}

void prepare_window() noexcept try {
  AgentState& agent = state();
  const std::lock_guard lock(agent.window);
  if (agent.is_disarmed || agent.window_is_open) return;
  if (!std::exchange(agent.is_warmed_up, true)) set_torch_detail(TorchDetail::kWarmUp);
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
  agent.window_is_open = true;
  agent.window_first_step = first_step;
  agent.window_start_ns = now_ns();
  hook_events_on.store(true, std::memory_order_relaxed);
  const OwnOverhead overhead("began to record");
  set_torch_detail(TorchDetail::kFull);
  if (Gpu* const gpu = attached_gpu(); gpu != nullptr && agent.options.gpu) (void)gpu->start();
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

bool is_window_open() noexcept { return state().window_is_open.load(std::memory_order_relaxed); }

}  // namespace stepscope::agent
