// What each kind of record looks like in a payload: one description a kind, walked by the encoder and by the decoder.
//
// Written twice (once to write, once to read), the two drift apart; here a field is one line that both walk. A codec
// has one method a kind of field; fields are in the order of how often they are set, since zeros at the end of a record
// are not written. Times are differences from the last time of the same thread or stream, numbers from the last of
// their kind: what repeats a thousand times a step becomes small and alike, which zstd then halves.
//
//   record: kind (1 byte), length of the body (varint), body. A kind that a reader does not know is skipped by its
//   length; bytes behind the fields it knows are ignored; fields behind the end of the body are 0.
//
// Threads, streams and launch shapes are numbered anew in each chunk: number n (varint); where n is one more than the
// last, its key follows. So a chunk needs no other one, but for the definitions of strings and stacks.
#pragma once

#include "wire/records.h"

namespace stepscope::wire {

enum class RecordKind : std::uint8_t {
  kInfo = 1,
  kString,
  kFrame,
  kStack,
  kThread,
  kDevice,
  kOp,
  kSpan,
  kCall,
  kGpuEvent,
  kGraphNode,
  kSync,
  kOverhead,
  kMemory,
  kSample,
  kCounter,
  kWindow,
  kLedger,
  kRemark,
  kEnd,
  kMemoryLevel,  // since 1.1
};
inline constexpr std::uint8_t kRecordKinds = static_cast<std::uint8_t>(RecordKind::kMemoryLevel) + 1;

template <class Record>
inline constexpr RecordKind kKindOf = RecordKind{};
template <>
inline constexpr RecordKind kKindOf<CaptureInfo> = RecordKind::kInfo;
template <>
inline constexpr RecordKind kKindOf<WireStringDefinition> = RecordKind::kString;
template <>
inline constexpr RecordKind kKindOf<WireFrameDefinition> = RecordKind::kFrame;
template <>
inline constexpr RecordKind kKindOf<WireStackDefinition> = RecordKind::kStack;
template <>
inline constexpr RecordKind kKindOf<WireThread> = RecordKind::kThread;
template <>
inline constexpr RecordKind kKindOf<WireDevice> = RecordKind::kDevice;
template <>
inline constexpr RecordKind kKindOf<WireOp> = RecordKind::kOp;
template <>
inline constexpr RecordKind kKindOf<WireSpan> = RecordKind::kSpan;
template <>
inline constexpr RecordKind kKindOf<WireCall> = RecordKind::kCall;
template <>
inline constexpr RecordKind kKindOf<WireGpuEvent> = RecordKind::kGpuEvent;
template <>
inline constexpr RecordKind kKindOf<WireGraphNode> = RecordKind::kGraphNode;
template <>
inline constexpr RecordKind kKindOf<WireSync> = RecordKind::kSync;
template <>
inline constexpr RecordKind kKindOf<WireOverhead> = RecordKind::kOverhead;
template <>
inline constexpr RecordKind kKindOf<WireMemory> = RecordKind::kMemory;
template <>
inline constexpr RecordKind kKindOf<WireSample> = RecordKind::kSample;
template <>
inline constexpr RecordKind kKindOf<WireCounter> = RecordKind::kCounter;
template <>
inline constexpr RecordKind kKindOf<WireWindow> = RecordKind::kWindow;
template <>
inline constexpr RecordKind kKindOf<WireLedger> = RecordKind::kLedger;
template <>
inline constexpr RecordKind kKindOf<WireRemark> = RecordKind::kRemark;
template <>
inline constexpr RecordKind kKindOf<WireEnd> = RecordKind::kEnd;
template <>
inline constexpr RecordKind kKindOf<WireMemoryLevel> = RecordKind::kMemoryLevel;

// Numbers of which each record tells only how far it is from the last one of the chunk.
enum class Series : std::uint8_t { kString, kFrame, kStack, kCallCorrelation, kTime, kAddress, kGraphNode };
inline constexpr std::size_t kSeriesCount = static_cast<std::size_t>(Series::kGraphNode) + 1;

// Grid, block, registers and shared memory, which kernels of a name share.
struct LaunchShape {
  std::int32_t numbers[8] = {};
  bool operator==(const LaunchShape&) const = default;
};

template <class Codec>
void walk(Codec& c, CaptureInfo& r) {
  c.signed_number(r.process_id);
  c.signed_number(r.start_ns);
  c.text(r.host_name);
  c.text(r.command_line);
  c.text(r.python_version);
  c.text(r.torch_version);
  c.maybe(r.rank);
  c.maybe(r.world_size);
  c.maybe(r.local_rank);
  c.maybe(r.cuda_driver_version);
  c.maybe(r.cuda_runtime_version);
  c.maybe(r.cupti_version);
  c.flags(r.records_shapes, r.records_stacks, r.records_memory, r.records_graphs, r.records_gpu);
  c.text(r.working_directory);
  c.text(r.python_path);
  c.maybe(r.process_start_ns);
}
template <class Codec>
void walk(Codec& c, WireStringDefinition& r) {
  c.series(Series::kString, r.id);
  c.rest(r.text);
}
template <class Codec>
void walk(Codec& c, WireFrameDefinition& r) {
  c.series(Series::kFrame, r.id);
  c.number(r.file);
  c.number(r.function);
  c.number(r.line);
}
template <class Codec>
void walk(Codec& c, WireStackDefinition& r) {
  c.series(Series::kStack, r.id);
  c.number(r.frame);
  c.number(r.caller);
}
template <class Codec>
void walk(Codec& c, WireThread& r) {
  c.thread(r.thread_id);
  c.number(r.name);
}
template <class Codec>
void walk(Codec& c, WireDevice& r) {
  c.signed_number(r.number);
  c.number(r.name);
  c.maybe(r.memory_bytes);
  c.maybe(r.sm_count);
  c.maybe(r.compute_major);
  c.maybe(r.compute_minor);
}
template <class Codec>
void walk(Codec& c, WireOp& r) {
  c.thread(r.thread_id);
  c.host_times(r.start_ns, r.end_ns);
  c.number(r.name);
  c.thread_stack(r.stack);
  c.enumeration(r.scope, WireOpScope::kUser);
  c.thread_sequence(r.sequence);
  c.number(r.shapes);
  c.number(r.types);
  c.number(r.concrete_inputs);
  c.maybe(r.forward_thread);
}
template <class Codec>
void walk(Codec& c, WireSpan& r) {
  c.thread(r.thread_id);
  c.host_times(r.start_ns, r.end_ns);
  c.number(r.name);
  c.thread_stack(r.stack);
  c.enumeration(r.source, WireSpanSource::kStep);
  c.flags(r.is_async);
}
template <class Codec>
void walk(Codec& c, WireCall& r) {
  c.thread(r.thread_id);
  c.host_times(r.start_ns, r.end_ns);
  c.number(r.name);
  c.series(Series::kCallCorrelation, r.correlation);
  c.thread_stack(r.stack);
  c.number(r.op);
}
template <class Codec>
void walk(Codec& c, WireGpuEvent& r) {
  c.stream(r.device, r.stream);
  c.device_times(r.start_ns, r.end_ns);
  c.number(r.name);
  c.stream_correlation(r.correlation);
  LaunchShape shape{{r.grid_x, r.grid_y, r.grid_z, r.block_x, r.block_y, r.block_z, r.registers_count, r.shared_bytes}};
  c.launch_shape(shape);
  r.grid_x = shape.numbers[0], r.grid_y = shape.numbers[1], r.grid_z = shape.numbers[2];
  r.block_x = shape.numbers[3], r.block_y = shape.numbers[4], r.block_z = shape.numbers[5];
  r.registers_count = shape.numbers[6], r.shared_bytes = shape.numbers[7];
  c.enumeration(r.kind, WireGpuKind::kSet);
  c.maybe(r.bytes);
  c.stream_graph(r.graph_id, r.graph_node);
}
template <class Codec>
void walk(Codec& c, WireGraphNode& r) {
  c.series(Series::kGraphNode, r.graph_node);
  c.number(r.op);
  c.number(r.stack);
}
template <class Codec>
void walk(Codec& c, WireSync& r) {
  c.stream(r.device, r.stream);
  c.device_times(r.start_ns, r.end_ns);
  c.number(r.name);
  c.stream_correlation(r.correlation);
}
template <class Codec>
void walk(Codec& c, WireOverhead& r) {
  c.thread(r.thread_id);
  c.host_times(r.start_ns, r.end_ns);
  c.number(r.name);
}
template <class Codec>
void walk(Codec& c, WireMemory& r) {
  c.thread(r.thread_id);
  c.host_time(r.time_ns);
  c.series(Series::kAddress, r.address);
  c.signed_number(r.bytes);
  c.signed_number(r.device_number);
  c.signed_number(r.device_type);
  c.thread_stack(r.stack);
  c.maybe(r.total_allocated_bytes);
  c.maybe(r.total_reserved_bytes);
  c.enumeration(r.source, WireMemorySource::kCuda);
  c.number(r.correlation);
  c.enumeration(r.kind, WireMemoryKind::kMapped);
  c.flags(r.is_async);
}
template <class Codec>
void walk(Codec& c, WireSample& r) {
  c.thread(r.thread_id);
  c.host_time(r.time_ns);
  c.thread_stack(r.stack);
}
template <class Codec>
void walk(Codec& c, WireCounter& r) {
  c.series(Series::kTime, r.time_ns);
  c.number(r.name);
  c.real(r.value);
}
template <class Codec>
void walk(Codec& c, WireWindow& r) {
  c.series(Series::kTime, r.start_ns);
  c.series(Series::kTime, r.end_ns);
  c.signed_number(r.first_step);
  c.signed_number(r.last_step);
}
template <class Codec>
void walk(Codec& c, WireLedger& r) {
  c.signed_number(r.device);
  c.number(r.launch_count);
  c.number(r.gpu_event_count);
  c.number(r.unmatched_count);
  c.number(r.bad_time_count);
  c.number(r.dropped_by_cupti_count);
  c.number(r.dropped_by_cap_count);
  c.number(r.dropped_host_count);
}
template <class Codec>
void walk(Codec& c, WireRemark& r) {
  c.series(Series::kTime, r.time_ns);
  c.number(r.text);
}
template <class Codec>
void walk(Codec& c, WireEnd& r) {
  c.series(Series::kTime, r.time_ns);
  c.number(r.dropped_record_count);
}
// Whole numbers: a reader of 1.0 skips it and must not miss a difference.
template <class Codec>
void walk(Codec& c, WireMemoryLevel& r) {
  c.signed_number(r.time_ns);
  c.signed_number(r.thread_id);
  c.signed_number(r.device_number);
  c.enumeration(r.source, WireMemoryLevelSource::kNvml);
  c.maybe(r.allocated_bytes);
  c.maybe(r.reserved_bytes);
  c.maybe(r.allocated_peak_bytes);
  c.maybe(r.reserved_peak_bytes);
  c.maybe(r.process_bytes);
  c.maybe(r.device_used_bytes);
  c.maybe(r.device_total_bytes);
}

}  // namespace stepscope::wire
