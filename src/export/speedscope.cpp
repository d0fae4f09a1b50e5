// Frames are numbered when they are first met, so their list stands behind the profiles: the order of keys is free.
#include "export/speedscope.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "export/json_text.h"
#include "export/text_buffer.h"
#include "export/timed_rows.h"
#include "export/trace_strings.h"

namespace stepscope {
namespace {

class SpeedscopeWriter {
 public:
  SpeedscopeWriter(const Trace& trace, TextBuffer& out)
      : trace_(trace), out_(out), strings_(trace.strings, out), frame_of_(trace.strings.size(), kNoFrame) {}

  void write(std::string_view name) {
    find_range();
    out_.put(
        "{\"$schema\": \"https://www.speedscope.app/file-format-schema.json\",\n\"exporter\": "
        "\"stepscope\",\n\"name\": ");
    put_quoted(name);
    out_.put(",\n\"profiles\": [");
    for (const ThreadId id : trace_.threads.ids().ids()) {
      const std::string thread = place_name("thread ", trace_.threads.key[id], trace_.threads.name[id]);
      put_rows(rows_of_thread(trace_, id), thread);
      put_rows(async_rows_of_thread(trace_, id), thread + ", asynchronous spans");
    }
    StreamRows streams = rows_of_streams(trace_);
    for (const StreamId id : trace_.streams.ids().ids()) {
      const std::string stream = std::string("GPU ") +
                                 std::to_string(trace_.devices.number[trace_.streams.device[id]]) + ", " +
                                 place_name("stream ", trace_.streams.key[id], trace_.streams.name[id]);
      put_rows(std::move(streams.events[id]), stream);
      put_rows(std::move(streams.spans[id]), stream + ", annotations");
    }
    out_.put("],\n\"shared\": {\"frames\": [");
    for (std::size_t i = 0; i < frames_.size(); ++i) {
      out_.put(i == 0 ? std::string_view("\n{\"name\": ") : std::string_view(",\n{\"name\": "));
      strings_.put_quoted(frames_[i]);
      out_.put('}');
    }
    out_.put("]}}\n");
  }

  // What for_each_lane calls.
  void begin_lane(std::size_t lane) {
    out_.put(has_profiles_ ? std::string_view(",\n") : std::string_view("\n"));
    has_profiles_ = true;
    out_.put("{\"type\": \"evented\", \"unit\": \"nanoseconds\", \"name\": ");
    put_quoted(lane == 0 ? profile_ : profile_ + ", overlapping " + std::to_string(lane));
    out_.put(", \"startValue\": 0, \"endValue\": ");
    out_.put_integer(end_ns_ - start_ns_);
    out_.put(", \"events\": [");
    has_events_ = false;
  }
  void begin(const TimedRow& row) { put_event("{\"type\":\"O\",\"frame\":", row, row.start_ns); }
  void end(const TimedRow& row, TimeNs end_ns) { put_event("{\"type\":\"C\",\"frame\":", row, end_ns); }
  void end_lane(std::size_t) { out_.put("]}"); }

 private:
  static constexpr std::uint32_t kNoFrame = std::numeric_limits<std::uint32_t>::max();

  void put_rows(std::vector<TimedRow> rows, std::string profile) {
    if (out_.failed()) return;
    profile_ = std::move(profile);
    for_each_lane(std::move(rows), *this);
  }

  template <class Rows>
  void take_range(const Rows& rows) {
    for (const TimeNs time : rows.start_ns.raw()) start_ns_ = std::min(start_ns_, time);
    for (const TimeNs time : rows.end_ns.raw()) end_ns_ = std::max(end_ns_, time);
  }
  void find_range() {
    take_range(trace_.spans);
    take_range(trace_.frames);
    take_range(trace_.ops);
    take_range(trace_.calls);
    take_range(trace_.gpu_events);
    take_range(trace_.gpu_spans);
    if (start_ns_ > end_ns_) start_ns_ = end_ns_ = 0;
  }

  [[nodiscard]] std::string place_name(std::string_view word, StringId key, StringId name) const {
    if (!name.empty()) return std::string(trace_.text(name));
    return std::string(word) + std::string(trace_.text(key));
  }

  void put_quoted(std::string_view text) {
    scratch_.clear();
    append_json_string(text, scratch_);
    out_.put(scratch_);
  }

  void put_event(std::string_view opening, const TimedRow& row, TimeNs time_ns) {
    if (has_events_) out_.put(",\n");
    has_events_ = true;
    const StringId name = row.name(trace_);
    std::uint32_t& frame = frame_of_[name.value];
    if (frame == kNoFrame) {
      frame = static_cast<std::uint32_t>(frames_.size());
      frames_.push_back(name);
    }
    out_.put(opening);
    out_.put_integer(frame);
    out_.put(",\"at\":");
    out_.put_integer(time_ns - start_ns_);
    out_.put('}');
  }

  const Trace& trace_;
  TextBuffer& out_;
  TraceStrings strings_;
  std::vector<std::uint32_t> frame_of_;  // by string
  std::vector<StringId> frames_;
  TimeNs start_ns_ = std::numeric_limits<TimeNs>::max(), end_ns_ = std::numeric_limits<TimeNs>::min();
  std::string profile_, scratch_;
  bool has_profiles_ = false, has_events_ = false;
};

}  // namespace

Status write_speedscope(const Trace& trace, std::string_view name, const TextSink& sink) {
  TextBuffer out(sink);
  SpeedscopeWriter(trace, out).write(name);
  return out.finish();
}

}  // namespace stepscope
