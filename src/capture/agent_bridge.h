// What Stepscope's C++ library and its agent say to each other: two copies of our code in one process.
//
// The library is linked into the user's program, perhaps months before the agent of today was built, and the agent
// hides all its symbols. So they share no C++ type and no state: the agent exports one struct of function pointers by
// name (kAgentBridgeSymbol), the library hands over one of its own. Only plain C types, and rules that hold for all
// versions:
//
//   - `size_bytes`, `version` and `say` never move.
//   - Another `version` means another meaning: neither side calls anything but `say`, which puts the reason into the
//     agent's capture.
//   - Members are added at the end within a version: a larger struct is fine, a smaller one than known is refused.
//
// Times of spans are raw ticks of read_ticks() (capture/tick_clock.h), which both copies read from the same counter but
// map to ns since 1970 by themselves; whoever keeps a time maps it with its own mapping. A pair of readings taken at
// the same moment was rejected: it is off by the time between them, and drifts with the difference of the two rates.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stepscope::bridge {

inline constexpr std::uint32_t kVersion = 1;
inline constexpr const char* kAgentBridgeSymbol = "stepscope_agent_bridge";

// The library's half. Lives as long as its code is loaded.
struct Library {
  std::uint32_t size_bytes;
  std::uint32_t version;
  std::uint32_t tick_source;  // TickSource
  std::uint32_t reserved;
  // From any thread, also in a child while it is forked: an atomic store. 1: spans are to be told from now on.
  void (*set_heard)(int is_heard);
};

// ns = base_ns + ((ticks - base_ticks) * ns_per_tick_q40 >> 40)
struct Clock {
  std::uint64_t base_ticks;
  std::int64_t base_ns;
  std::uint64_t ns_per_tick_q40;
};

// A span that has ended.
struct Span {
  std::uint64_t handle;  // of open_span
  std::uint64_t start_ticks;
  std::uint64_t end_ticks;
  std::int64_t thread_id;  // where it began; 0: here
  std::uint32_t is_async;
  std::uint32_t is_operator;
};

struct Allocation {
  std::uint64_t ticks;
  std::uint64_t address;
  std::int64_t bytes;
  std::int64_t total_allocated_bytes;  // -1: unknown
  std::int64_t total_reserved_bytes;
  std::int32_t is_cuda;
  std::int32_t device_number;  // -1: unknown
};

// Records of the GPU as the agent hands them to a session. Times are on the agent's clock; texts are good during the
// call only; -1: missing.
struct GpuDevice {
  std::int64_t number, memory_bytes, sm_count, compute_major, compute_minor;
  const char* name;
};
struct GpuCall {
  std::int64_t start_ns, end_ns, thread_id, correlation;
  const char* name;
};
enum class GpuWorkKind : std::uint32_t { kKernel, kCopy, kSet };
struct GpuWork {
  std::int64_t start_ns, end_ns, stream, correlation, bytes;
  const char* name;
  GpuWorkKind kind;
  std::int32_t device;
  std::int32_t grid[3];
  std::int32_t block[3];
  std::int32_t registers_count;
  std::int32_t shared_bytes;
};
struct GpuSink {
  void* context;
  void (*on_device)(void* context, const GpuDevice* device);
  void (*on_call)(void* context, const GpuCall* call);
  void (*on_work)(void* context, const GpuWork* work);
  void (*on_end)(void* context, std::uint64_t dropped_count);
};

enum class GpuAnswer : std::int32_t {
  kStarted,
  kNoCuda,  // the program has not loaded CUDA (yet)
  kBusy,    // the agent's own capture has the GPU
  kFailed,
};

// The agent's half. No function throws; texts that are handed in are copied.
struct Agent {
  std::uint32_t size_bytes;
  std::uint32_t version;
  // A sentence for whoever reads the agent's capture.
  void (*say)(const char* sentence);
  // 1: `library` will be told when to speak. 0: nothing is captured in this process, or refused (the reason is in the
  // capture). A library that is unloaded leaves first.
  int (*join)(const Library* library);
  void (*leave)(const Library* library);
  void (*read_clock)(Clock* clock);

  // At the beginning of a span; a handle for close_span, 0: need not be told of its end.
  std::uint64_t (*open_span)(const char* name, std::size_t name_bytes);
  void (*close_span)(const Span* span);
  void (*write_counter)(const char* name, std::size_t name_bytes, std::uint64_t ticks, double value);
  void (*write_allocation)(const Allocation* allocation);

  // The GPU for a session. One at a time; stop belongs to a start that gave kStarted. `needs_cuda`: only if the program
  // has loaded CUDA. `reason` gets the sentence that goes with kBusy and kFailed, cut to fit.
  GpuAnswer (*prepare_gpu)(int needs_cuda, char* reason, std::size_t reason_bytes);
  GpuAnswer (*start_gpu)(int needs_cuda, char* reason, std::size_t reason_bytes);
  // Waits until what was launched has its records (10 s at most), then hands all of them over.
  void (*stop_gpu)(const GpuSink* sink);
};

}  // namespace stepscope::bridge
