// The decoder's side of layout.h. Any bytes are survived: numbers of threads, streams and shapes are checked against
// those seen, texts against what is left, and the memory used is a small multiple of the payload.
#include "wire/record_decoder.h"

#include <bit>

#include "wire/bytes.h"

namespace stepscope::wire {
namespace {

class Fields {
 public:
  Fields(std::string_view body, ChunkState& state) : in_(body), state_(state) {}

  [[nodiscard]] bool failed() const { return in_.failed(); }

  template <class Number>
  void number(Number& number) {
    narrow(in_.varint(), number);
  }
  template <class Number>
  void signed_number(Number& number) {
    narrow(from_zigzag(in_.varint()), number);
  }
  void maybe(MaybeInt& number) {
    std::int64_t value = 0;
    number = in_.maybe(value) ? MaybeInt(value) : MaybeInt();
  }
  void real(double& number) { number = std::bit_cast<double>(in_.fixed64()); }
  void text(std::string& text) { text = in_.raw(in_.varint()); }
  void rest(std::string_view& text) { text = in_.raw(in_.varint()); }
  template <class Enum>
  void enumeration(Enum& value, Enum last) {
    const std::uint64_t number = in_.varint();
    // A value of a newer version is taken as the first, which is the commonest.
    value = number <= static_cast<std::uint64_t>(last) ? static_cast<Enum>(number) : Enum{};
  }
  template <class... Bools>
  void flags(Bools&... flags) {
    const std::uint64_t bits = in_.varint();
    unsigned at = 0;
    ((flags = ((bits >> at++) & 1) != 0), ...);
  }

  template <class Number>
  void series(Series which, Number& number) {
    std::int64_t& last = state_.last[static_cast<std::size_t>(which)];
    last = sum(last, from_zigzag(in_.varint()));
    narrow(last, number);
  }

  void thread(std::int64_t& id) {
    const std::uint64_t number = in_.varint();
    if (number < state_.threads.size()) {
      state_.thread = static_cast<std::size_t>(number);
    } else if (number == state_.threads.size()) {
      state_.thread = state_.threads.size();
      state_.threads.push_back({.id = from_zigzag(in_.varint())});
    } else {
      fail();
    }
    id = memory_of_thread().id;
  }
  void host_times(TimeNs& start_ns, TimeNs& end_ns) {
    host_time(end_ns);
    start_ns = difference(end_ns, from_zigzag(in_.varint()));
  }
  void host_time(TimeNs& time_ns) {
    TimeNs& last_end_ns = memory_of_thread().last_end_ns;
    last_end_ns = sum(last_end_ns, from_zigzag(in_.varint()));
    time_ns = last_end_ns;
  }
  void thread_stack(WireStack& stack) { delta(memory_of_thread().last_stack, stack); }
  void thread_sequence(MaybeInt& sequence) { maybe_delta(memory_of_thread().last_sequence, sequence); }

  void stream(std::int32_t& device, std::int64_t& stream) {
    const std::uint64_t number = in_.varint();
    if (number < state_.streams.size()) {
      state_.stream = static_cast<std::size_t>(number);
    } else if (number == state_.streams.size()) {
      state_.stream = state_.streams.size();
      StreamMemory memory;
      memory.device = from_zigzag(in_.varint());
      memory.stream = from_zigzag(in_.varint());
      state_.streams.push_back(memory);
    } else {
      fail();
    }
    narrow(memory_of_stream().device, device);
    stream = memory_of_stream().stream;
  }
  void device_times(TimeNs& start_ns, TimeNs& end_ns) {
    TimeNs& last_end_ns = memory_of_stream().last_end_ns;
    start_ns = sum(last_end_ns, from_zigzag(in_.varint()));
    end_ns = last_end_ns = sum(start_ns, from_zigzag(in_.varint()));
  }
  void stream_correlation(std::uint32_t& correlation) { delta(memory_of_stream().last_correlation, correlation); }
  void stream_graph(MaybeInt& graph_id, MaybeInt& graph_node) {
    maybe_delta(memory_of_stream().last_graph_node, graph_node);
    maybe_delta(memory_of_stream().last_graph_id, graph_id);
  }
  void launch_shape(LaunchShape& shape) {
    const std::uint64_t number = in_.varint();
    if (number < state_.shapes.size()) {
      shape = state_.shapes[static_cast<std::size_t>(number)];
      return;
    }
    if (number > state_.shapes.size()) return fail();
    for (std::int32_t& each : shape.numbers) signed_number(each);
    state_.shapes.push_back(shape);
  }

 private:
  void fail() { in_.fail(); }
  // A number that its field cannot hold is malformed.
  template <class Wide, class Number>
  void narrow(Wide wide, Number& number) {
    number = static_cast<Number>(wide);
    if (static_cast<Wide>(number) != wide) fail();
  }
  // After fail() there may be none: then an empty one takes what nobody reads.
  ThreadMemory& memory_of_thread() { return in_.failed() ? no_thread_ : state_.threads[state_.thread]; }
  StreamMemory& memory_of_stream() { return in_.failed() ? no_stream_ : state_.streams[state_.stream]; }
  template <class Number>
  void delta(std::int64_t& last, Number& number) {
    last = sum(last, from_zigzag(in_.varint()));
    narrow(last, number);
  }
  void maybe_delta(std::int64_t& last, MaybeInt& number) {
    std::int64_t code = 0;
    number = MaybeInt();
    if (!in_.maybe(code)) return;
    last = sum(last, code);
    number = MaybeInt(last);
  }

  ByteReader in_;
  ChunkState& state_;
  ThreadMemory no_thread_;
  StreamMemory no_stream_;
};

template <class Record>
bool hand_over(std::string_view body, ChunkState& state, WireVisitor& visitor) {
  Record record;
  Fields fields(body, state);
  walk(fields, record);
  if (fields.failed()) return false;
  visitor.on(record);
  return true;
}

using HandOver = bool (*)(std::string_view, ChunkState&, WireVisitor&);
// By RecordKind.
constexpr HandOver kHandOver[] = {
    nullptr,
    hand_over<CaptureInfo>,
    hand_over<WireStringDefinition>,
    hand_over<WireFrameDefinition>,
    hand_over<WireStackDefinition>,
    hand_over<WireThread>,
    hand_over<WireDevice>,
    hand_over<WireOp>,
    hand_over<WireSpan>,
    hand_over<WireCall>,
    hand_over<WireGpuEvent>,
    hand_over<WireGraphNode>,
    hand_over<WireSync>,
    hand_over<WireOverhead>,
    hand_over<WireMemory>,
    hand_over<WireSample>,
    hand_over<WireCounter>,
    hand_over<WireWindow>,
    hand_over<WireLedger>,
    hand_over<WireRemark>,
    hand_over<WireEnd>,
    hand_over<WireMemoryLevel>,
};
static_assert(std::size(kHandOver) == kRecordKinds);

}  // namespace

DecodedPayload RecordDecoder::decode(std::string_view payload, WireVisitor& visitor) {
  DecodedPayload decoded;
  state_.clear();
  ByteReader in(payload);
  while (in.left() > 0) {
    const std::size_t begin = payload.size() - in.left();
    const auto kind = static_cast<std::uint8_t>(in.raw(1)[0]);
    const std::string_view body = in.raw(in.varint());
    const bool is_known = kind > 0 && kind < kRecordKinds;
    if (in.failed() || (is_known && !kHandOver[kind](body, state_, visitor))) {
      decoded.malformed_at = begin;
      break;
    }
    ++(is_known ? decoded.record_count : decoded.unknown_record_count);
  }
  return decoded;
}

}  // namespace stepscope::wire
