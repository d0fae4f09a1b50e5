// Libraries stand in a fixed list of atomics: it is read in a child while it is forked, where a lock may be held by a
// thread that the child does not have. Sixteen copies of the library in one process are more than any plugin host has
// shown; the next is refused in words.
#include "agent/bridge.h"

#include <array>
#include <atomic>
#include <bit>
#include <cstdio>
#include <string>
#include <string_view>

#include "agent/agent_state.h"
#include "agent/parts.h"
#include "agent/session_gpu.h"
#include "capture/event_ring.h"
#include "capture/recorder.h"
#include "capture/tick_clock.h"

namespace stepscope::agent {
namespace {

constinit std::array<std::atomic<const bridge::Library*>, 16> libraries{};

// A handle: the name's number, whether it marks a step, and which thread it is on, so that an end elsewhere is noticed.
constexpr std::uint64_t kIsStep = std::uint64_t{1} << 32;
constexpr unsigned kThreadShift = 33;
constinit std::atomic<std::uint64_t> thread_count{0};
constinit thread_local std::uint64_t thread_mark __attribute__((tls_model("initial-exec"))) = 0;

std::uint64_t mark_of_thread() {
  if (thread_mark == 0) thread_mark = (thread_count.fetch_add(1, std::memory_order_relaxed) + 1) << kThreadShift;
  return thread_mark;
}

bool wants_spans() noexcept {
  const AgentState& agent = state();
  return agent.is_active && !agent.is_disarmed;
}

TimeNs time_of(std::uint64_t ticks) { return recorder_clock().to_ns(ticks); }

// What keeps this library and us apart; nullptr: nothing.
const char* refusal_of(const bridge::Library& library) {
  if (library.version != bridge::kVersion || library.size_bytes < sizeof(bridge::Library))
    return "a Stepscope library of another version is in the program: its spans are missing (link the agent's version)";
  if (library.tick_source != static_cast<std::uint32_t>(detail::tick_source))
    return "a Stepscope library in the program reads another clock than the agent: its spans are missing";
  return nullptr;
}

bool enter_into_list(const bridge::Library* library) {
  for (auto& place : libraries) {
    if (place.load() == library) return true;
  }
  for (auto& place : libraries) {
    const bridge::Library* nobody = nullptr;
    if (place.compare_exchange_strong(nobody, library)) return true;
  }
  return false;
}

// A sentence may come before anything else is armed, and is to be said at exit all the same.
void say(const char* sentence) noexcept {
  complain(sentence);
  (void)arm("refusal");
}

int join(const bridge::Library* library) noexcept {
  if (const char* const why = refusal_of(*library); why != nullptr) {
    say(why);
    return 0;
  }
  if (!enter_into_list(library)) {
    say("more copies of the Stepscope library are in the program than the agent listens to: some spans are missing");
    return 0;
  }
  // Tells the libraries if that makes it active; one that joins later is told here.
  const bool is_armed = wants_spans() || arm("library");
  library->set_heard(wants_spans() ? 1 : 0);
  return is_armed ? 1 : 0;
}

void leave(const bridge::Library* library) noexcept {
  for (auto& place : libraries) {
    const bridge::Library* expected = library;
    place.compare_exchange_strong(expected, nullptr);
  }
}

void read_clock(bridge::Clock* clock) noexcept {
  const TickMapping mapping = recorder_clock();
  *clock = {mapping.base_ticks, mapping.base_ns, mapping.ns_per_tick_q40};
}

std::uint64_t open_span(const char* name, std::size_t name_bytes) noexcept try {
  const std::string_view text(name, name_bytes);
  const bool is_step = is_step_mark(text);
  if (!is_step && !is_window_open()) return 0;
  const NameId id = intern_name(text);
  return id.value | (is_step ? kIsStep : 0) | mark_of_thread();
} catch (...) {
  return 0;
}

void close_span(const bridge::Span* span) noexcept try {
  const bool is_elsewhere = (span->handle >> kThreadShift) != (mark_of_thread() >> kThreadShift);
  if (is_elsewhere && span->is_async == 0) return;
  HookEvent event;
  event.name = NameId(static_cast<std::size_t>(static_cast<std::uint32_t>(span->handle)));
  event.start_ns = time_of(span->start_ticks);
  event.end_ns = time_of(span->end_ticks);
  if (span->is_operator != 0) {
    event.kind = HookEventKind::kOp;
    event.flags = static_cast<std::uint16_t>(WireOpScope::kFunction);
  } else {
    event.kind = HookEventKind::kSpan;
    event.flags = static_cast<std::uint16_t>(WireSpanSource::kLibrary);
    if (span->is_async != 0) event.flags |= kSpanIsAsync;
    event.c = static_cast<std::uint64_t>(span->thread_id);
  }
  if (is_window_open()) emit_event(event);
  if ((span->handle & kIsStep) != 0) note_step_mark(name_text(event.name), event.start_ns, event.end_ns);
} catch (...) {
  // A span is missing.
}

void write_counter(const char* name, std::size_t name_bytes, std::uint64_t ticks, double value) noexcept try {
  if (!is_window_open()) return;
  HookEvent event;
  event.kind = HookEventKind::kCounter;
  event.name = intern_name({name, name_bytes});
  event.start_ns = event.end_ns = time_of(ticks);
  event.a = std::bit_cast<std::uint64_t>(value);
  emit_event(event);
} catch (...) {
  // A value is missing.
}

void write_allocation(const bridge::Allocation* allocation) noexcept {
  if (!options().memory || !is_window_open()) return;
  HookEvent event;
  event.kind = HookEventKind::kAllocation;
  event.start_ns = time_of(allocation->ticks);
  event.end_ns = allocation->total_reserved_bytes;
  event.a = allocation->address;
  event.b = static_cast<std::uint64_t>(allocation->bytes);
  event.c = static_cast<std::uint64_t>(allocation->total_allocated_bytes);
  const int device = allocation->is_cuda != 0 ? allocation->device_number + 1 : 0;
  event.flags = static_cast<std::uint16_t>((allocation->is_cuda != 0 ? 1 << 8 : 0) | (device & 0xFF));
  emit_event(event);
}

bridge::GpuAnswer answer(const SessionGpuAnswer& given, char* reason, std::size_t reason_bytes) {
  if (reason != nullptr && reason_bytes > 0) std::snprintf(reason, reason_bytes, "%s", given.reason.c_str());
  return given.answer;
}

bridge::GpuAnswer prepare_gpu(int needs_cuda, char* reason, std::size_t reason_bytes) noexcept try {
  return answer(prepare_session_gpu(needs_cuda != 0), reason, reason_bytes);
} catch (...) {
  return bridge::GpuAnswer::kFailed;
}

bridge::GpuAnswer start_gpu(int needs_cuda, char* reason, std::size_t reason_bytes) noexcept try {
  return answer(start_session_gpu(needs_cuda != 0), reason, reason_bytes);
} catch (...) {
  return bridge::GpuAnswer::kFailed;
}

void stop_gpu(const bridge::GpuSink* sink) noexcept try { stop_session_gpu(*sink); } catch (...) {
  // What was handed over so far is what there is.
}

constexpr bridge::Agent kBridge{
    sizeof(bridge::Agent), bridge::kVersion, say,         join,      leave,   read_clock, open_span, close_span,
    write_counter,         write_allocation, prepare_gpu, start_gpu, stop_gpu};

}  // namespace

void tell_libraries() noexcept {
  const int is_heard = wants_spans() ? 1 : 0;
  for (const auto& place : libraries) {
    if (const bridge::Library* const library = place.load(); library != nullptr) library->set_heard(is_heard);
  }
}

const bridge::Agent& bridge_of_agent() noexcept { return kBridge; }

void forget_libraries() noexcept {
  for (auto& place : libraries) {
    if (const bridge::Library* const library = place.exchange(nullptr); library != nullptr) library->set_heard(0);
  }
}

}  // namespace stepscope::agent

// Data, not a function: the library reads size and version before it calls anything.
extern "C" __attribute__((visibility("default"))) const stepscope::bridge::Agent stepscope_agent_bridge =
    stepscope::agent::kBridge;
