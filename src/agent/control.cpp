// The one controller of this process, behind the functions of parts.h, and the requests that come by the socket.
//
// It is made anew in a forked child, whose copy of the old one may be locked by a thread that the child does not have;
// the old one is recognised by its process id and never touched there. None is ever freed: hooks may be inside.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <string>

#include "agent/agent_state.h"
#include "agent/control_socket.h"
#include "agent/controller.h"
#include "agent/keep.h"
#include "agent/parts.h"
#include "agent/process_facts.h"
#include "agent/toggle_signal.h"
#include "capture/event_ring.h"

namespace stepscope::agent {
namespace {

std::atomic<Controller*> current{nullptr};
std::atomic<bool> start_was_requested{false};  // by the program, before there was a controller

Controller* controller() noexcept {
  Controller* const found = current.load(std::memory_order_acquire);
  return found != nullptr && found->process_id() == getpid() ? found : nullptr;
}

void write_step(std::int64_t step, TimeNs start_ns, TimeNs end_ns) {
  HookEvent event;
  event.kind = HookEventKind::kStep;
  event.name = intern_name("ProfilerStep#" + std::to_string(step));
  event.start_ns = start_ns;
  event.end_ns = end_ns;
  event.a = static_cast<std::uint64_t>(step);
  emit_event(event);
}

ControllerParts real_parts() {
  ControllerParts parts;
  parts.open_window = [](std::int64_t first_step) { return open_window(first_step); };
  parts.close_window = [](std::int64_t last_step) { return close_window(last_step); };
  parts.prepare_window = [] { prepare_window(); };
  parts.hear_spans = [](bool are_wanted) { hear_spans_between_windows(are_wanted); };
  parts.cancel_window = [] { cancel_window(); };
  parts.write_step = write_step;
  parts.now = now_ns;
  parts.remark = [](std::string_view sentence) { remark(sentence); };
  parts.publish = [socket = options().control_socket.empty() ? std::string{}
                                                             : agent_socket_path(options().control_socket, getpid()),
                   rank = describe_process(options(), now_ns()).rank](const AgentStatus& status) {
    if (socket.empty()) return;
    AgentStatus published = status;
    published.rank = rank;
    (void)replace_file(agent_status_path(socket), format_agent_status(published));
  };
  return parts;
}

// Where PyTorch is, one of its own threads shall change its callbacks; none comes by in a program that waits.
std::string answer_request(Controller& asked, bool is_start) {
  if (is_start) {
    asked.request_start("stepscope ctl");
  } else {
    asked.request_stop("stepscope ctl");
  }
  if (torch_version().empty()) asked.run_requests();
  return format_agent_status(asked.status());
}

// Where PyTorch is, as for a request; the thread that hears signals does it itself where nobody comes by.
void toggle() {
  Controller* const asked = controller();
  if (asked == nullptr) return;
  asked->request_toggle("a signal");
  if (torch_version().empty()) asked->run_requests();
}

bool is_waiting() {
  const Controller* const asked = controller();
  return asked != nullptr && asked->has_request();
}

void do_waiting() {
  if (Controller* const asked = controller(); asked != nullptr) asked->run_requests();
}

std::string answer(std::string_view line) {
  Controller* const asked = controller();
  if (asked == nullptr) return "error=the agent is not active\n";
  if (line == "status") return format_agent_status(asked->status());
  if (line == "start" || line == "stop") return answer_request(*asked, line == "start");
  if (line == "flush") {
    if (Worker* const worker = state().worker.load(); worker != nullptr) worker->flush_soon();
    return format_agent_status(asked->status());
  }
  return "error=unknown request '" + std::string(line) + "'\n";
}

void listen() {
  if (options().control_socket.empty()) return;
  ControlSocketSetup setup;
  setup.path = agent_socket_path(options().control_socket, getpid());
  setup.answer = answer;
  setup.is_waiting = is_waiting;
  setup.do_waiting = do_waiting;
  const std::string problem = start_control_socket(std::move(setup));
  if (!problem.empty()) remark("no control socket: " + problem);
}

// The parent's socket is no business of a child that does not record.
void leave_parent() {
  const Controller* const known = current.load();
  if (known == nullptr || known->process_id() == getpid()) return;  // start_controller was here already
  keep_forever(current.exchange(nullptr));
  forget_control_socket();
}

}  // namespace

void start_controller() noexcept try {
  static const int watches = pthread_atfork(nullptr, nullptr, leave_parent);
  (void)watches;
  leave_parent();
  auto* const made = new Controller(options(), real_parts());
  keep_forever(current.exchange(made));
  made->start();
  if (start_was_requested.exchange(false)) {
    made->request_start("the program");
    made->run_requests();
  }
  listen();
  start_toggle_thread({toggle, is_waiting, do_waiting});
} catch (...) {
  complain("nothing decides when to record: the process is out of memory");
}

void stop_controller() noexcept try {
  stop_control_socket();
  if (Controller* const stopped = controller(); stopped != nullptr) stopped->stop();
} catch (...) {
  // At exit: the file is ended all the same.
}

void note_step_mark(std::string_view name, TimeNs start_ns, TimeNs end_ns, std::uint32_t place) noexcept try {
  if (Controller* const told = controller(); told != nullptr) told->note_step_mark(name, start_ns, end_ns, place);
} catch (...) {
  // A step is not counted.
}

void note_optimizer_step(std::string_view name, TimeNs end_ns, std::uint32_t place, std::uint64_t object) noexcept try {
  if (Controller* const told = controller(); told != nullptr) told->note_optimizer_step(name, end_ns, place, object);
} catch (...) {
  // A step is not counted.
}

void forget_optimizer(std::uint64_t object) noexcept try {
  if (Controller* const told = controller(); told != nullptr) told->forget_optimizer(object);
} catch (...) {
  // Its successor's first step may not be counted.
}

// Comes by at the start of every span of the program: the place to do what was asked for.
bool is_step_mark(std::string_view name) noexcept try {
  Controller* const asked = current.load(std::memory_order_acquire);
  if (asked == nullptr) return false;
  if (asked->has_request() && asked->process_id() == getpid()) asked->run_requests();
  return asked->is_step_mark(name);
} catch (...) {
  return false;
}

void request_start(std::string_view who) noexcept try {
  Controller* const asked = controller();
  if (asked == nullptr) {
    start_was_requested.store(true);
    return;
  }
  asked->request_start(who);
  asked->run_requests();
} catch (...) {
  // Nothing starts.
}

void request_stop(std::string_view who) noexcept try {
  start_was_requested.store(false);
  Controller* const asked = controller();
  if (asked == nullptr) return;
  asked->request_stop(who);
  asked->run_requests();
} catch (...) {
  // The window stays open until the end.
}

}  // namespace stepscope::agent
