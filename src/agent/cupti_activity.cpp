// One small function a kind of record. Words for copies, sets and synchronizations are those of PyTorch's traces, so
// that a capture and a trace of the same run have the same names.
#include "agent/cupti_activity.h"

#include <cxxabi.h>

#include <array>
#include <cstdlib>
#include <memory>

#include "agent/cupti_callbacks.h"

namespace stepscope::agent {
namespace {

// Past it all are forgotten: a program that makes kernels without end (a JIT) would fill the memory.
constexpr std::size_t kMostNames = 100'000;

template <class Record>
const Record& as(const CuptiRecord& record) {
  return reinterpret_cast<const Record&>(record);
}

const char* copy_kind_name(std::uint8_t kind) {
  constexpr std::array<const char*, 11> kNames = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                                  "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
  return kind < kNames.size() ? kNames[kind] : kNames[0];
}

const char* memory_kind_name(int kind) {
  constexpr std::array<const char*, 8> kNames = {"Unknown", "Pageable", "Pinned",        "Device",
                                                 "Array",   "Managed",  "Device Static", "Managed Static"};
  return kind >= 0 && kind < static_cast<int>(kNames.size()) ? kNames[static_cast<std::size_t>(kind)] : kNames[0];
}

const char* sync_name(int type) {
  constexpr std::array<const char*, 5> kNames = {"Unknown", "Event Synchronize", "Stream Wait Event",
                                                 "Stream Synchronize", "Context Synchronize"};
  return type >= 0 && type < static_cast<int>(kNames.size()) ? kNames[static_cast<std::size_t>(type)] : kNames[0];
}

const char* overhead_name(int kind) {
  switch (kind) {
    case 1:
      return "Driver Compiler";
    case 1 << 16:
      return "Buffer Flush";
    case 2 << 16:
      return "Instrumentation";
    case 3 << 16:
      return "Resource";
    case 4 << 16:
      return "Runtime Triggered Module Loading";
    case 5 << 16:
      return "Lazy Function Loading";
    case 6 << 16:
      return "Command Buffer Full";
    case 7 << 16:
      return "Activity Buffer Request";
    case 8 << 16:
      return "UVM Activity Init";
    default:
      return "Unknown";
  }
}

// What all device work has, from the fields that the records share by name.
template <class Record>
WireGpuEvent event_of(const Record& record, WireGpuKind kind) {
  WireGpuEvent event;
  event.start_ns = static_cast<TimeNs>(record.start_ns);
  event.end_ns = static_cast<TimeNs>(record.end_ns);
  event.device = static_cast<std::int32_t>(record.device);
  event.stream = record.stream;
  event.correlation = number_of(record.correlation);
  event.kind = kind;
  if (record.graph != 0) {
    event.graph_id = record.graph;
    event.graph_node = static_cast<std::int64_t>(record.graph_node);
  }
  return event;
}

WireGpuEvent kernel_event(const CuptiKernelRecord& record) {
  WireGpuEvent event = event_of(record, WireGpuKind::kKernel);
  event.grid_x = record.grid_x;
  event.grid_y = record.grid_y;
  event.grid_z = record.grid_z;
  event.block_x = record.block_x;
  event.block_y = record.block_y;
  event.block_z = record.block_z;
  event.registers_count = record.registers_count;
  event.shared_bytes = record.static_shared_bytes + record.dynamic_shared_bytes;
  return event;
}

template <class Record>
WireGpuEvent copy_event(const Record& record, CaptureFile& file) {
  WireGpuEvent event = event_of(record, WireGpuKind::kCopy);
  event.bytes = static_cast<std::int64_t>(record.bytes);
  event.name =
      file.intern(std::string("Memcpy ") + copy_kind_name(record.copy_kind) + " (" +
                  memory_kind_name(record.source_kind) + " -> " + memory_kind_name(record.destination_kind) + ")");
  return event;
}

WireGpuEvent set_event(const CuptiMemsetRecord& record, CaptureFile& file) {
  WireGpuEvent event = event_of(record, WireGpuKind::kSet);
  event.bytes = static_cast<std::int64_t>(record.bytes);
  event.name = file.intern(std::string("Memset (") + memory_kind_name(record.memory_kind) + ")");
  return event;
}

WireSync sync_of(const CuptiSyncRecord& record, CaptureFile& file) {
  constexpr std::uint32_t kNoStream = 0xFFFFFFFF;
  WireSync sync;
  sync.start_ns = static_cast<TimeNs>(record.start_ns);
  sync.end_ns = static_cast<TimeNs>(record.end_ns);
  sync.stream = record.stream == kNoStream ? -1 : std::int64_t{record.stream};
  sync.name = file.intern(sync_name(record.type));
  sync.correlation = number_of(record.correlation);
  return sync;
}

WireOverhead overhead_of(const CuptiOverheadRecord& record, CaptureFile& file) {
  constexpr int kThread = 2;
  return {static_cast<TimeNs>(record.start_ns), static_cast<TimeNs>(record.end_ns),
          record.object_kind == kThread ? std::int64_t{record.thread} : 0,
          file.intern(overhead_name(record.overhead_kind))};
}

WireMemory memory_of(const CuptiMemoryRecord& record) {
  constexpr int kRelease = 2;
  constexpr int kDeviceMemory = 3;
  WireMemory memory;
  memory.time_ns = static_cast<TimeNs>(record.time_ns);
  memory.address = record.address;
  memory.bytes = static_cast<std::int64_t>(record.bytes);
  if (record.operation == kRelease) memory.bytes = -memory.bytes;
  memory.source = WireMemorySource::kCuda;
  memory.correlation = number_of(record.correlation);
  memory.is_async = record.is_async != 0;
  constexpr auto kLast = static_cast<int>(WireMemoryKind::kManagedStatic);
  if (record.memory_kind > 0 && record.memory_kind <= kLast) {
    memory.kind = static_cast<WireMemoryKind>(record.memory_kind);
  }
  const bool is_on_device = record.memory_kind >= kDeviceMemory;
  memory.device_type = is_on_device ? 1 : 0;
  memory.device_number = is_on_device ? static_cast<std::int32_t>(record.device) : -1;
  return memory;
}

}  // namespace

WireString ActivityWriter::kernel_name(CaptureFile& file, const char* name) {
  if (name == nullptr) return 0;
  if (last_id_ != 0 && last_name_ == name) return last_id_;
  if (readable_names_.size() > kMostNames) readable_names_.clear();
  auto [found, is_new] = readable_names_.try_emplace(name);
  if (is_new) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> readable(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                               &std::free);
    found->second = status == 0 && readable != nullptr ? readable.get() : name;
  }
  last_name_ = name;
  last_id_ = file.intern(found->second);
  return last_id_;
}

void ActivityWriter::write_event(const WireGpuEvent& event, CaptureFile& file, Ledger& ledger) {
  ledger.note_record(event.device, event.correlation, event.kind == WireGpuKind::kKernel, event.start_ns, event.end_ns);
  file.on(event);
}

void ActivityWriter::write(const CuptiRecord& record, CaptureFile& file, Ledger& ledger) {
  switch (record.kind) {
    case CuptiKind::kKernel:
    case CuptiKind::kConcurrentKernel: {
      WireGpuEvent event = kernel_event(as<CuptiKernelRecord>(record));
      event.name = kernel_name(file, as<CuptiKernelRecord>(record).name);
      return write_event(event, file, ledger);
    }
    case CuptiKind::kMemcpy:
      return write_event(copy_event(as<CuptiMemcpyRecord>(record), file), file, ledger);
    case CuptiKind::kMemcpyPeer:
      return write_event(copy_event(as<CuptiPeerCopyRecord>(record), file), file, ledger);
    case CuptiKind::kMemset:
      return write_event(set_event(as<CuptiMemsetRecord>(record), file), file, ledger);
    case CuptiKind::kSynchronization:
      return file.on(sync_of(as<CuptiSyncRecord>(record), file));
    case CuptiKind::kOverhead:
      return file.on(overhead_of(as<CuptiOverheadRecord>(record), file));
    case CuptiKind::kMemory:
      return file.on(memory_of(as<CuptiMemoryRecord>(record)));
  }
}

}  // namespace stepscope::agent
