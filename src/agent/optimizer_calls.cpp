// What is open lies in an array of the thread, outermost first. Steps end in the order of a stack, but for those that
// raised: they lie above the one that ends, or below the next that begins.
#include "agent/optimizer_calls.h"

#include <array>

#include "agent/agent_state.h"
#include "agent/parts.h"
#include "agent/thread_owned.h"
#include "agent/torch_hook.h"

#define STEPSCOPE_AGENT_EXPORT extern "C" __attribute__((visibility("default")))

namespace stepscope::agent {
namespace {

constexpr std::uint32_t kMostOpen = 16;  // deeper ones are not written

struct OpenStep {
  NameId name;
  std::uint64_t object = 0;
  TimeNs start_ns = 0;
  std::uint32_t stack = 0;
};
struct ThreadSteps {
  std::uint32_t count = 0;
  std::array<OpenStep, kMostOpen> open;
};

bool hears_steps() { return state().is_active && wants_optimizer_steps(); }

}  // namespace

bool wants_optimizer_steps() noexcept {
  const AgentState& agent = state();
  return agent.is_wanted && !agent.is_disarmed && agent.options.step_name.empty();
}

std::uint32_t begin_optimizer_step(const char* name, std::uint64_t object) noexcept try {
  if (name == nullptr || !hears_steps()) return 0;
  ThreadSteps* const thread = ThreadOwned<ThreadSteps>::get();
  if (thread == nullptr) return 0;
  const std::uint32_t count = thread->count;
  if (count == kMostOpen) return 0;
  OpenStep& open = thread->open[thread->count++];
  open.name = intern_name(name);
  open.object = object;
  open.stack = options().stacks ? python_stack_now(1) : 0;
  open.start_ns = now_ns();
  return count;
} catch (...) {
  return 0;
}

void keep_optimizer_steps(std::uint32_t count) noexcept {
  ThreadSteps* const thread = ThreadOwned<ThreadSteps>::find();
  if (thread == nullptr || thread->count == 0 || count >= thread->count - 1) return;
  thread->open[count] = thread->open[thread->count - 1];
  thread->count = count + 1;
}

void end_optimizer_step(std::uint64_t object) noexcept {
  const TimeNs end_ns = now_ns();
  ThreadSteps* const thread = ThreadOwned<ThreadSteps>::find();
  if (thread == nullptr) return;
  std::uint32_t left = thread->count;
  while (left != 0 && thread->open[left - 1].object != object) --left;
  if (left == 0) return;
  const OpenStep open = thread->open[left - 1];
  thread->count = left - 1;
  if (!hears_steps()) return;
  write_span_for_torch(open.name, open.start_ns, end_ns, open.stack);
  // Last: it may open or close a window.
  if (left == 1) note_optimizer_step(name_text(open.name), end_ns, open.stack, object);
}

}  // namespace stepscope::agent

// Called by the hooks, with the GIL.
STEPSCOPE_AGENT_EXPORT int stepscope_agent_wants_optimizer_steps() noexcept {
  return stepscope::agent::wants_optimizer_steps() ? 1 : 0;
}
STEPSCOPE_AGENT_EXPORT int stepscope_agent_begin_optimizer_step(const char* name, unsigned long long object) noexcept {
  return static_cast<int>(stepscope::agent::begin_optimizer_step(name, object));
}
STEPSCOPE_AGENT_EXPORT void stepscope_agent_keep_optimizer_steps(int count) noexcept {
  if (count >= 0) stepscope::agent::keep_optimizer_steps(static_cast<std::uint32_t>(count));
}
STEPSCOPE_AGENT_EXPORT void stepscope_agent_end_optimizer_step(unsigned long long object) noexcept {
  stepscope::agent::end_optimizer_step(object);
}
STEPSCOPE_AGENT_EXPORT void stepscope_agent_forget_optimizer(unsigned long long object) noexcept {
  stepscope::agent::forget_optimizer(object);
}
