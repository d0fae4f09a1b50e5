// One function a kind of event. Names and stacks are looked up by the process's numbers in plain arrays: both count up
// from 1 and there are few of them.
#include "agent/hook_writer.h"

#include <array>
#include <bit>
#include <string_view>

#include "agent/cupti_callbacks.h"
#include "agent/native_stacks.h"
#include "agent/parts.h"

namespace stepscope::agent {
namespace {

// Counts that are stored plus one, so that 0 can say "unknown".
MaybeInt less_one(std::uint64_t stored) {
  return stored == 0 ? MaybeInt{} : MaybeInt{static_cast<std::int64_t>(stored - 1)};
}

// HookEvent::detail names up to three lines: shapes, types, concrete inputs.
std::array<std::string_view, 3> detail_lines(std::string_view text) {
  std::array<std::string_view, 3> lines;
  for (std::string_view& line : lines) {
    const std::size_t end = text.find('\n');
    line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return lines;
}

// No record of the device will ever carry its number. What went into a graph runs at the graph's launches, under their
// numbers; a launch that failed ran nothing. A copy that failed may have run: the error can be an earlier call's.
bool started_nothing(std::uint16_t flags) {
  const auto kind = static_cast<CallClass>(flags & kCallClassMask);
  const bool launches = kind == CallClass::kLaunch || kind == CallClass::kGraph;
  if ((flags & kCallCaptured) != 0) return launches || kind == CallClass::kCopy;
  return (flags & kCallFailed) != 0 && launches;
}

}  // namespace

WireString HookWriter::name_of(NameId name) {
  if (!name.has_value() || name.value == 0) return 0;
  if (name.value >= names_.size()) names_.resize(std::size_t{name.value} + 1);
  WireString& known = names_[name.value];
  if (known == 0) known = file_.intern(name_text(name));
  return known;
}

WireStack HookWriter::stack_of(std::uint32_t stack) {
  if (stack == 0) return 0;
  const bool is_native = (stack & kNativeStackBit) != 0;
  std::vector<WireStack>& stacks = is_native ? native_stacks_ : stacks_;
  const std::size_t at = stack & ~kNativeStackBit;
  if (at >= stacks.size()) stacks.resize(at + 1);
  WireStack& known = stacks[at];
  if (known == 0) known = is_native ? write_native_stack(file_, stack) : write_python_stack(file_, stack);
  return known;
}

void HookWriter::write_thread(const RingThread& thread) {
  auto [known, is_new] = threads_.try_emplace(thread.thread_id, thread.name);
  if (!is_new && known->second == thread.name) return;
  known->second = thread.name;
  file_.on(WireThread{thread.thread_id, file_.intern(thread.name)});
}

void HookWriter::write_op(const HookEvent& event, std::int64_t thread_id) {
  WireOp op;
  op.start_ns = event.start_ns;
  op.end_ns = event.end_ns;
  op.thread_id = thread_id;
  op.name = name_of(event.name);
  op.scope = event.flags <= static_cast<std::uint16_t>(WireOpScope::kUser) ? static_cast<WireOpScope>(event.flags)
                                                                           : WireOpScope::kFunction;
  op.sequence = less_one(event.a);
  op.forward_thread = less_one(event.b);
  op.stack = stack_of(event.stack);
  if (event.detail != 0) {
    const auto [shapes, types, inputs] = detail_lines(name_text(NameId(std::size_t{event.detail - 1})));
    op.shapes = file_.intern(shapes);
    op.types = file_.intern(types);
    op.concrete_inputs = file_.intern(inputs);
  }
  file_.on(op);
}

void HookWriter::write_span(const HookEvent& event, std::int64_t thread_id, WireSpanSource source) {
  WireSpan span;
  span.start_ns = event.start_ns;
  span.end_ns = event.end_ns;
  span.thread_id = event.c != 0 ? static_cast<std::int64_t>(event.c) : thread_id;
  span.name = name_of(event.name);
  span.source = source;
  span.is_async = (event.flags & kSpanIsAsync) != 0;
  span.stack = stack_of(event.stack);
  file_.on(span);
}

void HookWriter::write_call(const HookEvent& event, std::int64_t thread_id) {
  WireCall call;
  call.start_ns = event.start_ns;
  call.end_ns = event.end_ns;
  call.thread_id = thread_id;
  call.name = name_of(event.name);
  call.correlation = static_cast<std::uint32_t>(event.a);
  call.stack = stack_of(event.stack);
  call.op = name_of(NameId(static_cast<std::size_t>(event.b)));
  const auto kind = static_cast<CallClass>(event.flags & kCallClassMask);
  const bool ran = (event.flags & (kCallFailed | kCallCaptured)) == 0;
  ledger_.note_call(call.correlation, kind, ran && (event.flags & kCallRecorded) != 0);
  if (started_nothing(event.flags)) call.correlation = 0;
  file_.on(call);
}

void HookWriter::write_allocation(const HookEvent& event, std::int64_t thread_id) {
  WireMemory memory;
  memory.time_ns = event.start_ns;
  memory.thread_id = thread_id;
  memory.address = event.a;
  memory.bytes = std::bit_cast<std::int64_t>(event.b);
  memory.total_allocated_bytes = static_cast<std::int64_t>(event.c);
  memory.total_reserved_bytes = event.end_ns;
  memory.device_type = event.flags >> 8;
  memory.device_number = (event.flags & 0xFF) - 1;
  memory.stack = stack_of(event.stack);
  file_.on(memory);
}

void HookWriter::write_device_memory(const HookEvent& event, std::int64_t thread_id) {
  constexpr std::int32_t kOnDevice = 1;
  WireMemory memory;
  memory.time_ns = event.start_ns;
  memory.thread_id = thread_id;
  memory.address = event.a;
  memory.bytes = std::bit_cast<std::int64_t>(event.b);
  memory.source = WireMemorySource::kCuda;
  memory.correlation = static_cast<std::uint32_t>(event.c);
  memory.kind = static_cast<WireMemoryKind>(event.detail);
  memory.device_type = kOnDevice;
  memory.device_number = std::int32_t{event.flags} - 1;
  file_.on(memory);
}

void HookWriter::write_memory_level(const HookEvent& event, std::int64_t thread_id) {
  const auto known = [](std::int64_t bytes) { return bytes < 0 ? MaybeInt{} : MaybeInt{bytes}; };
  WireMemoryLevel level;
  level.time_ns = event.start_ns;
  level.thread_id = thread_id;
  level.device_number = event.flags;
  level.allocated_bytes = known(std::bit_cast<std::int64_t>(event.a));
  level.allocated_peak_bytes = known(std::bit_cast<std::int64_t>(event.b));
  level.reserved_bytes = known(std::bit_cast<std::int64_t>(event.c));
  level.reserved_peak_bytes = known(event.end_ns);
  file_.on(level);
}

void HookWriter::write(const RingThread& thread, std::span<const HookEvent> events) {
  write_thread(thread);
  for (const HookEvent& event : events) {
    switch (event.kind) {
      case HookEventKind::kOp:
        write_op(event, thread.thread_id);
        break;
      case HookEventKind::kSpan:
        write_span(event, thread.thread_id, static_cast<WireSpanSource>(event.flags & kSpanSourceMask));
        break;
      case HookEventKind::kStep:
        write_span(event, thread.thread_id, WireSpanSource::kStep);
        break;
      case HookEventKind::kCall:
        write_call(event, thread.thread_id);
        break;
      case HookEventKind::kAllocation:
        write_allocation(event, thread.thread_id);
        break;
      case HookEventKind::kDeviceMemory:
        write_device_memory(event, thread.thread_id);
        break;
      case HookEventKind::kOverhead:
        file_.on(WireOverhead{event.start_ns, event.end_ns, thread.thread_id, name_of(event.name)});
        break;
      case HookEventKind::kMemoryLevel:
        write_memory_level(event, thread.thread_id);
        break;
      case HookEventKind::kSample: {
        const auto sampled = static_cast<std::int64_t>(event.a);
        file_.on(WireSample{event.start_ns, sampled != 0 ? sampled : thread.thread_id, stack_of(event.stack)});
        break;
      }
      case HookEventKind::kCounter:
        file_.on(WireCounter{event.start_ns, name_of(event.name), std::bit_cast<double>(event.a)});
        break;
    }
  }
}

}  // namespace stepscope::agent
