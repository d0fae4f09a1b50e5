// The agent's hooks for test scripts: ctypes calls these and reads text back.
#include <cstdio>
#include <ctime>
#include <string>

#include "agent/agent_state.h"
#include "agent/parts.h"
#include "agent/python_frames.h"
#include "agent/python_stacks.h"
#include "agent/remarks.h"
#include "agent/torch_hook.h"
#include "capture/event_ring.h"

#define PROBE extern "C" __attribute__((visibility("default")))

namespace {

using namespace stepscope;
using namespace stepscope::agent;

std::string& text() {
  static auto* const one = new std::string;
  return *one;
}

long thread_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

PROBE void probe_listen(int on) { hook_events_on = on != 0; }
PROBE const char* probe_remarks() {
  text().clear();
  for (const Remark& remark : remarks_from(0)) text() += remark.text + "\n";
  return text().c_str();
}

// Minor version once proven; 0: not (yet).
PROBE int probe_attach_python() {
  (void)attach_python();
  return python_layout().minor;
}
PROBE void probe_leave_python() { leave_python(); }
PROBE unsigned probe_stack() { return python_stack_now(); }
PROBE unsigned probe_stack_of(long thread_id) { return python_stack_of(thread_id); }
PROBE unsigned probe_stack_count() { return stack_count(); }
// FILE:LINE FUNCTION, innermost first.
PROBE const char* probe_stack_text(unsigned number) {
  text().clear();
  for (const StackFrame& frame : frames_of(number)) {
    const std::uint32_t line = line_of(python_layout().minor, *frame.code, frame.instruction);
    text() += frame.code->file + ":" + std::to_string(line) + " " + frame.code->function + "\n";
  }
  return text().c_str();
}
// Nanoseconds of processor time a call.
PROBE double probe_stack_cost(int count) {
  const long start = thread_cpu_ns();
  for (int i = 0; i < count; ++i) (void)python_stack_now();
  return static_cast<double>(thread_cpu_ns() - start) / count;
}
PROBE double probe_look_cost(long thread_id, int count) {
  const long start = thread_cpu_ns();
  for (int i = 0; i < count; ++i) (void)python_stack_of(thread_id);
  return static_cast<double>(thread_cpu_ns() - start) / count;
}

// With shapes, and as for graphs (which keep the stacks of forward operators).
PROBE int probe_attach_torch(int everything) {
  state().options.shapes = state().options.graphs = everything != 0;
  return attach_torch() ? 1 : 0;
}
PROBE const char* probe_torch_version() { return (text() = torch_version()).c_str(); }
PROBE unsigned probe_forward_stack() { return forward_stack_now(); }
// 0 off, 1 user scopes, 2 all.
PROBE void probe_detail(int detail) { set_torch_detail(static_cast<TorchDetail>(detail)); }
PROBE long probe_lost() { return static_cast<long>(lost_op_count() + dropped_event_count()); }
PROBE long probe_forget_events() {
  long count = 0;
  drain_events(
      [&](const RingThread&, std::span<const HookEvent> events) { count += static_cast<long>(events.size()); });
  return count;
}
PROBE void probe_ring_cap(long bytes) { set_ring_cap(static_cast<std::uint64_t>(bytes)); }
// One event a record, fields separated by \x1f, records by \x1e: thread, kind, flags, start, end, sequence, forward
// thread, stack, name, detail.
PROBE const char* probe_events() {
  text().clear();
  drain_events([&](const RingThread& thread, std::span<const HookEvent> events) {
    for (const HookEvent& event : events) {
      for (const long number : {static_cast<long>(thread.thread_id), static_cast<long>(event.kind), long{event.flags},
                                static_cast<long>(event.start_ns), static_cast<long>(event.end_ns),
                                static_cast<long>(event.a) - 1, static_cast<long>(event.b) - 1, long{event.stack}}) {
        text() += std::to_string(number) + "\x1f";
      }
      text() += name_text(event.name);
      text() += "\x1f";
      if (event.detail != 0) text() += name_text(NameId(std::size_t{event.detail - 1}));
      text() += "\x1e";
    }
  });
  return text().c_str();
}
