// In the order in which an agent's worker meets the records: ten milliseconds of one thread after the other, then the
// GPU's.
#include "recorded/capture_of_trace.h"

#include <algorithm>
#include <charconv>

#include "analyze/python_frames.h"
#include "analyze/steps.h"
#include "import/capture/made_capture.h"

namespace stepscope {
namespace {

using capture_format::MadeCapture;

constexpr TimeNs kDrainNs = 10'000'000;
constexpr TimeNs kSampleNs = 1'000'000;
constexpr TimeNs kWindowNs = 10'000'000'000;
constexpr std::int64_t kWindowCorrelations = 10'000'000;

std::int64_t number_of(std::string_view key) {
  std::int64_t number = -1;
  (void)std::from_chars(key.data(), key.data() + key.size(), number);
  return number;
}

bool has_callback(ApiKind kind) {
  return kind != ApiKind::kEventRecord && kind != ApiKind::kStreamWait && kind != ApiKind::kModuleLoad &&
         kind != ApiKind::kOther;
}

class Capturer {
 public:
  explicit Capturer(const Trace& trace) : trace_(trace) {}

  CaptureOfTrace run(int windows) {
    write_head();
    for (const ThreadId thread : trace_.threads.ids().ids()) collect_thread(thread);
    collect_gpu();
    sort_events();
    std::size_t count = 0;
    for (window_ = 0; window_ < windows; ++window_) {
      count += events_.size();
      write_events();
      if (windows == 1) continue;
      const Interval all = first_to_last_event(trace_);
      file_.add(WireWindow{at(all.start_ns), at(all.end_ns)});
    }
    return {file_.whole(), count};
  }

 private:
  struct Event {
    TimeNs end_ns;
    std::size_t source;  // thread, or behind all threads the GPU
    std::function<void()> write;
  };

  void sort_events() {
    std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
      return std::tuple(a.end_ns / kDrainNs, a.source, a.end_ns) < std::tuple(b.end_ns / kDrainNs, b.source, b.end_ns);
    });
  }
  void write_events() {
    for (const Event& event : events_) {
      event.write();
      if (file_.payload_bytes() > wire::kChunkBytes) file_.end_chunk();
    }
  }

  void write_head() {
    CaptureInfo info;
    if (!trace_.processes.empty()) info.process_id = number_of(trace_.text(trace_.processes.key[ProcessId(0)]));
    info.start_ns = base_;
    if (trace_.info.rank) info.rank = *trace_.info.rank;
    if (trace_.info.world_size) info.world_size = *trace_.info.world_size;
    info.records_gpu = true;
    info.records_shapes = trace_.info.record_shapes;
    info.records_stacks = !trace_.frames.empty();
    info.records_memory = trace_.info.profile_memory;
    file_.add(info).end_chunk();
    for (const DeviceId id : trace_.devices.ids().ids()) {
      const Devices::Row row = trace_.devices.row(id);
      file_.add(WireDevice{static_cast<std::int32_t>(row.number), file_.text(trace_.text(row.name)), row.memory_bytes,
                           row.sm_count, row.compute_major, row.compute_minor});
    }
  }

  [[nodiscard]] TimeNs at(TimeNs time_ns) const { return base_ + window_ * kWindowNs + time_ns; }
  [[nodiscard]] std::uint32_t correlation(MaybeInt number) const {
    return number.has_value() ? static_cast<std::uint32_t>(number.value() + window_ * kWindowCorrelations) : 0;
  }
  // ProfilerStep#4 of the second window is step 104.
  WireString span_name(StringId id) {
    const std::string_view name = trace_.text(id);
    constexpr std::string_view kStep = "ProfilerStep#";
    if (window_ == 0 || !name.starts_with(kStep)) return text(id);
    return file_.text(std::string(kStep) + std::to_string(number_of(name.substr(kStep.size())) + 100 * window_));
  }
  WireString text(StringId id) { return id.empty() ? 0 : file_.text(trace_.text(id)); }

  // "train.py(52): hook" to "train.py:52:hook"; frames of other shapes (built-ins, modules) are no Python frames.
  WireStack stack_of(FrameId innermost) {
    std::vector<std::string> frames;
    for (FrameId frame = innermost; frame.has_value(); frame = trace_.frames.parent[frame]) {
      const std::string name(trace_.text(trace_.frames.name[frame]));
      const std::size_t line = name.find(".py("), end = name.find("): ", line);
      if (line == std::string::npos || end == std::string::npos) continue;
      frames.push_back(name.substr(0, line + 3) + ":" + name.substr(line + 4, end - line - 4) + ":" +
                       name.substr(end + 3));
    }
    std::reverse(frames.begin(), frames.end());
    return file_.stack(frames);
  }

  void add(TimeNs end_ns, std::size_t source, std::function<void()> write) {
    events_.push_back({end_ns, source, std::move(write)});
  }

  void collect_thread(ThreadId thread) {
    const std::int64_t tid = number_of(trace_.text(trace_.threads.key[thread]));
    for (const OpId id : trace_.ops_of_thread[thread].ids())
      add(trace_.ops.end_ns[id], thread.value, [=, this] { write_op(id, tid); });
    FrameCursor at_spans(trace_, thread);
    for (const SpanId id : trace_.spans_of_thread[thread].ids()) {
      const FrameId frame = at_spans.innermost(trace_.spans.start_ns[id]);
      add(trace_.spans.end_ns[id], thread.value, [=, this] { write_span(id, tid, frame); });
    }
    FrameCursor at_calls(trace_, thread);
    bool launches = false;
    for (const CallId id : trace_.calls_of_thread[thread].ids()) {
      launches = launches || trace_.calls.gpu_count[id] > 0;
      if (!has_callback(trace_.calls.kind[id])) continue;
      const FrameId frame = at_calls.innermost(trace_.calls.start_ns[id]);
      add(trace_.calls.end_ns[id], thread.value, [=, this] { write_call(id, tid, frame); });
    }
    if (launches && !trace_.frames_of_thread[thread].empty()) collect_samples(thread, tid);
  }

  void collect_samples(ThreadId thread, std::int64_t tid) {
    const IdRange<FrameId> frames = trace_.frames_of_thread[thread];
    TimeNs end_ns = 0;
    for (const FrameId id : frames.ids()) end_ns = std::max(end_ns, trace_.frames.end_ns[id]);
    FrameCursor cursor(trace_, thread);
    for (TimeNs now = trace_.frames.start_ns[FrameId(frames.begin)]; now < end_ns; now += kSampleNs) {
      const FrameId frame = cursor.innermost(now);
      if (!frame.has_value()) continue;
      add(now, thread.value, [=, this] { file_.add(WireSample{at(now), tid, stack_of(frame)}); });
    }
  }

  void write_op(OpId id, std::int64_t tid) {
    const Ops::Row row = trace_.ops.row(id);
    WireOp op;
    op.start_ns = at(row.start_ns);
    op.end_ns = at(row.end_ns);
    op.thread_id = tid;
    op.name = text(row.name);
    op.scope = row.forward_thread.value_or(0) > 0 ? WireOpScope::kBackward : WireOpScope::kFunction;
    op.sequence = row.sequence;
    op.forward_thread = row.forward_thread;
    op.shapes = text(row.shapes);
    op.types = text(row.types);
    op.concrete_inputs = text(row.concrete_inputs);
    file_.add(op);
  }
  void write_span(SpanId id, std::int64_t tid, FrameId frame) {
    const Spans::Row row = trace_.spans.row(id);
    WireOp op;
    op.start_ns = at(row.start_ns);
    op.end_ns = at(row.end_ns);
    op.thread_id = tid;
    op.name = span_name(row.name);
    op.scope = WireOpScope::kUser;
    op.stack = stack_of(frame);
    file_.add(op);
  }
  void write_call(CallId id, std::int64_t tid, FrameId frame) {
    const Calls::Row row = trace_.calls.row(id);
    WireCall call;
    call.start_ns = at(row.start_ns);
    call.end_ns = at(row.end_ns);
    call.thread_id = tid;
    call.name = text(row.name);
    call.correlation = correlation(row.correlation);
    call.stack = stack_of(frame);
    file_.add(call);
  }

  void collect_gpu() {
    for (const GpuEventId id : trace_.gpu_events.ids().ids()) {
      if (trace_.gpu_events.fault[id] != TimeFault::kNone) continue;
      add(trace_.gpu_events.end_ns[id], trace_.threads.size(), [=, this] { write_gpu_event(id); });
    }
    for (const MemoryEventId id : trace_.memory_events.ids().ids()) {
      const MemoryEvents::Row row = trace_.memory_events.row(id);
      add(row.time_ns, row.thread.value, [=, this] {
        const std::int64_t tid = number_of(trace_.text(trace_.threads.key[row.thread]));
        file_.add(WireMemory{at(row.time_ns), tid, static_cast<std::uint64_t>(row.address.value_or(0)), row.bytes,
                             row.total_allocated_bytes, row.total_reserved_bytes, row.device_type, row.device_number});
      });
    }
  }
  void write_gpu_event(GpuEventId id) {
    const GpuEvents::Row row = trace_.gpu_events.row(id);
    WireGpuEvent event;
    event.start_ns = at(row.start_ns);
    event.end_ns = at(row.end_ns);
    event.device = static_cast<std::int32_t>(trace_.devices.number[row.device]);
    event.stream = number_of(trace_.text(trace_.streams.key[row.stream]));
    event.name = text(row.name);
    event.kind = static_cast<WireGpuKind>(row.kind);
    event.correlation = correlation(row.correlation);
    event.graph_id = row.graph_id;
    event.bytes = row.bytes;
    event.grid_x = row.grid_x;
    event.grid_y = row.grid_y;
    event.grid_z = row.grid_z;
    event.block_x = row.block_x;
    event.block_y = row.block_y;
    event.block_z = row.block_z;
    event.registers_count = row.registers_count;
    event.shared_bytes = row.shared_bytes;
    file_.add(event);
  }

  const Trace& trace_;
  const TimeNs base_ = 1'702'944'000'000'000'000;
  MadeCapture file_;
  std::vector<Event> events_;
  int window_ = 0;
};

}  // namespace

CaptureOfTrace capture_of_trace(const Trace& trace, int windows) { return Capturer(trace).run(windows); }

}  // namespace stepscope
