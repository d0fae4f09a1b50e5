// Allocator events, flows, counters and the rest, each table in its order.
//
// Viewers draw only the arrows that stand in the file. A capture has links instead of arrows, so those from launches to
// GPU work are made here, under a name by which our importer leaves them out: the links say the same.
//
// An event of no known meaning has to come back as one: `[memory]` without its numbers, a begin whose end is missing, a
// complete event without a category. The last is written with an empty one, so that no reader takes it for JAX's.
#include <array>
#include <charconv>
#include <cmath>
#include <unordered_set>
#include <vector>

#include "export/chrome_parts.h"
#include "export/json_text.h"

namespace stepscope {
namespace {

class SideEvents {
 public:
  explicit SideEvents(ChromeText& text) : text_(text), trace_(text.trace), out_(text.out) {}

  void write() {
    for (const ThreadId id : trace_.threads.ids().ids()) {
      places_.push_back(place_text(trace_.text(trace_.processes.key[trace_.threads.process[id]]),
                                   trace_.text(trace_.threads.key[id])));
    }
    for_each(trace_.memory_events, [&](MemoryEventId id) { write_memory(id); });
    for_each(trace_.flows, [&](FlowId id) { write_flow(id); });
    if (!has_launch_flows()) write_links();
    for (CounterId id(0); id.value < trace_.counters.size() && !out_.failed();) id = write_counter(id);
    for_each(trace_.other_events, [&](OtherEventId id) { write_other(id); });
  }

 private:
  template <class Rows, class Write>
  void for_each(const Rows& rows, Write write) {
    for (const auto id : rows.ids().ids()) {
      if (out_.failed()) return;
      text_.begin_event();
      write(id);
      text_.end_event();
    }
  }

  void write_memory(MemoryEventId id) {
    const MemoryEvents& events = trace_.memory_events;
    out_.put("\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]\",\n    ");
    out_.put(places_[events.thread[id].value]);
    out_.put(",\n    \"ts\": ");
    out_.put_microseconds(events.time_ns[id]);
    ChromeArgs args(out_);
    args.put("\"Total Reserved\": ", events.total_reserved_bytes[id]);
    args.put("\"Total Allocated\": ", events.total_allocated_bytes[id]);
    args.key("\"Bytes\": ").put_integer(events.bytes[id]);
    args.key("\"Device Id\": ").put_integer(events.device_number[id]);
    args.key("\"Device Type\": ").put_integer(events.device_type[id]);
    args.put("\"Addr\": ", events.address[id]);
    args.close();
  }

  void write_flow(FlowId id) {
    const Flows& flows = trace_.flows;
    out_.put("\"ph\": \"");
    out_.put(flows.phase[id]);
    out_.put("\", \"id\": ");
    if (flows.id_text[id].empty())
      out_.put_integer(static_cast<std::int64_t>(flows.id[id]));
    else
      text_.strings.put_quoted(flows.id_text[id]);
    out_.put(", ");
    text_.put_place(flows.process_key[id], flows.thread_key[id]);
    out_.put(", \"ts\": ");
    out_.put_microseconds(flows.time_ns[id]);
    out_.put(",\n    \"cat\": ");
    text_.strings.put_quoted(flows.category[id]);
    out_.put(", \"name\": ");
    text_.strings.put_quoted(flows.name[id]);
    // The arrow ends at the event around it, not at the next one.
    if (flows.phase[id] == 'f') out_.put(", \"bp\": \"e\"");
  }

  [[nodiscard]] bool has_launch_flows() const {
    const Flows& flows = trace_.flows;
    for (const FlowId id : flows.ids().ids()) {
      if (trace_.text(flows.category[id]) == "ac2g") return true;
    }
    return false;
  }

  void write_links() {
    const GpuEvents& events = trace_.gpu_events;
    std::vector<std::string> streams;
    for (const StreamId id : trace_.streams.ids().ids()) {
      streams.push_back(place_text(std::to_string(trace_.devices.number[trace_.streams.device[id]]),
                                   trace_.text(trace_.streams.key[id])));
    }
    for (const GpuEventId id : events.ids().ids()) {
      if (out_.failed()) return;
      const CallId call = events.call[id];
      if (!call.has_value()) continue;
      put_link_end('s', id, places_[trace_.calls.thread[call].value], trace_.calls.start_ns[call]);
      put_link_end('f', id, streams[events.stream[id].value], events.start_ns[id]);
    }
  }

  // Each GPU event has an arrow of its own, which has its number: a graph's launch has thousands.
  void put_link_end(char phase, GpuEventId id, std::string_view place, TimeNs time_ns) {
    text_.begin_event();
    out_.put("\"ph\": \"");
    out_.put(phase);
    out_.put("\", \"id\": ");
    out_.put_integer(std::int64_t{id.value} + 1);
    out_.put(", ");
    out_.put(place);
    out_.put(", \"ts\": ");
    out_.put_microseconds(time_ns);
    out_.put(",\n    \"cat\": \"ac2g\", \"name\": \"stepscope launch\"");
    if (phase == 'f') out_.put(", \"bp\": \"e\"");
    text_.end_event();
  }

  // One event for the series of a counter at one time, which chrome://tracing stacks. Returns the row behind them.
  CounterId write_counter(CounterId id) {
    const Counters& counters = trace_.counters;
    text_.begin_event();
    out_.put("\"ph\": \"C\", \"name\": ");
    text_.strings.put_quoted(counters.name[id]);
    out_.put(", \"pid\": ");
    text_.strings.put_key(counters.process_key[id]);
    out_.put(",\n    \"ts\": ");
    out_.put_microseconds(counters.time_ns[id]);
    out_.put(",\n    \"args\": {\n      ");
    const CounterId first = id;
    do {
      if (id != first) out_.put(", ");
      text_.strings.put_quoted(counters.series[id]);
      out_.put(": ");
      put_value(counters.value[id]);
      id = CounterId(id.value + 1);
    } while (id.value < counters.size() && belongs_to(first, id));
    out_.put("\n    }");
    text_.end_event();
    return id;
  }

  // The row is another series of the counter at the time of row `first`, and its key is new in that event.
  [[nodiscard]] bool belongs_to(CounterId first, CounterId id) const {
    const Counters& counters = trace_.counters;
    constexpr std::uint32_t kMostSeries = 16;
    if (id.value - first.value >= kMostSeries || counters.time_ns[id] != counters.time_ns[first] ||
        counters.name[id] != counters.name[first] || counters.process_key[id] != counters.process_key[first]) {
      return false;
    }
    for (CounterId other = first; other != id; other = CounterId(other.value + 1)) {
      if (counters.series[other] == counters.series[id]) return false;
    }
    return true;
  }

  // The shortest text that reads back as the same number. JSON has none for NaN and infinity.
  void put_value(double value) {
    if (!std::isfinite(value)) return out_.put("null");
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    out_.put(std::string_view(digits.data(), static_cast<std::size_t>(end.ptr - digits.data())));
  }

  void write_other(OtherEventId id) {
    const OtherEvents& events = trace_.other_events;
    const char phase = events.phase[id];
    const bool is_complete = phase == 'X';
    const bool is_instant = phase == 'i' || phase == 'I';
    out_.put("\"ph\": \"");
    out_.put(phase > ' ' && phase < '\x7f' && phase != '"' && phase != '\\' ? phase : 'i');
    out_.put("\", ");
    has_open_begin_ = has_open_begin_ || phase == 'B' || phase == 'b' || phase == 'S';
    // Readers come back to begins without an end when they have read all; so they must to what stands behind them.
    if (!events.category[id].empty() || (is_complete && !has_open_begin_)) {
      out_.put("\"cat\": ");
      text_.strings.put_quoted(events.category[id]);
      out_.put(", ");
    }
    // PyTorch's instants of the whole recording have no category and are drawn through all rows.
    if (is_instant) out_.put(events.category[id].empty() ? std::string_view("\"s\": \"g\", ") : "\"s\": \"t\", ");
    out_.put("\"name\": ");
    text_.strings.put_quoted(events.name[id]);
    out_.put(",\n    ");
    text_.put_place(events.process_key[id], events.thread_key[id]);
    out_.put(", \"ts\": ");
    out_.put_microseconds(events.start_ns[id]);
    if (!is_complete) return;
    out_.put(", \"dur\": ");
    out_.put_microseconds(events.end_ns[id] - events.start_ns[id]);
    if (trace_.text(events.category[id]) == "Trace") sort_recording_last(events.process_key[id], events.start_ns[id]);
  }

  // The row of the recording itself ("Spans") stands under all others.
  void sort_recording_last(StringId process_key, TimeNs time_ns) {
    if (is_json_integer(trace_.text(process_key)) || !recordings_.insert(process_key).second) return;
    text_.end_event();
    text_.begin_event();
    out_.put("\"name\": \"process_sort_index\", \"ph\": \"M\", \"ts\": ");
    out_.put_microseconds(time_ns);
    out_.put(",\n    \"pid\": ");
    text_.strings.put_key(process_key);
    out_.put(", \"tid\": 0,\n    \"args\": {\n      \"sort_index\": 536870912\n    }");
  }

  ChromeText& text_;
  const Trace& trace_;
  TextBuffer& out_;
  std::vector<std::string> places_;  // by thread
  std::unordered_set<StringId> recordings_;
  bool has_open_begin_ = false;
};

}  // namespace

void write_chrome_side_events(ChromeText& text) { SideEvents(text).write(); }

}  // namespace stepscope
