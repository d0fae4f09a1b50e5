// Each packet is built from the inside: argument, event, packet.
#include "export/perfetto_packets.h"

#include <algorithm>

#include "export/json_text.h"

namespace stepscope {
namespace {

constexpr std::uint64_t kSequence = 1;
constexpr std::uint64_t kStateCleared = 1, kNeedsState = 2;  // SequenceFlags
constexpr std::uint64_t kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounter = 4;
constexpr std::uint64_t kRealtime = 1, kBoottime = 6;  // BuiltinClock
constexpr std::uint8_t kKnownName = 1, kKnownText = 2;

constexpr std::array<std::string_view, 12> kCategoryNames = {
    "user_annotation", "python_function",     "cpu_op",    "cuda_runtime", "cuda_driver", "kernel", "gpu_memcpy",
    "gpu_memset",      "gpu_user_annotation", "cuda_sync", "cuda_event",   "other"};

// Those of PyTorch's files where there is one.
constexpr std::array<std::string_view, kArgumentNameCount> kArgumentNames = {"External id",
                                                                             "Sequence number",
                                                                             "Fwd thread id",
                                                                             "Input Dims",
                                                                             "Input type",
                                                                             "Concrete Inputs",
                                                                             "Call stack",
                                                                             "correlation",
                                                                             "grid",
                                                                             "block",
                                                                             "registers per thread",
                                                                             "shared memory",
                                                                             "est. achieved occupancy %",
                                                                             "bytes",
                                                                             "graph id",
                                                                             "operator",
                                                                             "Collective name",
                                                                             "dtype",
                                                                             "Process Group Name",
                                                                             "Process Group Ranks",
                                                                             "Group size",
                                                                             "In msg nelems",
                                                                             "Out msg nelems",
                                                                             "step_num",
                                                                             "fault",
                                                                             "category",
                                                                             "flops"};

}  // namespace

PerfettoPackets::PerfettoPackets(const Trace& trace, TextBuffer& out, std::int64_t origin_ns)
    : trace_(trace), out_(out), origin_ns_(origin_ns), known_(trace.strings.size(), std::uint8_t{0}) {
  packet_.clear();
  packet_.put_integer(10, kSequence);
  packet_.put_integer(13, kStateCleared);
  put_packet(packet_);
}

// Names are hostile: a length of 10 MB is kept, broken UTF-8 is not.
std::string_view PerfettoPackets::utf8(std::string_view text) {
  scratch_.clear();
  append_valid_utf8(text, scratch_);
  return scratch_;
}

void PerfettoPackets::put_packet(const ProtoMessage& packet) {
  frame_.clear();
  frame_.put_bytes(1, packet.bytes());
  out_.put(frame_.bytes());
}

void PerfettoPackets::put_clock(TimeNs time_ns) {
  packet_.clear();
  event_.clear();
  for (const std::uint64_t clock : {kRealtime, kBoottime}) {
    entry_.clear();
    entry_.put_integer(1, clock);
    entry_.put_integer(2, static_cast<std::uint64_t>(std::max<std::int64_t>(time_ns + origin_ns_, 0)));
    event_.put_message(1, entry_);
  }
  packet_.put_message(6, event_);
  packet_.put_integer(10, kSequence);
  put_packet(packet_);
}

void PerfettoPackets::put_track(const TrackDescription& track) {
  constexpr std::uint64_t kExplicitOrder = 3;
  constexpr std::uint64_t kUnitBytes = 3;
  event_.clear();
  event_.put_integer(1, track.id.uuid);
  if (!track.name.empty()) event_.put_bytes(2, utf8(track.name));
  if (track.parent.uuid != 0) event_.put_integer(5, track.parent.uuid);
  if (track.pid != 0) {
    entry_.clear();
    entry_.put_integer(1, static_cast<std::uint64_t>(track.pid));
    if (track.tid != 0) {
      entry_.put_integer(2, static_cast<std::uint64_t>(track.tid));
      if (!track.name.empty()) entry_.put_bytes(5, utf8(track.name));
    } else {
      if (!track.name.empty()) entry_.put_bytes(6, utf8(track.name));
      if (!track.labels.empty()) entry_.put_bytes(8, utf8(track.labels));
    }
    event_.put_message(track.tid != 0 ? 4 : 3, entry_);
  }
  if (track.is_counter) {
    entry_.clear();
    if (track.is_bytes) entry_.put_integer(3, kUnitBytes);
    event_.put_message(8, entry_);
  }
  event_.put_integer(11, kExplicitOrder);
  if (track.rank != 0) event_.put_integer(12, static_cast<std::uint64_t>(track.rank));
  packet_.clear();
  packet_.put_integer(10, kSequence);
  packet_.put_message(60, event_);
  put_packet(packet_);
}

void PerfettoPackets::begin_event(TrackId track, TimeNs time_ns, std::uint64_t type) {
  packet_.clear();
  event_.clear();
  interned_.clear();
  packet_.put_integer(8, static_cast<std::uint64_t>(std::max<std::int64_t>(time_ns + origin_ns_, 0)));
  packet_.put_integer(10, kSequence);
  packet_.put_integer(13, kNeedsState);
  event_.put_integer(9, type);
  event_.put_integer(11, track.uuid);
}

void PerfettoPackets::end_packet() {
  if (!interned_.empty()) packet_.put_message(12, interned_);
  packet_.put_message(11, event_);
  put_packet(packet_);
}

// 0 is no number that Perfetto takes.
std::uint64_t PerfettoPackets::number_of_name(StringId name) {
  const std::uint64_t number = std::uint64_t{name.value} + 1;
  std::uint8_t& known = known_[name.value];
  if ((known & kKnownName) == 0) {
    known |= kKnownName;
    entry_.clear();
    entry_.put_integer(1, number);
    entry_.put_bytes(2, utf8(trace_.text(name)));
    interned_.put_message(2, entry_);
  }
  return number;
}

std::uint64_t PerfettoPackets::number_of_text(StringId text) {
  const std::uint64_t number = std::uint64_t{text.value} + 1;
  std::uint8_t& known = known_[text.value];
  if ((known & kKnownText) == 0) {
    known |= kKnownText;
    entry_.clear();
    entry_.put_integer(1, number);
    entry_.put_bytes(2, utf8(trace_.text(text)));
    interned_.put_message(29, entry_);
  }
  return number;
}

void PerfettoPackets::begin_slice(TrackId track, TimeNs time_ns, SliceCategory category, StringId name) {
  begin_event(track, time_ns, kSliceBegin);
  const auto at = static_cast<std::size_t>(category);
  if (!known_categories_[at]) {
    known_categories_[at] = true;
    entry_.clear();
    entry_.put_integer(1, at + 1);
    entry_.put_bytes(2, kCategoryNames[at]);
    interned_.put_message(1, entry_);
  }
  event_.put_integer(3, at + 1);
  event_.put_integer(10, number_of_name(name));
}

void PerfettoPackets::begin_instant(TrackId track, TimeNs time_ns, SliceCategory category, StringId name) {
  begin_slice(track, time_ns, category, name);
  event_.put_integer(9, kInstant);  // the last value of a field counts
}

void PerfettoPackets::begin_argument(ArgumentName name) {
  const auto at = static_cast<std::size_t>(name);
  if (!known_arguments_[at]) {
    known_arguments_[at] = true;
    entry_.clear();
    entry_.put_integer(1, at + 1);
    entry_.put_bytes(2, kArgumentNames[at]);
    interned_.put_message(3, entry_);
  }
  argument_.clear();
  argument_.put_integer(1, at + 1);
}

void PerfettoPackets::put_argument(ArgumentName name, MaybeInt number) {
  if (!number.has_value()) return;
  begin_argument(name);
  argument_.put_integer(4, static_cast<std::uint64_t>(number.value()));
  event_.put_message(4, argument_);
}

void PerfettoPackets::put_argument(ArgumentName name, StringId text) {
  if (text.empty()) return;
  begin_argument(name);
  argument_.put_integer(17, number_of_text(text));
  event_.put_message(4, argument_);
}

void PerfettoPackets::put_argument(ArgumentName name, std::string_view text) {
  begin_argument(name);
  argument_.put_bytes(6, text);
  event_.put_message(4, argument_);
}

void PerfettoPackets::put_slice_end(TrackId track, TimeNs time_ns) {
  begin_event(track, time_ns, kSliceEnd);
  end_packet();
}

void PerfettoPackets::put_counter(TrackId track, TimeNs time_ns, std::int64_t value) {
  begin_event(track, time_ns, kCounter);
  event_.put_integer(30, static_cast<std::uint64_t>(value));
  end_packet();
}

void PerfettoPackets::put_counter(TrackId track, TimeNs time_ns, double value) {
  begin_event(track, time_ns, kCounter);
  event_.put_real(44, value);
  end_packet();
}

}  // namespace stepscope
