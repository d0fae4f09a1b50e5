// The callback itself: at an entry the time, the operator and the stack; at the exit one event for the ring. A driver
// call inside a runtime call is the same launch seen twice, so only the outermost call of a thread is noted.
#include "agent/cupti_callbacks.h"

#include <array>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "agent/keep.h"
#include "agent/native_stacks.h"
#include "agent/parts.h"

namespace stepscope::agent {
namespace {

constexpr std::uint32_t kMostIds = 2048;  // 807 driver calls in CUDA 13.0
constexpr std::size_t kMostGraphNodes = 1'000'000;

// Calls of the driver that map memory: CUPTI has no record of what they do.
enum class MappingCall : std::uint8_t { kNone, kCreate, kMap, kUnmap };

struct CallInfo {
  NameId name;
  CallClass kind = CallClass::kOther;
  MappingCall mapping = MappingCall::kNone;
};
struct Calls {
  std::array<CallInfo, kMostIds> driver, runtime;
};
Calls& calls() {
  static auto* const one = new Calls;
  return *one;
}

// The outermost call of this thread that is under way.
struct OpenCall {
  std::uint32_t round = 0;
  std::uint32_t depth = 0;
  std::uint32_t correlation = 0;
  std::uint32_t stack = 0;
  TimeNs start_ns = 0;
  NameId op;
  bool is_captured = false;
  bool is_recorded = false;
};
constinit thread_local OpenCall open_call __attribute__((tls_model("initial-exec")));
constinit std::atomic<std::uint32_t> current_round{1};
constinit std::atomic<bool> records_on{false};
constinit std::atomic<std::uint32_t> first_number{0};

struct GraphNodes {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, GraphNodeOrigin> origins;  // of nodes seen, to resolve their clones
  std::vector<GraphNodeOrigin> fresh;
  std::uint64_t dropped_count = 0;
};
// Device of each handle of physical memory, told when it is made and asked for when it is mapped.
struct MappedMemory {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, int> device_of_handle;
};
constinit std::atomic<MappedMemory*> mapped_memory{nullptr};  // nullptr: allocations are not asked for

constinit std::atomic<GraphNodes*> graph_nodes{nullptr};
constinit std::atomic<const CuptiTable*> used_table{nullptr};

void note_entry(const CallInfo& info, const CuptiCallbackData& data) noexcept {
  OpenCall& call = open_call;
  const std::uint32_t round = current_round.load(std::memory_order_relaxed);
  if (call.round != round) {
    call = {};
    call.round = round;
  }
  if (call.depth++ != 0) return;
  call.correlation = number_of(data.correlation);
  call.is_captured = false;
  call.is_recorded = records_on.load(std::memory_order_relaxed);
  call.op = innermost_op();
  call.stack = python_stack_now();
  const bool is_allocation = info.kind == CallClass::kOther;
  if (call.stack == 0 && is_allocation && takes_native_stacks.load(std::memory_order_relaxed)) [[unlikely]] {
    call.stack = native_stack_now();
  }
  call.start_ns = now_ns();
}

// At the call's start, when its stack holds.
void emit_mapping(const OpenCall& call, std::uint64_t address, std::size_t size, bool is_release, int device) {
  HookEvent event;
  event.kind = HookEventKind::kDeviceMemory;
  event.start_ns = call.start_ns;
  event.a = address;
  event.b = is_release ? std::uint64_t{0} - size : std::uint64_t{size};
  event.c = call.correlation;
  event.detail = static_cast<std::uint32_t>(WireMemoryKind::kMapped);
  event.flags = static_cast<std::uint16_t>(device + 1);
  emit_event(event);
}

// A call that succeeded. These are rare (a segment of an allocator grows), so that a lock costs nothing.
void note_mapping(MappingCall what, const CuptiCallbackData& data) noexcept try {
  constexpr std::size_t kMostHandles = 1'000'000;
  constexpr int kDevice = 1;
  MappedMemory* const memory = mapped_memory.load(std::memory_order_acquire);
  if (memory == nullptr || data.parameters == nullptr) return;
  const std::lock_guard lock(memory->mutex);
  if (what == MappingCall::kCreate) {
    const auto& made = *static_cast<const CudaMemCreate*>(data.parameters);
    if (made.handle == nullptr || made.properties == nullptr || made.properties->location.type != kDevice) return;
    if (memory->device_of_handle.size() >= kMostHandles) memory->device_of_handle.clear();
    memory->device_of_handle[*made.handle] = made.properties->location.number;
  } else if (what == MappingCall::kMap) {
    const auto& map = *static_cast<const CudaMemMap*>(data.parameters);
    const auto made = memory->device_of_handle.find(map.handle);
    // One that was not seen being made may lie on the host.
    if (made != memory->device_of_handle.end()) emit_mapping(open_call, map.address, map.bytes, false, made->second);
  } else {
    const auto& unmap = *static_cast<const CudaMemUnmap*>(data.parameters);
    emit_mapping(open_call, unmap.address, unmap.bytes, true, -1);
  }
} catch (...) {
  // No memory for a handle: its mapping goes without.
}

void note_exit(const CallInfo& info, const CuptiCallbackData& data) noexcept {
  OpenCall& call = open_call;
  // Callbacks were switched on inside this call: its entry was not seen.
  if (call.round != current_round.load(std::memory_order_relaxed) || call.depth == 0) return;
  if (--call.depth != 0) return;
  if (on_first_call.load(std::memory_order_relaxed) != nullptr) [[unlikely]] {
    if (void (*const tell)() = on_first_call.exchange(nullptr)) tell();
  }
  HookEvent event;
  event.kind = HookEventKind::kCall;
  event.start_ns = call.start_ns;
  event.end_ns = now_ns();
  event.a = call.correlation;
  event.b = call.op.has_value() ? call.op.value : 0;
  event.name = info.name;
  event.stack = call.stack;
  event.flags = static_cast<std::uint16_t>(info.kind);
  if (call.is_captured) event.flags |= kCallCaptured;
  if (call.is_recorded && records_on.load(std::memory_order_relaxed)) event.flags |= kCallRecorded;
  const auto* const returned = static_cast<const int*>(data.return_value);
  if (returned != nullptr && *returned != 0) event.flags |= kCallFailed;
  emit_event(event);
  if (info.mapping != MappingCall::kNone && (event.flags & kCallFailed) == 0) [[unlikely]] {
    note_mapping(info.mapping, data);
  }
}

void keep_node(const GraphNodeOrigin& origin) noexcept try {
  GraphNodes* const nodes = graph_nodes.load(std::memory_order_acquire);
  if (nodes == nullptr) return;
  const std::lock_guard lock(nodes->mutex);
  GraphNodeOrigin known = origin;
  if (origin.original_node != 0) {
    const auto found = nodes->origins.find(origin.original_node);
    if (found == nodes->origins.end()) return;
    known.op = found->second.op;
    known.stack = found->second.stack;
  }
  if (nodes->origins.size() >= kMostGraphNodes) {
    ++nodes->dropped_count;
    return;
  }
  nodes->origins[known.node] = known;
  nodes->fresh.push_back(known);
} catch (...) {
  // No memory for a name of a node: its kernels go without.
}

void note_graph_node(std::uint32_t id, const CuptiResourceData& data) noexcept {
  const auto* const graph = static_cast<const CuptiGraphData*>(data.descriptor);
  if (id == kGraphNodeCreated) open_call.is_captured = true;
  if (graph_nodes.load(std::memory_order_relaxed) == nullptr || graph == nullptr) return;
  const CuptiTable* const table = used_table.load(std::memory_order_acquire);
  if (table == nullptr || table->get_graph_node == nullptr) return;
  // No lock is held here: these are calls of CUPTI.
  GraphNodeOrigin origin;
  if (table->get_graph_node(graph->node, &origin.node) != kCuptiSuccess) return;
  if (id == kGraphNodeCloned) {
    if (table->get_graph_node(graph->original_node, &origin.original_node) != kCuptiSuccess) return;
  } else {
    origin.op = innermost_op();
    origin.stack = python_stack_now();
    if (origin.stack == 0) origin.stack = forward_stack_now();  // backward, on a thread without Python
  }
  keep_node(origin);
}

MappingCall mapping_call(std::string_view name) {
  return name == "cuMemCreate"  ? MappingCall::kCreate
         : name == "cuMemMap"   ? MappingCall::kMap
         : name == "cuMemUnmap" ? MappingCall::kUnmap
                                : MappingCall::kNone;
}

bool starts_with_one_of(std::string_view name, std::initializer_list<std::string_view> beginnings) {
  for (const std::string_view beginning : beginnings) {
    if (name.starts_with(beginning)) return true;
  }
  return false;
}

}  // namespace

constinit std::atomic<void (*)()> on_first_call{nullptr};
constinit std::atomic<bool> takes_native_stacks{false};

std::string_view plain_call_name(std::string_view name) {
  if (const std::size_t version = name.rfind("_v"); version != std::string_view::npos && version + 2 < name.size() &&
                                                    name.find_first_not_of("0123456789", version + 2) == name.npos) {
    name = name.substr(0, version);
  }
  for (const std::string_view variant : {"_ptsz", "_ptds"}) {
    if (name.ends_with(variant)) name.remove_suffix(variant.size());
  }
  return name;
}

bool classify_call(std::string_view name, CallClass& kind) {
  // cudaLaunchHostFunc runs no kernel; cudaMallocFromPool is an allocation like the others.
  if (name.starts_with("cudaLaunchHostFunc") || name.starts_with("cuLaunchHostFunc")) return false;
  const auto is = [&](CallClass which, std::initializer_list<std::string_view> beginnings) {
    kind = which;
    return starts_with_one_of(name, beginnings);
  };
  return is(CallClass::kLaunch, {"cudaLaunch", "cuLaunch"}) ||
         is(CallClass::kGraph, {"cudaGraphLaunch", "cuGraphLaunch"}) ||
         is(CallClass::kCopy, {"cudaMemcpy", "cuMemcpy", "cudaMemset", "cuMemset"}) ||
         is(CallClass::kSync,
            {"cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize", "cudaThreadSynchronize",
             "cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize"}) ||
         is(CallClass::kOther, {"cudaMalloc", "cudaFree", "cudaHostAlloc", "cuMemAlloc", "cuMemFree", "cuMemHostAlloc",
                                "cuMemCreate", "cuMemMap", "cuMemUnmap", "cuMemRelease"});
}

std::vector<WatchedCall> choose_calls(const CuptiTable& table) {
  std::vector<WatchedCall> watched;
  for (const CuptiDomain domain : {CuptiDomain::kDriver, CuptiDomain::kRuntime}) {
    auto& infos = domain == CuptiDomain::kDriver ? calls().driver : calls().runtime;
    for (std::uint32_t id = 1; id < kMostIds; ++id) {
      const char* name = nullptr;
      if (table.get_callback_name(domain, id, &name) != kCuptiSuccess || name == nullptr) continue;
      const std::string_view plain = plain_call_name(name);
      CallClass kind = CallClass::kOther;
      if (!classify_call(plain, kind)) continue;
      infos[id] = {intern_name(plain), kind, domain == CuptiDomain::kDriver ? mapping_call(plain) : MappingCall::kNone};
      watched.push_back({domain, id});
    }
  }
  return watched;
}

void begin_callback_round() noexcept { current_round.fetch_add(1, std::memory_order_relaxed); }

// The highest number so far would have to be kept at each launch; a process with more launches than this between two
// rivals is not expected, and only numbers of one capture must differ.
void begin_new_numbers() noexcept {
  constexpr std::uint32_t kApart = 1U << 28;
  first_number.fetch_add(kApart, std::memory_order_relaxed);
}
std::uint32_t number_of(std::uint32_t correlation) noexcept {
  return first_number.load(std::memory_order_relaxed) + correlation;
}

void set_records_on(bool are_on) noexcept { records_on.store(are_on, std::memory_order_relaxed); }

void callback(void*, CuptiDomain domain, std::uint32_t id, const void* data) noexcept {
  if (data == nullptr) return;
  if (domain == CuptiDomain::kResource) {
    if (id == kGraphNodeCreated || id == kGraphNodeCloned) {
      note_graph_node(id, *static_cast<const CuptiResourceData*>(data));
    }
    return;
  }
  if (id >= kMostIds || (domain != CuptiDomain::kDriver && domain != CuptiDomain::kRuntime)) return;
  const CallInfo& info = domain == CuptiDomain::kDriver ? calls().driver[id] : calls().runtime[id];
  const auto& call = *static_cast<const CuptiCallbackData*>(data);
  if (call.site == 0) {
    note_entry(info, call);
  } else {
    note_exit(info, call);
  }
}

std::vector<GraphNodeOrigin> take_graph_nodes() {
  GraphNodes* const nodes = graph_nodes.load(std::memory_order_acquire);
  if (nodes == nullptr) return {};
  const std::lock_guard lock(nodes->mutex);
  return std::exchange(nodes->fresh, {});
}

std::uint64_t dropped_graph_node_count() {
  GraphNodes* const nodes = graph_nodes.load(std::memory_order_acquire);
  if (nodes == nullptr) return 0;
  const std::lock_guard lock(nodes->mutex);
  return nodes->dropped_count;
}

void reset_callbacks(const CuptiTable* table, bool keeps_graph_nodes, bool keeps_mappings) {
  used_table.store(table, std::memory_order_release);
  begin_callback_round();
  // The old one stays: a callback may be in it.
  keep_forever(graph_nodes.exchange(keeps_graph_nodes ? new GraphNodes : nullptr));
  keep_forever(mapped_memory.exchange(keeps_mappings ? new MappedMemory : nullptr));
}

}  // namespace stepscope::agent
