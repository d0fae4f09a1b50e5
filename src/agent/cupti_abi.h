// The part of CUPTI's binary interface that the agent uses, in our own words.
//
// The agent calls whatever libcupti the program brought (12 or 13) through pointers from dlsym, so it never links one
// and needs no header of one: building takes no CUDA toolkit. What stands here is fixed by CUPTI's promise of binary
// compatibility: functions keep their signatures, numbers their meaning, and a newer record has the older one as its
// beginning. Records are therefore read as prefixes that all versions since CUDA 12.0 share (kernel records 7 to 10).
// cupti_abi_test.cpp compares each number and offset with the real headers wherever they are installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stepscope::agent {

using CuptiResult = int;
inline constexpr CuptiResult kCuptiSuccess = 0;
inline constexpr CuptiResult kCuptiMaxLimitReached = 12;  // no more records in this buffer
inline constexpr CuptiResult kCuptiInsufficientPrivileges = 35;
inline constexpr CuptiResult kCuptiMultipleSubscribers = 39;
inline constexpr CuptiResult kCuptiVirtualPrivileges = 40;

enum class CuptiKind : int {
  kMemcpy = 1,
  kMemset = 2,
  kKernel = 3,
  kConcurrentKernel = 10,
  kOverhead = 17,
  kMemcpyPeer = 22,
  kSynchronization = 38,
  kMemory = 49,
};

enum class CuptiDomain : int { kDriver = 1, kRuntime = 2, kResource = 3 };
inline constexpr std::uint32_t kGraphNodeCreated = 13;
inline constexpr std::uint32_t kGraphNodeCloned = 20;
inline constexpr std::uint32_t kFlushForced = 1;

struct CuptiSubscriberData;
using CuptiSubscriber = CuptiSubscriberData*;
using CuptiContext = void*;
using CuptiGraphNode = void*;

struct CuptiSubscriberParams {
  std::size_t bytes = sizeof(CuptiSubscriberParams);
  const char* name = nullptr;
  char* rival_name = nullptr;  // filled when another tool has subscribed
  std::size_t rival_name_bytes = 0;
};

// What a callback of a runtime or driver call gets.
struct CuptiCallbackData {
  int site;  // 0 entry, 1 exit
  const char* function_name;
  const void* parameters;
  const void* return_value;  // of a call's exit: an int, 0 is success
  const char* symbol_name;
  CuptiContext context;
  std::uint32_t context_number;
  std::uint64_t* correlation_data;
  std::uint32_t correlation;
};
struct CuptiResourceData {
  CuptiContext context;
  void* handle;
  const void* descriptor;  // CuptiGraphData for graph nodes
};
struct CuptiGraphData {
  void* graph;
  void* original_graph;
  CuptiGraphNode node;
  CuptiGraphNode original_node;
};

// Records, as far as they are read.
struct CuptiRecord {
  CuptiKind kind;
};
struct CuptiKernelRecord {
  CuptiKind kind;
  std::uint8_t cache_config, shared_memory_config;
  std::uint16_t registers_count;
  int partitioned_cache_requested, partitioned_cache_executed;
  std::uint64_t start_ns, end_ns, completed_ns;
  std::uint32_t device, context, stream;
  std::int32_t grid_x, grid_y, grid_z, block_x, block_y, block_z;
  std::int32_t static_shared_bytes, dynamic_shared_bytes;
  std::uint32_t local_bytes_per_thread, local_bytes_total;
  std::uint32_t correlation;
  std::int64_t grid;
  const char* name;
  void* reserved;
  std::uint64_t queued_ns, submitted_ns;
  std::uint8_t launch_type, carveout_is_requested, carveout_requested, padding;
  std::uint32_t shared_executed_bytes;
  std::uint64_t graph_node;
  int shared_limit;
  std::uint32_t graph;
};
struct CuptiMemcpyRecord {
  CuptiKind kind;
  std::uint8_t copy_kind, source_kind, destination_kind, flags;
  std::uint64_t bytes;
  std::uint64_t start_ns, end_ns;
  std::uint32_t device, context, stream;
  std::uint32_t correlation, runtime_correlation, padding;
  void* reserved;
  std::uint64_t graph_node;
  std::uint32_t graph;
};
struct CuptiPeerCopyRecord {
  CuptiKind kind;
  std::uint8_t copy_kind, source_kind, destination_kind, flags;
  std::uint64_t bytes;
  std::uint64_t start_ns, end_ns;
  std::uint32_t device, context, stream;
  std::uint32_t source_device, source_context, destination_device, destination_context;
  std::uint32_t correlation;
  void* reserved;
  std::uint64_t graph_node;
  std::uint32_t graph;
};
struct CuptiMemsetRecord {
  CuptiKind kind;
  std::uint32_t value;
  std::uint64_t bytes;
  std::uint64_t start_ns, end_ns;
  std::uint32_t device, context, stream;
  std::uint32_t correlation;
  std::uint16_t flags, memory_kind;
  std::uint32_t padding;
  void* reserved;
  std::uint64_t graph_node;
  std::uint32_t graph;
};
struct CuptiSyncRecord {
  CuptiKind kind;
  int type;  // 1 event, 2 stream waits for event, 3 stream, 4 context
  std::uint64_t start_ns, end_ns;
  std::uint32_t correlation, context, stream, event;
};
struct CuptiOverheadRecord {
  CuptiKind kind;
  int overhead_kind;
  int object_kind;  // 2: a thread
  std::uint32_t process, thread, thread_padding;
  std::uint64_t start_ns, end_ns;
};
struct CuptiMemoryRecord {
  CuptiKind kind;
  int operation;    // 1 allocation, 2 release
  int memory_kind;  // 1 pageable, 2 pinned, 3 device, 4 array, 5 managed, ...
  std::uint32_t correlation;
  std::uint64_t address, bytes, time_ns, caller;
  std::uint32_t process, device, context, stream;
  const char* name;
  std::uint32_t is_async;
};

// Parameters of the driver's calls that map memory, as far as they are read (generated_cuda_meta.h, cuda.h).
struct CudaMemLocation {
  int type;  // 1: a device
  int number;
};
struct CudaMemProperties {
  int type, handle_types;
  CudaMemLocation location;
};
struct CudaMemCreate {
  const std::uint64_t* handle;
  std::size_t bytes;
  const CudaMemProperties* properties;
};
struct CudaMemMap {
  std::uint64_t address;
  std::size_t bytes, offset;
  std::uint64_t handle;
};
struct CudaMemUnmap {
  std::uint64_t address;
  std::size_t bytes;
};

using CuptiCallback = void (*)(void* user, CuptiDomain domain, std::uint32_t id, const void* data);
using CuptiBufferRequested = void (*)(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records);
using CuptiBufferCompleted = void (*)(CuptiContext context, std::uint32_t stream, std::uint8_t* buffer,
                                      std::size_t bytes, std::size_t valid_bytes);
using CuptiTimestamp = std::uint64_t (*)();

}  // namespace stepscope::agent
