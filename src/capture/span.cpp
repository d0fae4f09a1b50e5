// The writing half of stepscope/span.h: what a span does while something records.
//
// A beginning reads the clock last and an end reads it first, so a span's own cost lies outside of it, in its parent.
#include "stepscope/span.h"

#include <array>
#include <bit>

#include "capture/agent_link.h"
#include "capture/detail_entry.h"
#include "capture/recorder.h"
#include "capture/stack.h"
#include "capture/state_bits.h"
#include "capture/thread_log.h"
#include "capture/thread_state.h"
#include "capture/tick_clock.h"

namespace stepscope {
namespace {

// Of a span that is in no recording, only in the agent's capture: no log has this number.
constexpr std::uint64_t kNoLog = ~std::uint64_t{0};
// The same of an asynchronous span: the state of no recording.
constexpr std::uint64_t kOnlyHeard = state_bits::kHeard;

// The thread's place in the recording that is on, and what that asks for; `thread` is nullptr when none is on (any
// more). `is_heard`: by the agent.
struct Place {
  ThreadState* thread;
  std::uint64_t state;
  bool is_heard;
};
inline Place enter() {
  ThreadState& thread = thread_state;
  std::uint64_t state = detail::load_recorder_state();
  bool is_heard = false;
  if ((state & state_bits::kAgent) != 0) [[unlikely]] {
    state = hear_agent(state);
    is_heard = (state & state_bits::kHeard) != 0;
    state &= ~state_bits::kAgent;
  }
  if (thread.recorder_state == state || attach_thread(thread, state)) [[likely]]
    return {&thread, state, is_heard};
  return {nullptr, 0, is_heard};
}

// Last of all: what comes after it is in the span.
inline void start(detail::OpenSpan& span) { span.start_ticks = read_ticks(); }

inline void begin(detail::OpenSpan& span, ThreadState& thread, std::uint32_t name) {
  thread.log->count_opened();
  span.name = name;
  span.log = thread.log_number;
  start(span);
}

[[gnu::cold, gnu::noinline]] void begin_heard(detail::OpenSpan& span, std::string_view name) {
  span.agent_handle = open_agent_span(name);
  if (span.agent_handle == 0) return;
  span.log = kNoLog;
  start(span);
}

// Stack and source line, beside what `source` has already; 0 without room.
[[gnu::cold, gnu::noinline]] std::uint32_t write_place(ThreadState& thread, DetailSource source, const char* file,
                                                       std::uint32_t line, const void* innermost) {
  std::array<void*, kMostFrames> frames;
  source.stack = std::span(frames).first(capture_stack(frames, innermost));
  source.file = file;
  source.line = line;
  return write_detail(thread, source).value_or(0);
}

template <class Entry>
void write(ThreadState& thread, const Entry& entry) {
  if (!append(thread, entry)) [[unlikely]]
    thread.log->count_dropped(entry.head.entry == EntryKind::kEnded);
}

RecordEntry point(RecordKind kind, std::uint32_t name, std::int64_t value) {
  const std::uint64_t now = read_ticks();
  return {{head_of<RecordEntry>(EntryKind::kPoint, kind, name), now, now}, value, 0};
}

void open_any_operator(detail::OpenSpan& span, std::string_view name, DetailSource source, double flops,
                       const std::source_location& where, const void* innermost) {
  const auto [thread, state, is_heard] = enter();
  span.is_operator = true;
  if (is_heard) [[unlikely]]
    begin_heard(span, name);
  if (thread == nullptr) return;
  if ((state & state_bits::kShapes) == 0) source = {};
  if ((state & state_bits::kFlops) != 0) source.flops = flops;
  span.detail = 0;
  if ((state & state_bits::kStacks) != 0) {
    span.detail = write_place(*thread, source, where.file_name(), where.line(), innermost);
  } else if (source.flops >= 0 || !source.inputs.empty() || source.dims.size() > 0) {
    span.detail = write_detail(*thread, source).value_or(0);
  }
  begin(span, *thread, intern_name(name).value);
}

}  // namespace

namespace detail {

void open_span(OpenSpan& span, std::string_view name, const std::source_location& where) {
  const auto [thread, state, is_heard] = enter();
  if (is_heard) [[unlikely]]
    begin_heard(span, name);
  if (thread == nullptr) return;
  if ((state & state_bits::kStacks) != 0) [[unlikely]]
    span.detail = write_place(*thread, {}, where.file_name(), where.line(), __builtin_return_address(0));
  begin(span, *thread, intern_name(name).value);
}

void open_span(OpenSpan& span, SpanSite& site) {
  const auto [thread, state, is_heard] = enter();
  if (is_heard) [[unlikely]]
    begin_heard(span, site.name);
  if (thread == nullptr) return;
  if ((state & state_bits::kStacks) != 0) [[unlikely]]
    span.detail = write_place(*thread, {}, site.file, site.line, __builtin_return_address(0));
  std::uint32_t name = site.name_id.load(std::memory_order_relaxed);
  if (name == 0) [[unlikely]] {
    name = intern_name(site.name).value;
    site.name_id.store(name, std::memory_order_relaxed);
  }
  begin(span, *thread, name);
}

void open_operator(OpenSpan& span, std::string_view name, std::span<const OpInput> inputs, double flops,
                   const std::source_location& where) {
  DetailSource source;
  source.inputs = inputs;
  open_any_operator(span, name, source, flops, where, __builtin_return_address(0));
}

void open_operator(OpenSpan& span, std::string_view name, DimLists dims, double flops,
                   const std::source_location& where) {
  DetailSource source;
  source.dims = dims;
  open_any_operator(span, name, source, flops, where, __builtin_return_address(0));
}

void close_span(OpenSpan& span) {
  const std::uint64_t end = read_ticks();
  ThreadState& thread = thread_state;
  if (thread.log_number == span.log) [[likely]] {
    const RecordKind kind = span.is_operator ? RecordKind::kOp : RecordKind::kSpan;
    if (span.detail == 0) [[likely]] {
      write(thread, SpanEntry{head_of<SpanEntry>(EntryKind::kEnded, kind, span.name), span.start_ticks, end});
    } else {
      write(thread,
            RecordEntry{
                {head_of<RecordEntry>(EntryKind::kEnded, kind, span.name), span.start_ticks, end}, 0, span.detail});
    }
  }
  if (span.agent_handle != 0) [[unlikely]] {
    close_agent_span(span, end);
    span.agent_handle = 0;
  }
  span.log = 0;
}

AsyncToken open_async(std::string_view name) {
  static std::atomic<std::int64_t> last_id{0};
  const auto [thread, state, is_heard] = enter();
  if (thread == nullptr && !is_heard) return {};
  AsyncToken token{state, last_id.fetch_add(1, std::memory_order_relaxed) + 1, intern_name(name).value};
  if (is_heard) open_agent_async(token.id, name);
  if (thread == nullptr) {
    token.recording = kOnlyHeard;
    return token;
  }
  if (append(*thread, point(RecordKind::kAsyncBegin, token.name, token.id))) return token;
  thread->log->count_dropped(false);
  return {};
}

void close_async(const AsyncToken& token) {
  const auto [thread, state, is_heard] = enter();
  if (is_heard) close_agent_async(token.id);
  if (thread == nullptr || state != token.recording) return;
  write(*thread, point(RecordKind::kAsyncEnd, token.name, token.id));
}

void write_counter(std::string_view name, double value) {
  const auto [thread, state, is_heard] = enter();
  if (is_heard) write_agent_counter(name, value);
  if (thread == nullptr) return;
  write(*thread, point(RecordKind::kCounter, intern_name(name).value, std::bit_cast<std::int64_t>(value)));
}

void write_instant(std::string_view name) {
  const auto [thread, state, is_heard] = enter();
  if (is_heard) write_agent_instant(name);
  if (thread == nullptr) return;
  write(*thread, point(RecordKind::kInstant, intern_name(name).value, 0));
}

void write_allocation(const Allocation& allocation, const std::source_location& where) {
  const auto [thread, state, is_heard] = enter();
  if (is_heard) write_agent_allocation(allocation);
  if (thread == nullptr || (state & state_bits::kMemory) == 0) return;
  std::uint64_t number = 0;
  if ((state & state_bits::kStacks) != 0) {
    number = write_place(*thread, {}, where.file_name(), where.line(), __builtin_return_address(0));
  }
  const std::uint64_t now = read_ticks();
  const EntryHead head =
      head_of<AllocationEntry>(EntryKind::kPoint, RecordKind::kAllocation, intern_name("[memory]").value);
  write(*thread, AllocationEntry{{{head, now, now}, allocation.bytes, number},
                                 reinterpret_cast<std::uintptr_t>(allocation.address),
                                 allocation.total_allocated_bytes,
                                 allocation.total_reserved_bytes,
                                 allocation.is_cuda ? 1 : 0,
                                 allocation.device_number});
}

}  // namespace detail

void set_thread_name(std::string_view name) {
  ThreadState& thread = thread_state;
  thread.thread_name = intern_name(name).value;
  const auto [joined, state, is_heard] = enter();
  if (joined == nullptr) return;
  const EntryHead entry{EntryKind::kThreadName, RecordKind::kSpan, 1, thread.thread_name};
  if (!append(*joined, entry)) joined->log->count_dropped(false);
}

void write_record(const Record& record) {
  const auto [thread, state, is_heard] = enter();
  if (thread == nullptr) return;
  const std::uint32_t name = record.name.has_value() ? record.name.value : 0;
  const RecordEntry entry{{head_of<RecordEntry>(EntryKind::kTimed, record.kind, name),
                           static_cast<std::uint64_t>(record.start_ns), static_cast<std::uint64_t>(record.end_ns)},
                          record.value,
                          0};
  write(*thread, entry);
}

}  // namespace stepscope
