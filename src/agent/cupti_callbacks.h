// Calls of CUDA's runtime and driver as the program makes them: which ones are watched, and what is noted at each.
//
// Only launches, graph launches, copies, sets, synchronizations and allocations: watching every call makes 5,300 events
// a step where 370 kernels run, and costs a fifth of a host-bound step. They are chosen by name when the agent
// attaches, so that new variants (`_v13000`, `_ptsz`) need no new list.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "agent/cupti_table.h"
#include "agent/ledger.h"
#include "capture/event_ring.h"
#include "capture/names.h"

namespace stepscope::agent {

// HookEvent::flags of a kCall.
inline constexpr std::uint16_t kCallClassMask = 0x0F;
inline constexpr std::uint16_t kCallFailed = 0x10;    // it returned an error: no record will come
inline constexpr std::uint16_t kCallCaptured = 0x20;  // it went into a graph that is being captured
inline constexpr std::uint16_t kCallRecorded = 0x40;  // device records were on from its entry to its exit

struct WatchedCall {
  CuptiDomain domain;
  std::uint32_t id;
};

// "cudaLaunchKernel_ptsz_v7000" -> "cudaLaunchKernel".
[[nodiscard]] std::string_view plain_call_name(std::string_view name);
// What kind of call it is, by its plain name; false: not watched.
[[nodiscard]] bool classify_call(std::string_view name, CallClass& kind);

// Operator and stack under which a graph's node came to be.
struct GraphNodeOrigin {
  std::uint64_t node = 0;
  std::uint64_t original_node = 0;  // 0: captured now, by the calling thread
  NameId op;
  std::uint32_t stack = 0;
};

// Fills the tables that the callback reads; what to enable. Once a process.
[[nodiscard]] std::vector<WatchedCall> choose_calls(const CuptiTable& table);
// A new window: calls that were under way when the last one ended are forgotten.
void begin_callback_round() noexcept;
// CUPTI's correlation numbers as captures have them. A rival that finalizes CUPTI (torch.profiler with
// TEARDOWN_CUPTI=1) makes it count from 1 again: after begin_new_numbers() they differ from those of earlier windows.
void begin_new_numbers() noexcept;
[[nodiscard]] std::uint32_t number_of(std::uint32_t correlation) noexcept;
// Are device records on? Told after they are and before they no longer are.
void set_records_on(bool are_on) noexcept;
void callback(void* user, CuptiDomain domain, std::uint32_t id, const void* data) noexcept;
// Worker: graph nodes since the last call, clones resolved.
[[nodiscard]] std::vector<GraphNodeOrigin> take_graph_nodes();
[[nodiscard]] std::uint64_t dropped_graph_node_count();
// Called once, by the callback, at the end of the first call that is watched: CUDA's runtime is up by then and has
// registered its own end.
extern std::atomic<void (*)()> on_first_call;
// Has a call that allocates or frees the stack of a thread without Python? Set with --memory and --stacks.
extern std::atomic<bool> takes_native_stacks;
// For tests and forked children: as if nothing had been seen.
void reset_callbacks(const CuptiTable* table, bool keeps_graph_nodes, bool keeps_mappings = false);

}  // namespace stepscope::agent
