// One method a record kind. Times become relative to a zero that the ranks of a run share; what cannot be (hostile or
// damaged numbers) is noted and kept out of sums, as the JSON importer does it.
#include "import/capture/records_to_rows.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "wire/bytes.h"

namespace stepscope::capture_format {
namespace {

// As in the JSON importer: no process runs for a year under a profiler, and no difference of two times may overflow.
constexpr DurationNs kLongestDuration = 365LL * 86400 * 1'000'000'000;
constexpr TimeNs kFarthestTime = 4'500'000'000'000'000'000;

// Times are told from the last multiple of 90 days since 1970, as PyTorch's are from one of three months: the ranks of
// a run then have one zero, which tools that read several files at once rely on, and what happened before the capture
// began has no negative time.
constexpr DurationNs kBaseNs = 90LL * 86400 * 1'000'000'000;

std::optional<std::int64_t> optional_of(MaybeInt number) {
  return number.has_value() ? std::optional(number.value()) : std::nullopt;
}

// "train#12" -> "train", 12.
std::optional<std::pair<std::string_view, std::int64_t>> split_step_name(std::string_view name) {
  const std::size_t mark = name.rfind('#');
  if (mark == std::string_view::npos || mark == 0) return std::nullopt;
  std::int64_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + mark + 1, end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return std::pair(name.substr(0, mark), number);
}

}  // namespace

TimeNs RecordsToRows::time(TimeNs absolute_ns) const {
  return std::clamp(wire::difference(absolute_ns, base_ns_), -kFarthestTime, kFarthestTime);
}

RecordsToRows::Times RecordsToRows::times(TimeNs start_ns, TimeNs end_ns, StringId name) {
  Times made{time(start_ns), time(end_ns), false};
  // CUPTI leaves 0 where it never knew.
  const bool is_known = !info_ || (start_ns != 0 && end_ns != 0);
  if (is_known && made.end_ns >= made.start_ns && made.end_ns - made.start_ns <= kLongestDuration) return made;
  made.is_bad = true;
  note(NoteKind::kBadDuration, NoteSeverity::kLost,
       std::string(fragment_.strings[name]) + ": " + std::to_string(start_ns) + " to " + std::to_string(end_ns));
  // One of the two that is known says when it was.
  if (start_ns == 0) made.start_ns = end_ns == 0 ? 0 : made.end_ns;
  made.end_ns = made.start_ns;
  return made;
}

// False: the times are bad.
template <class Row, class Record>
bool RecordsToRows::fill(Row& row, const Record& r) {
  row.name = definitions_.text(r.name);
  const Times at = times(r.start_ns, r.end_ns, row.name);
  row.start_ns = at.start_ns;
  row.end_ns = at.end_ns;
  if constexpr (requires { row.file_order; }) row.file_order = offset_;
  if constexpr (requires { r.correlation; }) {
    if (r.correlation != 0) row.correlation = r.correlation;  // 0 is CUPTI's "none"
  }
  return !at.is_bad;
}

ThreadId RecordsToRows::thread(std::int64_t id) {
  if (id != last_thread_id_ || !last_thread_.has_value()) {
    last_thread_ = fragment_.thread(process_key_, std::to_string(id));
    last_thread_id_ = id;
  }
  return last_thread_;
}

StringId RecordsToRows::number_text(std::int64_t number) { return fragment_.strings.intern(std::to_string(number)); }

void RecordsToRows::add_point(ThreadId thread, TimeNs start_ns, TimeNs end_ns, WireStack stack) {
  if (stack == 0) return;
  if (points_.size() <= thread.value) points_.raw().resize(thread.value + 1);
  points_[thread].push_back({start_ns, end_ns, definitions_.stack(stack)});
}

void RecordsToRows::on(const CaptureInfo& r) {
  if (info_) return add_facts(r);
  info_ = r;
  process_key_ = std::to_string(r.process_id);
  base_ns_ = r.start_ns - r.start_ns % kBaseNs;
  definitions_.set_process(r);
}

// The process described again: CUDA, Python or PyTorch came after the recording had begun. Times stay on the first
// one's base, and what is known stays where the later one does not know it.
void RecordsToRows::add_facts(const CaptureInfo& later) {
  if (later.process_id != info_->process_id) return;
  for (std::string CaptureInfo::*const text :
       {&CaptureInfo::host_name, &CaptureInfo::command_line, &CaptureInfo::python_version, &CaptureInfo::torch_version,
        &CaptureInfo::working_directory, &CaptureInfo::python_path}) {
    if (!(later.*text).empty()) (*info_).*text = later.*text;
  }
  for (MaybeInt CaptureInfo::*const number :
       {&CaptureInfo::rank, &CaptureInfo::world_size, &CaptureInfo::local_rank, &CaptureInfo::cuda_driver_version,
        &CaptureInfo::cuda_runtime_version, &CaptureInfo::cupti_version, &CaptureInfo::process_start_ns}) {
    if ((later.*number).has_value()) (*info_).*number = later.*number;
  }
  for (bool CaptureInfo::*const flag :
       {&CaptureInfo::records_shapes, &CaptureInfo::records_stacks, &CaptureInfo::records_memory,
        &CaptureInfo::records_graphs, &CaptureInfo::records_gpu}) {
    if (later.*flag) (*info_).*flag = true;
  }
  definitions_.set_process(*info_);
}

void RecordsToRows::on(const WireThread& r) {
  if (r.name == 0) return;
  const std::string_view name = fragment_.strings[definitions_.text(r.name)];
  names_.push_back({process_key_, std::to_string(r.thread_id), std::string(name), false});
}

void RecordsToRows::on(const WireDevice& r) {
  devices_.push_back({r.number, std::string(fragment_.strings[definitions_.text(r.name)]), r.memory_bytes, r.sm_count,
                      r.compute_major, r.compute_minor});
}

void RecordsToRows::on(const WireOp& r) {
  const ThreadId owner = thread(r.thread_id);
  if (r.scope == WireOpScope::kUser) {
    Spans::Row span;
    (void)fill(span, r);
    span.thread = owner;
    // A user's scope is entered by a call that returns at once: its stack holds at the start alone.
    add_point(owner, span.start_ns, span.start_ns, r.stack);
    fragment_.spans.push_back(span);
    return;
  }
  Ops::Row row;
  (void)fill(row, r);
  row.thread = owner;
  row.sequence = r.sequence;
  row.forward_thread = r.forward_thread;
  row.shapes = definitions_.text(r.shapes);
  row.types = definitions_.text(r.types);
  row.concrete_inputs = definitions_.text(r.concrete_inputs);
  add_point(owner, row.start_ns, row.end_ns, r.stack);
  fragment_.ops.push_back(row);
}

void RecordsToRows::on(const WireSpan& r) {
  Spans::Row row;
  (void)fill(row, r);
  row.thread = thread(r.thread_id);
  row.is_async = r.is_async ? 1 : 0;
  const std::string_view name = fragment_.strings[row.name];
  if (r.source == WireSpanSource::kStep) {
    if (const auto step = split_step_name(name)) {
      // PyTorch's name is whole with its number; that it has one besides tells the agent's steps from the program's.
      if (step->first != "ProfilerStep") row.name = fragment_.strings.intern(std::string(step->first));
      row.step_number = step->second;
    }
  }
  add_point(row.thread, row.start_ns, row.start_ns, r.stack);
  fragment_.spans.push_back(row);
}

void RecordsToRows::on(const WireCall& r) {
  Calls::Row row;
  (void)fill(row, r);
  row.thread = thread(r.thread_id);
  if (const StackNode stack = definitions_.stack(r.stack); definitions_.node(stack).is_native) {
    native_calls_.push_back({{row.start_ns, row.end_ns, stack}, row.thread, row.name});
  } else {
    add_point(row.thread, row.start_ns, row.end_ns, r.stack);
  }
  fragment_.calls.push_back(row);
  if (r.op != 0 && r.correlation != 0) {
    calls_without_op_row_[r.correlation] = {definitions_.text(r.op), definitions_.stack(r.stack)};
  }
}

void RecordsToRows::on(const WireGpuEvent& r) {
  GpuEvents::Row row;
  const bool is_sound = fill(row, r);
  row.fault = is_sound ? TimeFault::kNone : TimeFault::kBadDuration;
  row.stream = fragment_.stream(r.device, fragment_.strings[number_text(r.stream)]);
  row.device = fragment_.streams.device[row.stream];
  row.kind = static_cast<GpuEventKind>(r.kind);
  row.graph_id = r.graph_id;
  row.bytes = r.bytes;
  row.grid_x = r.grid_x;
  row.grid_y = r.grid_y;
  row.grid_z = r.grid_z;
  row.block_x = r.block_x;
  row.block_y = r.block_y;
  row.block_z = r.block_z;
  row.registers_count = r.registers_count;
  row.shared_bytes = r.shared_bytes;
  row.occupancy_percent = -1;
  fragment_.gpu_events.push_back(row);
  graph_node_of_event_.push_back(r.graph_node);
}

void RecordsToRows::on(const WireGraphNode& r) {
  graph_nodes_[r.graph_node] = {definitions_.text(r.op), definitions_.stack(r.stack)};
}

void RecordsToRows::on(const WireSync& r) {
  GpuSpans::Row row;
  (void)fill(row, r);
  row.stream = fragment_.stream(r.device, fragment_.strings[number_text(r.stream)]);
  row.device = fragment_.streams.device[row.stream];
  row.category = fragment_.strings.intern("cuda_sync");
  fragment_.gpu_spans.push_back(row);
}

void RecordsToRows::on(const WireOverhead& r) {
  OtherEvents::Row row;
  (void)fill(row, r);
  row.category = fragment_.strings.intern("overhead");
  row.process_key = fragment_.strings.intern(process_key_);
  row.thread_key = number_text(r.thread_id);
  row.phase = 'X';
  fragment_.other_events.push_back(row);
}

void RecordsToRows::on(const WireMemory& r) {
  if (r.source == WireMemorySource::kCuda) return memory_.add(r, offset_);
  MemoryEvents::Row row;
  row.time_ns = time(r.time_ns);
  row.thread = thread(r.thread_id);
  row.address = static_cast<std::int64_t>(r.address);
  row.bytes = r.bytes;
  row.total_allocated_bytes = r.total_allocated_bytes;
  row.total_reserved_bytes = r.total_reserved_bytes;
  row.device_type = r.device_type;
  row.device_number = r.device_number;
  row.file_order = offset_;
  add_point(row.thread, row.time_ns, row.time_ns, r.stack);
  fragment_.memory_events.push_back(row);
}

void RecordsToRows::on(const WireSample& r) {
  const TimeNs at = time(r.time_ns);
  add_point(thread(r.thread_id), at, at, r.stack);
}

void RecordsToRows::on(const WireCounter& r) {
  Counters::Row row;
  row.time_ns = time(r.time_ns);
  row.process_key = fragment_.strings.intern(process_key_);
  row.name = definitions_.text(r.name);
  row.series = fragment_.strings.intern("value");
  row.value = r.value;
  fragment_.counters.push_back(row);
}

void RecordsToRows::on(const WireWindow& r) {
  const Interval window{time(r.start_ns), time(r.end_ns)};
  if (window.start_ns <= window.end_ns) windows_.push_back(window);
}

void RecordsToRows::on(const WireLedger& r) { ledgers_[r.device] = r; }

void RecordsToRows::on(const WireRemark& r) {
  std::string text(fragment_.strings[definitions_.text(r.text)]);
  if (!text.empty() && std::find(remarks_.begin(), remarks_.end(), text) == remarks_.end())
    remarks_.push_back(std::move(text));
}

void RecordsToRows::on(const WireEnd& r) {
  has_end_ = true;
  if (r.dropped_record_count > 0) {
    note(NoteKind::kRecordsDropped, NoteSeverity::kLost, "the file was full (its cap, or the disk)",
         r.dropped_record_count);
  }
}

std::string RecordsToRows::remarks() const {
  std::string all;
  for (const std::string& remark : remarks_) all += (all.empty() ? "" : "; ") + remark;
  return all;
}

// The recorder's own account. What it dropped is lost; what found no partner is judged from the rows themselves
// (analyze/ledger.h), which know of graphs and of what was queued before.
void RecordsToRows::note_ledgers() {
  for (const auto& [device, ledger] : ledgers_) {
    const std::string where = device < 0 ? " on the host" : " on GPU " + std::to_string(device);
    auto lost = [&](std::uint64_t count, const char* what) {
      if (count > 0) note(NoteKind::kRecordsDropped, NoteSeverity::kLost, what + where, count);
    };
    lost(ledger.dropped_by_cupti_count, "CUPTI had no buffer left");
    lost(ledger.dropped_by_cap_count, "rings, memory or the file were full");
    lost(ledger.dropped_host_count, "operators, spans or calls found no room");
    if (ledger.unmatched_count > 0) {
      note(NoteKind::kUnmatchedRecords, NoteSeverity::kInfo,
           std::to_string(ledger.launch_count) + " launches and " + std::to_string(ledger.gpu_event_count) +
               " GPU records" + where,
           ledger.unmatched_count);
    }
  }
}

void RecordsToRows::add_frames() {
  for (std::size_t i = 0; i < points_.size(); ++i) {
    std::vector<StackPoint> points = std::move(points_.raw()[i]);
    add_stack_frames(definitions_, points, windows_, ThreadId(i), fragment_.frames);
  }
}

// Native stacks are known at single calls, and nobody looks at the thread between them: their frames last as long as
// the call. What of it is CUDA's own, linked into the program, is no caller of it.
void RecordsToRows::add_native_frames() {
  for (std::string& path : definitions_.find_native_names()) {
    remarks_.push_back(path + " is not the file that ran: it has been built anew, so what it called has no names");
  }
  std::vector<StackNode> frames;
  for (const NativeCall& call : native_calls_) {
    if (call.at.end_ns <= call.at.start_ns) continue;
    definitions_.frames(call.at.stack, frames);
    std::size_t kept = frames.size();
    for (std::size_t i = frames.size(); i-- > 0;) {
      if (definitions_.is_inside_call(frames[i], fragment_.strings[call.name])) kept = i;
    }
    // All of it is, where the stack was cut inside CUDA.
    if (kept == 0) kept = frames.size();
    for (std::size_t i = 0; i < kept; ++i) {
      Frames::Row row;
      row.start_ns = call.at.start_ns;
      row.end_ns = call.at.end_ns;
      row.thread = call.thread;
      row.name = definitions_.shown_frame(frames[i]);
      fragment_.frames.push_back(row);
    }
  }
}

// Replays of a graph have no operator and no line of their own: those of the capture, or of a launch whose operator was
// recorded by name alone.
void RecordsToRows::name_gpu_events() {
  GpuEvents& events = fragment_.gpu_events;
  for (const GpuEventId id : events.ids().ids()) {
    const Origin* origin = nullptr;
    if (const MaybeInt node = graph_node_of_event_[id.value]; node.has_value()) {
      if (const auto at = graph_nodes_.find(node.value()); at != graph_nodes_.end()) origin = &at->second;
    }
    if (const MaybeInt call = events.correlation[id]; origin == nullptr && call.has_value()) {
      const auto at = calls_without_op_row_.find(static_cast<std::uint32_t>(call.value()));
      if (at != calls_without_op_row_.end()) origin = &at->second;
    }
    if (origin == nullptr) continue;
    events.op_name[id] = origin->op;
    events.call_stack[id] = definitions_.call_stack(origin->stack);
  }
}

void RecordsToRows::finish(Builder& builder) {
  std::stable_sort(windows_.begin(), windows_.end(),
                   [](const Interval& a, const Interval& b) { return a.end_ns < b.end_ns; });
  memory_.finish(fragment_, {[this](TimeNs absolute_ns) { return time(absolute_ns); },
                             [this](std::int64_t id) { return thread(id); }, fragment_.strings.intern(process_key_)});
  add_native_frames();
  add_frames();
  name_gpu_events();
  note_ledgers();
  if (definitions_.undefined_count() > 0) {
    note(NoteKind::kUndefinedName, NoteSeverity::kLost, "their definitions stood in a damaged chunk",
         definitions_.undefined_count());
  }
  const CaptureInfo from = info_.value_or(CaptureInfo());
  TraceInfo& info = builder.info();
  info.base_ns = base_ns_;
  info.rank = optional_of(from.rank);
  info.world_size = optional_of(from.world_size);
  info.host_name = from.host_name;
  info.cuda_runtime_version = optional_of(from.cuda_runtime_version);
  info.cuda_driver_version = optional_of(from.cuda_driver_version);
  info.cupti_version = optional_of(from.cupti_version);
  info.record_shapes = from.records_shapes;
  info.profile_memory = from.records_memory;
  info.with_stack = from.records_stacks;
  info.command_line = from.command_line;
  info.python_version = from.python_version;
  info.torch_version = from.torch_version;
  info.process_start_ns = optional_of(from.process_start_ns);
  info.windows = std::move(windows_);
  info.remarks = remarks_;
  for (DeviceProperties& device : devices_) builder.set_device_properties(std::move(device));
  for (PlaceName& name : names_) builder.set_place_name(std::move(name));
  builder.add(std::move(fragment_));
}

}  // namespace stepscope::capture_format
