// Host rows: the four tables of a thread as one list in order of time, outer events first.
//
// Viewers nest events of equal start by their order in the file, so a step stands before the operator that starts with
// it. Spans that were begun and ended by separate events are written so again (`b` and `e`), behind the others.
#include <array>

#include "export/chrome_parts.h"
#include "export/external_ids.h"
#include "export/json_text.h"
#include "export/timed_rows.h"

namespace stepscope {
namespace {

// The number of a module among those of its class, as PyTorch gives it: "nn.Module: Linear_3" is 3. TensorBoard's
// plugin takes only frames that have it as modules.
std::string_view module_number_of(std::string_view name) {
  const std::size_t underscore = name.rfind('_');
  if (!name.starts_with("nn.Module: ") || underscore == std::string_view::npos) return {};
  name.remove_prefix(underscore + 1);
  return is_json_integer(name) ? name : std::string_view();
}

class Host {
 public:
  explicit Host(ChromeText& text) : text_(text), trace_(text.trace), out_(text.out), external_ids_(text.trace) {}

  void write() {
    for (const ThreadId id : trace_.threads.ids().ids()) {
      if (out_.failed()) return;
      place_ = place_of(id);
      write_thread(id);
    }
    for (const ThreadId id : trace_.threads.ids().ids()) {
      if (out_.failed()) return;
      place_ = place_of(id);
      for (const SpanId span : trace_.spans_of_thread[id].ids()) {
        if (is_in_pairs(span)) write_span_pair(span);
      }
    }
  }

 private:
  // A table's next row of the thread. The tables stand in the order in which rows of equal times contain each other.
  struct Cursor {
    std::uint32_t next = 0;
    std::uint32_t end = 0;
    TimeNs start_ns = 0;
    TimeNs end_ns = 0;
    [[nodiscard]] bool is_before(const Cursor& other) const {
      return start_ns != other.start_ns ? start_ns < other.start_ns : end_ns > other.end_ns;
    }
  };
  enum Table : std::size_t { kSpans, kFrames, kOps, kCalls, kTableCount };

  std::string place_of(ThreadId id) const {
    return place_text(trace_.text(trace_.processes.key[trace_.threads.process[id]]),
                      trace_.text(trace_.threads.key[id]));
  }

  template <class Rows>
  static void load(Cursor& cursor, const Rows& rows) {
    if (cursor.next == cursor.end) return;
    cursor.start_ns = rows.start_ns[typename Rows::Id(cursor.next)];
    cursor.end_ns = rows.end_ns[typename Rows::Id(cursor.next)];
  }

  void load(Table table, Cursor& cursor) {
    switch (table) {
      case kSpans:
        while (cursor.next < cursor.end && is_in_pairs(SpanId(cursor.next))) ++cursor.next;
        return load(cursor, trace_.spans);
      case kFrames:
        return load(cursor, trace_.frames);
      case kOps:
        return load(cursor, trace_.ops);
      default:
        return load(cursor, trace_.calls);
    }
  }

  void write_thread(ThreadId id) {
    auto cursor = [](auto range) { return Cursor{range.begin, range.end}; };
    std::array<Cursor, kTableCount> cursors = {cursor(trace_.spans_of_thread[id]), cursor(trace_.frames_of_thread[id]),
                                               cursor(trace_.ops_of_thread[id]), cursor(trace_.calls_of_thread[id])};
    for (std::size_t i = 0; i < kTableCount; ++i) load(static_cast<Table>(i), cursors[i]);
    for (;;) {
      std::size_t first = kTableCount;
      for (std::size_t i = 0; i < kTableCount; ++i) {
        if (cursors[i].next == cursors[i].end) continue;
        if (first == kTableCount || cursors[i].is_before(cursors[first])) first = i;
      }
      if (first == kTableCount || out_.failed()) return;
      write_row(static_cast<Table>(first), cursors[first].next++);
      load(static_cast<Table>(first), cursors[first]);
    }
  }

  void write_row(Table table, std::uint32_t row) {
    text_.begin_event();
    switch (table) {
      case kSpans:
        write_span(SpanId(row));
        break;
      case kFrames:
        write_frame(FrameId(row));
        break;
      case kOps:
        write_op(OpId(row));
        break;
      default:
        write_call(CallId(row));
    }
    text_.end_event();
  }

  template <std::size_t kSize>
  void put_json(ChromeArgs& args, const char (&key)[kSize], StringId id) {
    if (id.empty()) return;
    args.key(key);
    text_.strings.put_json(id);
  }

  void put_call_stack(ChromeArgs& args, StringId id) {
    if (id.empty()) return;
    args.key("\"Call stack\": ");
    text_.strings.put_quoted(id);
  }

  void write_op(OpId id) {
    const Ops& ops = trace_.ops;
    text_.put_complete("\"cpu_op\"", ops.name[id], place_, ops.start_ns[id], ops.end_ns[id]);
    ChromeArgs args(out_);
    args.put("\"External id\": ", external_ids_.of(id));
    if (ops.sequence[id].has_value()) {
      args.put("\"Sequence number\": ", ops.sequence[id]);
      // PyTorch's 0 means that the operator is no part of a backward pass, which the trace has as missing.
      args.put("\"Fwd thread id\": ", ops.forward_thread[id].value_or(0));
    } else {
      args.put("\"Fwd thread id\": ", ops.forward_thread[id]);
    }
    put_json(args, "\"Concrete Inputs\": ", ops.concrete_inputs[id]);
    put_json(args, "\"Input type\": ", ops.types[id]);
    put_json(args, "\"Input Dims\": ", ops.shapes[id]);
    args.put("\"stepscope flops\": ", ops.flops[id]);
    put_call_stack(args, ops.call_stack[id]);
    args.close();
  }

  void put_span_args(SpanId id) {
    ChromeArgs args(out_);
    args.put("\"External id\": ", trace_.spans.external_id[id]);
    args.put("\"step_num\": ", trace_.spans.step_number[id]);
    put_call_stack(args, trace_.spans.call_stack[id]);
    args.close();
  }

  void write_span(SpanId id) {
    const Spans& spans = trace_.spans;
    text_.put_complete("\"user_annotation\"", spans.name[id], place_, spans.start_ns[id], spans.end_ns[id]);
    put_span_args(id);
  }

  // Asynchronous spans; and a span behind one of equal times, since whoever reads the file meets pairs last. Asked for
  // the spans of a thread one after the other.
  [[nodiscard]] bool is_in_pairs(SpanId id) {
    const Spans& spans = trace_.spans;
    const bool is_first = id.value == trace_.spans_of_thread[spans.thread[id]].begin;
    const SpanId before(is_first ? id.value : id.value - 1);
    const bool follows_pair = !is_first && in_pairs_ && spans.start_ns[before] == spans.start_ns[id] &&
                              spans.end_ns[before] == spans.end_ns[id];
    return in_pairs_ = follows_pair || spans.is_async[id] != 0;
  }

  void write_span_pair(SpanId id) {
    const Spans& spans = trace_.spans;
    const bool is_async = spans.is_async[id] != 0;
    put_half(id, is_async ? 'b' : 'B', spans.start_ns[id]);
    put_span_args(id);
    text_.end_event();
    put_half(id, is_async ? 'e' : 'E', spans.end_ns[id]);
    text_.end_event();
  }

  void put_half(SpanId id, char phase, TimeNs time_ns) {
    text_.begin_event();
    out_.put("\"ph\": \"");
    out_.put(phase);
    out_.put("\", \"cat\": \"user_annotation\", \"name\": ");
    text_.strings.put_quoted(trace_.spans.name[id]);
    if (trace_.spans.is_async[id] != 0) {
      out_.put(", \"id\": ");
      out_.put_integer(std::int64_t{id.value} + 1);
    }
    out_.put(", ");
    out_.put(place_);
    out_.put(",\n    \"ts\": ");
    out_.put_microseconds(time_ns);
  }

  void write_frame(FrameId id) {
    const Frames& frames = trace_.frames;
    text_.put_complete("\"python_function\"", frames.name[id], place_, frames.start_ns[id], frames.end_ns[id]);
    ChromeArgs args(out_);
    if (frames.python_parent_id[id].has_value())
      args.put("\"Python parent id\": ", frames.python_parent_id[id]);
    else if (frames.python_id[id].has_value())
      args.key("\"Python parent id\": ").put("null");
    args.put("\"Python id\": ", frames.python_id[id]);
    const std::string_view module_number = module_number_of(trace_.text(frames.name[id]));
    if (!module_number.empty()) args.key("\"Python module id\": ").put(module_number);
    args.close();
  }

  void write_call(CallId id) {
    const Calls& calls = trace_.calls;
    const bool is_driver = is_driver_call(trace_.text(calls.name[id]));
    text_.put_complete(is_driver ? "\"cuda_driver\"" : "\"cuda_runtime\"", calls.name[id], place_, calls.start_ns[id],
                       calls.end_ns[id]);
    ChromeArgs args(out_);
    args.put("\"External id\": ", external_ids_.of(id));
    args.put("\"correlation\": ", calls.correlation[id]);
    args.close();
  }

  ChromeText& text_;
  const Trace& trace_;
  TextBuffer& out_;
  const ExternalIds external_ids_;
  std::string place_;
  bool in_pairs_ = false;  // the span asked for last
};

}  // namespace

void write_chrome_host(ChromeText& text) { Host(text).write(); }

}  // namespace stepscope
