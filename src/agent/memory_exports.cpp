// What the memory part of the import hook (python/stepscope_memory.py) calls: it knows what PyTorch's allocator holds,
// and the agent has the file.
#include <bit>

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

// One line at the process's exit, and a remark of the capture.
STEPSCOPE_AGENT_EXPORT void stepscope_agent_complain(const char* sentence) noexcept {
  if (sentence != nullptr) stepscope::agent::complain(sentence);
}
