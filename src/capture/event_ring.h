// What hooks write while the user's program runs: fixed-size events in a ring of the thread, drained by the worker.
//
// One writer and one reader a ring, no lock, no allocation after the ring exists. A full ring drops the event and
// counts it: the program under measurement never waits for us.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/time.h"
#include "capture/names.h"

namespace stepscope {

enum class HookEventKind : std::uint16_t {
  kOp,          // a finished operator: name, scope in `flags` (WireOpScope), a = sequence + 1 (0 unknown), b = forward
                // thread + 1, detail
  kSpan,        // a finished range of NVTX or of our library: flags = WireSpanSource, kSpanIsAsync; c = thread where it
                // began (0: the one that writes)
  kCall,        // a finished runtime or driver call: a = correlation, b = NameId of the operator open at its entry or 0
  kAllocation,  // a = address, b = bytes (two's complement), c = total allocated, end_ns = total reserved, flags =
                // device type << 8 | device number + 1
  kSample,      // start_ns, stack, a = thread that was looked at (0: the one that writes)
  kCounter,     // a = bits of a double
  kStep,        // a = step number; name, start_ns, end_ns
  kMemoryLevel,   // PyTorch's allocator at the end of a step: a = allocated, b = its peak, c = reserved, end_ns = its
                  // peak, all two's complement and < 0 where not known; flags = device number
  kDeviceMemory,  // a call of CUDA that maps or unmaps memory: a = address, b = bytes (two's complement), c =
                  // correlation, flags = device number + 1 (0 unknown), detail = WireMemoryKind
  kOverhead,      // the writing thread waited for the agent: name, start_ns, end_ns
};
inline constexpr std::uint16_t kSpanSourceMask = 0x0F;
inline constexpr std::uint16_t kSpanIsAsync = 0x10;

struct HookEvent {
  TimeNs start_ns = 0;
  TimeNs end_ns = 0;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint64_t c = 0;
  NameId name;               // process-wide name (capture/names.h)
  std::uint32_t stack = 0;   // process-wide stack number of the agent's stack table; 0 none
  std::uint32_t detail = 0;  // NameId + 1 of up to three lines of JSON: shapes, types, concrete inputs; 0 none
  HookEventKind kind = HookEventKind::kOp;
  std::uint16_t flags = 0;
};
static_assert(sizeof(HookEvent) == 56);

// Off: emit_event does nothing but one relaxed load. Set by the agent when a window opens and closes.
extern std::atomic<bool> hook_events_on;

// Writes one event of the calling thread. Never blocks, never throws; drops and counts when the ring is full, when no
// ring could be had, or in a forked child.
void emit_event(const HookEvent& event) noexcept;

struct RingThread {
  std::int64_t thread_id = 0;
  std::string name;
};
// Hands all published events to `take`, thread by thread, in the order written; rings of ended threads are freed once
// empty. Called by one thread at a time.
void drain_events(const std::function<void(const RingThread&, std::span<const HookEvent>)>& take);
[[nodiscard]] std::uint64_t dropped_event_count();
// Bytes held by all rings.
[[nodiscard]] std::uint64_t ring_bytes();
// Cap for ring_bytes(); a thread that gets none drops.
void set_ring_cap(std::uint64_t bytes);
// A forked child writes nothing until it asks for rings of its own, in its only thread. What the parent had written and
// not drained is the parent's.
void allow_events_in_child();
// From now on forks are watched. Called before whoever allows a child its events watches them: handlers of a child are
// called in the order of their registering.
void watch_ring_forks();

}  // namespace stepscope
