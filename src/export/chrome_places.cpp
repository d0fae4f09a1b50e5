// Metadata: what viewers call the rows and how they sort them, by libkineto's numbers: host processes by pid (a pid is
// at most 4,194,304), devices from 5,000,000 on, so that the GPU stands below the CPU; threads by tid, streams by
// number.
//
// A name is written only where the trace has one, since it is read back as the row's name. Metadata name rows by (pid,
// tid) alone: where a host process has the number of a device as its pid, the host's names are the ones that stay.
#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_set>

#include "export/chrome_parts.h"
#include "export/json_text.h"

namespace stepscope {
namespace {

constexpr std::int64_t kFirstDeviceIndex = 5'000'000;

std::optional<std::int64_t> number_of(std::string_view key) {
  std::int64_t number = 0;
  if (!is_json_integer(key)) return std::nullopt;
  std::from_chars(key.data(), key.data() + key.size(), number);
  return number;
}

// The earliest time of any row: the `ts` of metadata, as libkineto writes it.
TimeNs start_of(const Trace& trace) {
  std::optional<TimeNs> start;
  auto take = [&](TimeNs time) { start = std::min(start.value_or(time), time); };
  for (const ThreadId id : trace.threads.ids().ids()) {
    if (!trace.ops_of_thread[id].empty()) take(trace.ops.start_ns[OpId(trace.ops_of_thread[id].begin)]);
    if (!trace.spans_of_thread[id].empty()) take(trace.spans.start_ns[SpanId(trace.spans_of_thread[id].begin)]);
    if (!trace.frames_of_thread[id].empty()) take(trace.frames.start_ns[FrameId(trace.frames_of_thread[id].begin)]);
    if (!trace.calls_of_thread[id].empty()) take(trace.calls.start_ns[CallId(trace.calls_of_thread[id].begin)]);
  }
  for (const DeviceId id : trace.devices.ids().ids()) {
    const IdRange<GpuEventId> range = trace.gpu_events_of_device[id];
    if (!range.empty()) take(trace.gpu_events.start_ns[GpuEventId(range.begin)]);
  }
  if (!trace.memory_events.empty()) take(trace.memory_events.time_ns[MemoryEventId(0)]);
  return start.value_or(0);
}

class Places {
 public:
  explicit Places(ChromeText& text) : text_(text), trace_(text.trace), start_ns_(start_of(text.trace)) {}

  void write() {
    for (const ProcessId id : trace_.processes.ids().ids()) write_process(id);
    for (const DeviceId id : trace_.devices.ids().ids()) write_device(id);
    for (const ThreadId id : trace_.threads.ids().ids()) {
      const StringId process = trace_.processes.key[trace_.threads.process[id]];
      const std::string place = place_text(trace_.text(process), trace_.text(trace_.threads.key[id]));
      write_row(place, trace_.threads.name[id], number_of(trace_.text(trace_.threads.key[id])).value_or(id.value));
    }
    for (const StreamId id : trace_.streams.ids().ids()) {
      const std::int64_t device = trace_.devices.number[trace_.streams.device[id]];
      const std::string_view key = trace_.text(trace_.streams.key[id]);
      write_row(place_text(std::to_string(device), key), trace_.streams.name[id], number_of(key).value_or(id.value));
    }
  }

 private:
  void write_process(ProcessId id) {
    const std::string_view key = trace_.text(trace_.processes.key[id]);
    const std::string place = "\"pid\": " + key_text(key) + ", \"tid\": 0";
    host_keys_.insert(key);
    put_text("process_name", place, "name", trace_.text(trace_.processes.name[id]));
    put_text("process_labels", place, "labels", trace_.text(trace_.processes.labels[id]));
    put_index("process_sort_index", place,
              std::clamp<std::int64_t>(number_of(key).value_or(id.value), 0, kFirstDeviceIndex - 1));
  }

  void write_device(DeviceId id) {
    const std::string key = std::to_string(trace_.devices.number[id]);
    if (host_keys_.contains(key)) return;
    const std::string place = "\"pid\": " + key + ", \"tid\": 0";
    put_text("process_name", place, "name",
             trace_.processes.empty() ? "" : trace_.text(trace_.processes.name[ProcessId(0)]));
    put_text("process_labels", place, "labels", "GPU " + key);
    put_index("process_sort_index", place, kFirstDeviceIndex + id.value);
  }

  void write_row(const std::string& place, StringId name, std::int64_t index) {
    put_text("thread_name", place, "name", trace_.text(name));
    put_index("thread_sort_index", place, index);
  }

  void begin(std::string_view what, std::string_view place) {
    TextBuffer& out = text_.out;
    text_.begin_event();
    out.put("\"name\": \"");
    out.put(what);
    out.put("\", \"ph\": \"M\", \"ts\": ");
    out.put_microseconds(start_ns_);
    out.put(", ");
    out.put(place);
    out.put(",\n    \"args\": {\n      ");
  }

  void put_text(std::string_view what, std::string_view place, std::string_view key, std::string_view value) {
    if (value.empty()) return;
    begin(what, place);
    std::string json;
    append_json_string(value, json);
    text_.out.put('"');
    text_.out.put(key);
    text_.out.put("\": ");
    text_.out.put(json);
    end();
  }

  void put_index(std::string_view what, std::string_view place, std::int64_t index) {
    begin(what, place);
    text_.out.put("\"sort_index\": ");
    text_.out.put_integer(index);
    end();
  }

  void end() {
    text_.out.put("\n    }");
    text_.end_event();
  }

  ChromeText& text_;
  const Trace& trace_;
  TimeNs start_ns_;
  std::unordered_set<std::string_view> host_keys_;
};

}  // namespace

void write_chrome_places(ChromeText& text) { Places(text).write(); }

}  // namespace stepscope
