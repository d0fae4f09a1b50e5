// A profiling session: records chosen steps of a running program and hands each finished trace to a handler.
//
// It is to C++ what torch.profiler.profile is to PyTorch, with the same schedule, the same `ProfilerStep#N` markers and
// the same trace files, which Perfetto, chrome://tracing, HTA, torch-tb-profiler and `stepscope report` open. The CPU
// is recorded through the spans of stepscope/span.h, a GPU through Stepscope's agent when that is in the process:
// load_agent() below says how it gets there. Without a GPU everything but the GPU's rows works.
//
//     stepscope::SessionOptions options;
//     options.schedule = *stepscope::make_schedule({.wait = 1, .warmup = 1, .active = 3, .repeat = 1});
//     options.on_trace_ready = stepscope::directory_handler("traces");
//     stepscope::ProfilingSession session(options);
//     if (auto started = session.start(); !started) { std::cerr << started.error().to_string() << '\n'; return 1; }
//     for (int step = 0; step < 10; ++step) {
//       train_step();
//       session.step();
//     }
//     if (auto stopped = session.stop(); !stopped) std::cerr << stopped.error().to_string() << '\n';
//     for (const std::string& file : session.trace_files()) std::cout << file << '\n';
//
// Nothing is printed and nothing is thrown. What goes wrong while the program runs (a full disk, a handler that fails)
// does not stop the program: it stands in errors(), goes to `on_error` at once, and stop() returns the first of it.
// Definitions: docs/glossary.md, "schedule", "span"; torch/profiler/profiler.py for the meaning of each transition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "stepscope/result.h"
#include "stepscope/schedule.h"

namespace stepscope {

// Loads libstepscope_agent.so into this process, for GPU rows in sessions of a program that was started as it is;
// `path` as dlopen takes it (an installation has it at PREFIX/lib/stepscope/libstepscope_agent.so). Before the first
// session that wants the GPU; true at once if the agent is there already. It is never unloaded. Other ways to have it:
//
//     stepscope run --paused -- ./program                                    sessions have the GPU; the agent's own
//                                                                            capture begins at `stepscope ctl start`
//     CUDA_INJECTION64_PATH=PREFIX/lib/stepscope/libstepscope_agent.so ./program
//
// Under `stepscope run` without --paused the agent's own capture has the GPU: sessions then record without GPU rows,
// warn, and the spans and steps of the program are in the capture. A window of the agent's that would open while a
// session has the GPU does not open, which is said when the program ends. CUPTI is taken from where the program's CUDA
// runtime lies or from the loader's path; where it is missing, the session says so.
// Errors: kNotFound (no such library, with the loader's reason), kUnsupported (no agent, or one of another version).
[[nodiscard]] Status load_agent(const std::string& path);

enum class Activity : std::uint8_t {
  kCpu,   // spans, operators, counters, allocations (stepscope/span.h)
  kCuda,  // kernels, copies, sets and the calls that launched them, if something in the process can listen to the GPU
};

// Rows of a recorded trace.
struct TraceCounts {
  std::uint64_t threads = 0;
  std::uint64_t operators = 0;
  std::uint64_t spans = 0;  // ProfilerStep markers and asynchronous spans too
  std::uint64_t counters = 0;
  std::uint64_t instants = 0;
  std::uint64_t memory_events = 0;
  std::uint64_t calls = 0;       // runtime and driver calls
  std::uint64_t gpu_events = 0;  // kernels, copies, sets
};

class TraceHandler;

// What one cycle of the schedule recorded. Copies are cheap and share the trace, which never changes, so a handler may
// keep one, and several threads may read it.
class RecordedTrace {
 public:
  // As PyTorch's Chrome trace JSON, gzip if `path` ends in .gz; written under another name and renamed when it is
  // whole. An existing file is replaced. Errors name the path and the system's reason.
  [[nodiscard]] Status write_chrome_trace(const std::string& path) const;
  // The text of such a file, in memory: 130 bytes a span, 210 an operator with shapes.
  [[nodiscard]] Result<std::string> chrome_trace_text() const;

  [[nodiscard]] TraceCounts counts() const;
  // Records that did not fit into max_bytes, and GPU records that the source lost. Not 0: the trace is incomplete.
  [[nodiscard]] std::uint64_t dropped_count() const;
  // Spans that were still open when recording stopped, on any thread; they are not in the trace.
  [[nodiscard]] std::uint64_t open_span_count() const;
  // Sum of the FLOPs that the operators' OpSpans told. One that tells them covers all operators nested in it on its
  // thread, so what those tell is not added. Missing when none did, or without with_flops.
  // Trace files have each operator's (argument `stepscope flops`), for `stepscope ops`, `mfu` and the report.
  [[nodiscard]] std::optional<double> flops() const;
  // Numbers of the steps that lie in the trace as a whole, in order. Empty without a schedule.
  [[nodiscard]] const std::vector<std::int64_t>& steps() const;

  [[nodiscard]] const std::string& host_name() const;
  [[nodiscard]] std::int64_t process_id() const;
  // `worker_name` of the options; `HOST_PID` if none was given.
  [[nodiscard]] const std::string& worker_name() const;
  // When recording began and ended, ns since 1970.
  [[nodiscard]] std::int64_t start_ns() const;
  [[nodiscard]] std::int64_t end_ns() const;
  // Times in the file count from here, ns since 1970.
  [[nodiscard]] std::int64_t base_ns() const;

  struct Content;  // of the library
  explicit RecordedTrace(std::shared_ptr<Content> content);

 private:
  friend TraceHandler directory_handler(std::string directory, std::string worker_name, bool gzip);
  std::shared_ptr<Content> content_;
};

// Anything that can be called with a `const RecordedTrace&`: a function or lambda that returns Status, or nothing. It
// may throw: the exception becomes an error of the session.
class TraceHandler {
 public:
  TraceHandler() = default;
  template <class Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, TraceHandler> &&
             std::is_invocable_v<Callable&, const RecordedTrace&>)
  TraceHandler(Callable callable) {  // NOLINT: implicit by design
    if constexpr (std::is_void_v<std::invoke_result_t<Callable&, const RecordedTrace&>>) {
      call_ = [held = std::move(callable)](const RecordedTrace& trace) mutable -> Status {
        held(trace);
        return Done{};
      };
    } else {
      call_ = std::move(callable);
    }
  }

  explicit operator bool() const { return static_cast<bool>(call_); }
  Status operator()(const RecordedTrace& trace) const { return call_(trace); }

 private:
  std::function<Status(const RecordedTrace&)> call_;
};

// Writes each trace to `directory/WORKER.TIME.pt.trace.json`, or `.json.gz` with gzip, as
// torch.profiler.tensorboard_trace_handler names them. TIME is ns since 1970, never one that is taken, so any number of
// processes may write into one directory. WORKER is `worker_name`, else that of the session, else HOST_PID. Makes the
// directory with its parents. Errors: a worker name with a `/` in it (kInvalidArgument); directory or file cannot be
// made (kPermission, kIo), with path and reason.
[[nodiscard]] TraceHandler directory_handler(std::string directory, std::string worker_name = {}, bool gzip = false);

// Writes the first trace to `path` (gzip if it ends in .gz), further ones beside it: `trace.json`, `trace.2.json`,
// `trace.3.json`. What another run left there is replaced.
[[nodiscard]] TraceHandler chrome_trace_handler(std::string path);

struct SessionOptions {
  // Empty: the CPU, and CUDA when something in the process can listen to it.
  std::vector<Activity> activities{};
  // Default-made: every step is recorded, there are no step markers, and stop() ends the one trace.
  Schedule schedule{};
  // Called at the end of each recorded cycle, within the step() or stop() that ended it and on its thread; the other
  // threads' step() waits. Not to call step() or stop() of its session. Without one, last_trace() has the trace.
  TraceHandler on_trace_ready{};

  bool record_shapes = false;   // input shapes and types of operators
  bool profile_memory = false;  // allocations that the program tells of
  bool with_stack = false;      // the call stack at each span and operator: about 2 us each
  bool with_flops = false;      // FLOPs that OpSpans tell of: RecordedTrace::flops, and in the trace

  // Names the trace files; HOST_PID if empty. No `/` in it.
  std::string worker_name{};
  // Memory for records of all threads; what comes past it is dropped and counted.
  std::size_t max_bytes = std::size_t{256} << 20;

  // Called as it happens, on the thread that met it, with what errors() and warnings() collect. Must not throw.
  std::function<void(const Error&)> on_error{};
  std::function<void(const std::string&)> on_warning{};
};

// One run of a profiler. Who may call what: step() any thread, at any time between start() and stop(), each call ends
// one step; start() and stop() any thread, once; the questions any thread, a handler or callback too. Spans need no
// session and are written from any thread. Construction and destruction must not overlap with other calls.
// In a child made by fork() the session is dead: its calls do nothing and write nothing.
class ProfilingSession {
 public:
  explicit ProfilingSession(SessionOptions options);
  // Calls stop(). Its error can only go to `on_error`: a program that has to know calls stop() itself.
  ~ProfilingSession();
  ProfilingSession(const ProfilingSession&) = delete;
  ProfilingSession& operator=(const ProfilingSession&) = delete;

  // Begins with step 0. Errors: kInvalidArgument when another session runs in this process (there is one recorder),
  // when this one ran before, for a worker name with a `/`; those of the recorder.
  [[nodiscard]] Status start();
  // Ends step k, goes on to step k + 1, and does what the schedule says. Cheap while nothing is recorded.
  void step();
  // Ends the session; a recording that runs goes to the handler. The step that is open has not ended, so it gets no
  // marker. Returns the first of errors(). A second call changes nothing.
  Status stop();

  // The step that runs now, from 0.
  [[nodiscard]] std::int64_t step_number() const;
  // What it is to the schedule; kNone when the session does not run.
  [[nodiscard]] ProfilerAction action() const;
  // Traces finished so far.
  [[nodiscard]] std::int64_t trace_count() const;
  // The last of them, if the session has no handler; with one it is the handler's, and this is empty.
  [[nodiscard]] std::optional<RecordedTrace> last_trace() const;
  // Files that were written by RecordedTrace::write_chrome_trace, and so by the handlers above, in order.
  [[nodiscard]] std::vector<std::string> trace_files() const;
  // The first 100 of each; each warning once.
  [[nodiscard]] std::vector<Error> errors() const;
  [[nodiscard]] std::vector<std::string> warnings() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stepscope
