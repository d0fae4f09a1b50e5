// What the memory part of the import hook (python/stepscope_memory.py) calls: it knows what PyTorch's allocator holds,
// and the agent has the file.
#include <bit>

#include "agent/own_overhead.h"
#include "agent/parts.h"
#include "capture/event_ring.h"

#define STEPSCOPE_AGENT_EXPORT extern "C" __attribute__((visibility("default")))

// Levels of a device's allocator at the end of a step, bytes; < 0: not known. 1: a window is open and they are in the
// capture. Any thread.
STEPSCOPE_AGENT_EXPORT int stepscope_agent_memory_level(int device, long long allocated, long long allocated_peak,
                                                        long long reserved, long long reserved_peak) noexcept {
  using namespace stepscope;
  if (device < 0 || device > 0xFFFF || !agent::is_window_open()) return 0;
  HookEvent event;
  event.kind = HookEventKind::kMemoryLevel;
  event.start_ns = agent::now_ns();
  event.end_ns = reserved_peak;
  event.a = std::bit_cast<std::uint64_t>(std::int64_t{allocated});
  event.b = std::bit_cast<std::uint64_t>(std::int64_t{allocated_peak});
  event.c = std::bit_cast<std::uint64_t>(std::int64_t{reserved});
  event.flags = static_cast<std::uint16_t>(device);
  emit_event(event);
  return 1;
}

// Around what makes the program wait for us, on the thread that waits: the time at which it began, to be handed back
// with what was done, as the rest of a sentence ("wrote a memory snapshot").
STEPSCOPE_AGENT_EXPORT long long stepscope_agent_begin_overhead() noexcept { return stepscope::agent::now_ns(); }
STEPSCOPE_AGENT_EXPORT void stepscope_agent_end_overhead(const char* what, long long start_ns) noexcept {
  if (what != nullptr) stepscope::agent::note_own_overhead(what, start_ns, stepscope::agent::now_ns());
}

// One line at the process's exit, and a remark of the capture.
STEPSCOPE_AGENT_EXPORT void stepscope_agent_complain(const char* sentence) noexcept {
  if (sentence != nullptr) stepscope::agent::complain(sentence);
}
