// The controller as its tests see it: what it decides at each step's end, with the window behind an interface.
//
// The free functions of parts.h drive one of these a process.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "agent/optimizer_steps.h"
#include "base/time.h"
#include "capture/agent_options.h"
#include "capture/agent_status.h"
#include "stepscope/schedule.h"

namespace stepscope::agent {

// What a controller does to the rest of the agent.
struct ControllerParts {
  std::function<bool(std::int64_t first_step)> open_window;
  std::function<bool(std::int64_t last_step)> close_window;
  std::function<void()> prepare_window;  // whatever is slow the first time
  std::function<void(std::int64_t step, TimeNs start_ns, TimeNs end_ns)> write_step;
  std::function<TimeNs()> now;
  std::function<void(std::string_view sentence)> remark;
  // Whether the program's spans have to be heard where no window is open.
  std::function<void(bool)> hear_spans;
  std::function<void()> cancel_window;              // what prepare_window() made ready is not needed
  std::function<void(const AgentStatus&)> publish;  // the status has changed
};

class Controller {
 public:
  Controller(const AgentOptions& options, ControllerParts parts);
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // Opens the first window where no schedule says later.
  void start();
  // The last: nothing is opened or closed after it. Steps that were under way are not ended by it.
  void stop();
  // `place`: the Python stack of the call, 0 unknown; tells optimizers of one class apart.
  void note_step_mark(std::string_view name, TimeNs start_ns, TimeNs end_ns, std::uint32_t place = 0);
  // The hooks of torch.optim saw the end of an outermost step() of the optimizer `object` (0: not known). Once they
  // have told of one, spans of optimizers mark nothing.
  void note_optimizer_step(std::string_view name, TimeNs end_ns, std::uint32_t place, std::uint64_t object);
  void forget_optimizer(std::uint64_t object);
  // Marks a step, or tells which marks do.
  [[nodiscard]] bool is_step_mark(std::string_view name) const;

  // Requests from outside. They take effect in run_requests(): on a thread of the program where there is one that comes
  // by, since PyTorch's list of callbacks is not meant to be changed under running operators.
  void request_start(std::string_view who);
  void request_stop(std::string_view who);
  void request_toggle(std::string_view who);  // a stop while a window is open, else a start
  [[nodiscard]] bool has_request() const { return request_.load(std::memory_order_relaxed) != Request::kNone; }
  void run_requests();

  [[nodiscard]] AgentStatus status() const;
  [[nodiscard]] pid_t process_id() const { return process_id_; }

 private:
  enum class Request : std::uint8_t { kNone, kStart, kStop };

  // Under mutex_.
  void request(Request request, std::string_view who, const char* what);
  void run_request();
  void go_to(ProfilerAction next);
  bool accept_mark(std::string_view name, TimeNs start_ns, TimeNs end_ns, std::uint32_t place);
  bool accept_optimizer(std::string_view name, bool ends_pass);
  [[nodiscard]] bool goes_by_profiler_steps() const;
  void end_step(std::string_view name, TimeNs end_ns);
  void choose_spans();
  void open(std::int64_t first_step);
  void close(std::int64_t last_step);
  void publish();

  const AgentOptions options_;
  const ControllerParts parts_;
  const pid_t process_id_;

  mutable std::mutex mutex_;
  std::atomic<Request> request_{Request::kNone};
  std::optional<Schedule> schedule_;  // missing: record from the start
  bool is_paused_ = false;            // until a request
  bool is_stopped_ = false;
  ProfilerAction action_ = ProfilerAction::kNone;
  std::int64_t next_position_ = 0;  // in the schedule: steps since it began
  std::int64_t next_number_ = 0;    // of the step that is under way
  TimeNs last_end_ns_ = 0;          // of the step before it; 0: none
  OptimizerSteps optimizer_steps_;
  TimeNs last_profiler_step_ns_ = 0;       // when it ended; 0: none did
  std::uint64_t since_profiler_step_ = 0;  // passes of optimizers
  std::uint64_t most_between_ = 0;         // of those, two ProfilerSteps in a row
  std::atomic<bool> hooks_tell_{false};    // the hooks of torch.optim have
  bool hears_spans_ = true;                // where no window is open
  AgentStatus status_;
};

// "ProfilerStep#12" -> 12; also "train#12" and "train 12" of a span that the user named `train`.
[[nodiscard]] std::optional<std::int64_t> step_number_of(std::string_view name);
// The schedule that the options ask for; missing: none, or not understood.
[[nodiscard]] std::optional<Schedule> wanted_schedule(const AgentOptions& options);

}  // namespace stepscope::agent
