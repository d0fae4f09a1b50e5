// The encoder's side of layout.h.
#include "wire/record_encoder.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>

namespace stepscope::wire {

std::size_t RecordEncoder::ShapeHash::operator()(const LaunchShape& shape) const noexcept {
  return XXH3_64bits(shape.numbers, sizeof shape.numbers);
}

// Writes the fields of one record into body_.
class RecordEncoder::Fields {
 public:
  explicit Fields(RecordEncoder& encoder) : encoder_(encoder), out_(encoder.body_), state_(encoder.state_) {}

  void number(std::uint64_t number) { out_.varint(number); }
  void signed_number(std::int64_t number) { out_.varint(zigzag(number)); }
  void maybe(MaybeInt number) { out_.maybe(number.has_value(), number.raw); }
  // Zeros of a text are the text's own; all others at the end go.
  void cut_zeros() {
    std::string& body = out_.bytes();
    while (body.size() > kept_bytes_ && body.back() == 0) body.pop_back();
  }

  void real(double number) { out_.fixed64(std::bit_cast<std::uint64_t>(number)); }
  void text(const std::string& text) {
    const std::string_view cut = std::string_view(text).substr(0, kMostFieldBytes);
    rest(cut);
  }
  void rest(std::string_view text) {
    out_.varint(text.size());
    out_.raw(text);
    if (!text.empty()) kept_bytes_ = out_.bytes().size();
  }
  template <class Enum>
  void enumeration(Enum value, Enum) {
    out_.varint(static_cast<std::uint64_t>(value));
  }
  template <class... Bools>
  void flags(Bools... flags) {
    std::uint64_t bits = 0;
    unsigned at = 0;
    ((bits |= std::uint64_t{flags} << at++), ...);
    out_.varint(bits);
  }

  template <class Number>
  void series(Series which, Number number) {
    delta(state_.last[static_cast<std::size_t>(which)], static_cast<std::int64_t>(number));
  }

  void thread(std::int64_t id) {
    if (state_.thread >= state_.threads.size() || state_.threads[state_.thread].id != id) {
      const auto [at, is_new] = encoder_.thread_numbers_.try_emplace(id, state_.threads.size());
      state_.thread = at->second;
      if (is_new) {
        state_.threads.push_back({.id = id});
        out_.varint(state_.thread);
        return signed_number(id);
      }
    }
    out_.varint(state_.thread);
  }
  // Records of a host thread come when they end, so the end is what rises.
  void host_times(TimeNs start_ns, TimeNs end_ns) {
    delta(memory_of_thread().last_end_ns, end_ns);
    signed_number(difference(end_ns, start_ns));
  }
  void host_time(TimeNs time_ns) { delta(memory_of_thread().last_end_ns, time_ns); }
  void thread_stack(WireStack stack) { delta(memory_of_thread().last_stack, stack); }
  void thread_sequence(MaybeInt sequence) { maybe_delta(memory_of_thread().last_sequence, sequence); }

  void stream(std::int64_t device, std::int64_t stream) {
    const StreamMemory* const last = state_.stream < state_.streams.size() ? &state_.streams[state_.stream] : nullptr;
    if (last == nullptr || last->device != device || last->stream != stream) {
      const auto [at, is_new] = encoder_.stream_numbers_.try_emplace(std::pair(device, stream), state_.streams.size());
      state_.stream = at->second;
      if (is_new) {
        state_.streams.push_back({.device = device, .stream = stream});
        out_.varint(state_.stream);
        signed_number(device);
        return signed_number(stream);
      }
    }
    out_.varint(state_.stream);
  }
  // A stream works on one thing after the other: the start follows the last end.
  void device_times(TimeNs start_ns, TimeNs end_ns) {
    TimeNs& last_end_ns = memory_of_stream().last_end_ns;
    delta(last_end_ns, start_ns);
    signed_number(difference(end_ns, start_ns));
    last_end_ns = end_ns;
  }
  void stream_correlation(std::uint32_t correlation) { delta(memory_of_stream().last_correlation, correlation); }
  void stream_graph(MaybeInt graph_id, MaybeInt graph_node) {
    maybe_delta(memory_of_stream().last_graph_node, graph_node);
    maybe_delta(memory_of_stream().last_graph_id, graph_id);
  }
  void launch_shape(const LaunchShape& shape) {
    const auto [at, is_new] = encoder_.shape_numbers_.try_emplace(shape, state_.shapes.size());
    out_.varint(at->second);
    if (!is_new) return;
    state_.shapes.push_back(shape);
    for (const std::int32_t number : shape.numbers) signed_number(number);
  }

 private:
  // Host names, command lines, paths: 64 KiB of each tell enough.
  static constexpr std::size_t kMostFieldBytes = 64 << 10;

  ThreadMemory& memory_of_thread() { return state_.threads[state_.thread]; }
  StreamMemory& memory_of_stream() { return state_.streams[state_.stream]; }
  void delta(std::int64_t& last, std::int64_t number) {
    signed_number(difference(number, last));
    last = number;
  }
  void maybe_delta(std::int64_t& last, MaybeInt number) {
    out_.maybe(number.has_value(), difference(number.raw, last));
    if (number.has_value()) last = number.raw;
  }

  RecordEncoder& encoder_;
  ByteWriter& out_;
  ChunkState& state_;
  std::size_t kept_bytes_ = 0;
};

RecordEncoder::RecordEncoder() { payload_.bytes().reserve(std::size_t{320} << 10); }

template <class Record>
void RecordEncoder::add(const Record& record) {
  body_.clear();
  Fields fields(*this);
  Record copy = record;  // walk() serves the decoder too, which fills it
  walk(fields, copy);
  fields.cut_zeros();
  const std::string& body = body_.bytes();
  payload_.bytes().push_back(static_cast<char>(kKindOf<Record>));
  payload_.varint(body.size());
  payload_.raw(body);
  ++record_count_;
}

void RecordEncoder::clear() {
  payload_.clear();
  state_.clear();
  thread_numbers_.clear();
  stream_numbers_.clear();
  shape_numbers_.clear();
  record_count_ = 0;
}

template void RecordEncoder::add(const CaptureInfo&);
template void RecordEncoder::add(const WireStringDefinition&);
template void RecordEncoder::add(const WireFrameDefinition&);
template void RecordEncoder::add(const WireStackDefinition&);
template void RecordEncoder::add(const WireThread&);
template void RecordEncoder::add(const WireDevice&);
template void RecordEncoder::add(const WireOp&);
template void RecordEncoder::add(const WireSpan&);
template void RecordEncoder::add(const WireCall&);
template void RecordEncoder::add(const WireGpuEvent&);
template void RecordEncoder::add(const WireGraphNode&);
template void RecordEncoder::add(const WireSync&);
template void RecordEncoder::add(const WireOverhead&);
template void RecordEncoder::add(const WireMemory&);
template void RecordEncoder::add(const WireSample&);
template void RecordEncoder::add(const WireCounter&);
template void RecordEncoder::add(const WireWindow&);
template void RecordEncoder::add(const WireLedger&);
template void RecordEncoder::add(const WireRemark&);
template void RecordEncoder::add(const WireEnd&);
template void RecordEncoder::add(const WireMemoryLevel&);

}  // namespace stepscope::wire
