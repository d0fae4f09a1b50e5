// Packets of a Perfetto trace: slices, instants and counters on tracks, with strings kept once.
//
// A file is one sequence of packets; each name, category and argument is written where it is first used and from then
// on is a number (interned data). Field numbers: perfetto/trace/trace_packet.proto and track_event/*.proto.
//
//   Trace { packet = 1 }
//   TracePacket { track_event 11, interned_data 12, sequence_flags 13, trusted_packet_sequence_id 10, timestamp 8,
//                 track_descriptor 60, clock_snapshot 6 }
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "export/proto_writer.h"
#include "export/text_buffer.h"
#include "trace/trace.h"

namespace stepscope {

struct TrackId {
  std::uint64_t uuid = 0;
};

// What a track is, as far as it is known; `pid`, `tid`: 0 for none (Perfetto gives 0 a meaning of its own).
struct TrackDescription {
  TrackId id, parent;  // parent 0: none
  std::string_view name;
  std::int32_t pid = 0, tid = 0;
  std::string_view labels;
  bool is_counter = false, is_bytes = false;
  std::int32_t rank = 0;  // among its parent's tracks
};

enum class SliceCategory : std::uint8_t {
  kSpan,
  kFrame,
  kOp,
  kRuntimeCall,
  kDriverCall,
  kKernel,
  kCopy,
  kSet,
  kGpuSpan,
  kSync,
  kEventMark,
  kOther,
};

enum class ArgumentName : std::uint8_t {
  kExternalId,
  kSequence,
  kForwardThread,
  kShapes,
  kTypes,
  kConcreteInputs,
  kCallStack,
  kCorrelation,
  kGrid,
  kBlock,
  kRegisters,
  kSharedBytes,
  kOccupancy,
  kBytes,
  kGraphId,
  kOperator,
  kCollective,
  kDtype,
  kGroup,
  kGroupRanks,
  kGroupSize,
  kInCount,
  kOutCount,
  kStepNumber,
  kFault,
  kCategory,
  kFlops,
};
inline constexpr std::size_t kArgumentNameCount = 27;

class PerfettoPackets {
 public:
  // `origin_ns` is added to every time; times before it count as 0.
  PerfettoPackets(const Trace& trace, TextBuffer& out, std::int64_t origin_ns);

  void put_clock(TimeNs time_ns);
  void put_track(const TrackDescription& track);

  // A slice's begin: begin_slice, then arguments and flows, then end_packet.
  void begin_slice(TrackId track, TimeNs time_ns, SliceCategory category, StringId name);
  void begin_instant(TrackId track, TimeNs time_ns, SliceCategory category, StringId name);
  void put_argument(ArgumentName name, MaybeInt number);
  void put_argument(ArgumentName name, StringId text);
  void put_argument(ArgumentName name, std::string_view text);
  void put_flow_start(std::uint64_t flow) { event_.put_fixed64(47, flow); }
  void put_flow_end(std::uint64_t flow) { event_.put_fixed64(48, flow); }
  void end_packet();

  void put_slice_end(TrackId track, TimeNs time_ns);
  void put_counter(TrackId track, TimeNs time_ns, std::int64_t value);
  void put_counter(TrackId track, TimeNs time_ns, double value);

  [[nodiscard]] bool failed() const { return out_.failed(); }

 private:
  void begin_event(TrackId track, TimeNs time_ns, std::uint64_t type);
  void begin_argument(ArgumentName name);
  void put_packet(const ProtoMessage& packet);
  std::uint64_t number_of_name(StringId name);
  std::uint64_t number_of_text(StringId text);
  std::string_view utf8(std::string_view text);

  const Trace& trace_;
  TextBuffer& out_;
  std::int64_t origin_ns_;
  std::vector<std::uint8_t> known_;  // by string: 1 written as a name, 2 as a text
  std::array<bool, kArgumentNameCount> known_arguments_{};
  std::array<bool, 16> known_categories_{};
  ProtoMessage packet_, event_, argument_, interned_, entry_, frame_;
  std::string scratch_;
};

}  // namespace stepscope
