// Timer: how long a piece of code takes, measured so often and in such blocks that the answer can be trusted.
//
// A single `t1 - t0` is wrong in three ways: the clock costs about as much as a short function, a GPU works behind the
// host's back, and one number does not show its noise. A Timer runs the code in blocks that are long against the
// clock's cost, waits for the device at the ends of each block, and keeps all blocks. The methods, their rules and
// their defaults are those of torch.utils.benchmark.Timer, so numbers compare (docs/glossary.md, "Timer").
//
//   stepscope::Timer timer([&] { return work(x); }, {.label = "work", .sub_label = "1024"});
//   const auto measured = timer.blocked_autorange();
//   if (measured) std::puts(measured->to_string().c_str());
//
// Times go to a Compare (stepscope/compare.h), which makes a table of them.
//
// What is timed is `run it n times` with the loop inlined into the caller's code: no call through a pointer for each
// run. What a callable returns is kept from the optimizer, and every run reads its inputs from memory again; results
// that the callable does not return need do_not_optimize.
//
// Exceptions: the library throws none. One that the callable, the setup or a callback throws goes through to the
// caller; the thread count is then restored and the Timer can be used again.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "stepscope/clock.h"
#include "stepscope/measurement.h"
#include "stepscope/result.h"

namespace stepscope {

// Makes the compiler believe that `value` is read here, and that any memory may have changed. Costs no instruction but
// what it takes to have the value at hand.
template <class T>
inline void do_not_optimize(const T& value) {
  if constexpr (std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(void*)) {
    asm volatile("" : : "r,m"(value) : "memory");
  } else {
    asm volatile("" : : "m"(value) : "memory");
  }
}
// Makes the compiler believe that any memory is read and written here.
inline void clobber_memory() { asm volatile("" : : : "memory"); }

// A callable that runs the code `count` times itself, for code whose loop lives elsewhere (another language's, a CUDA
// graph's). 0 runs it not at all and shows what the call costs.
struct BatchCallable {
  std::function<void(std::int64_t count)> run;
};

struct TimerOptions {
  // What is timed, as text: see TaskSpec.
  std::string label{};
  std::string sub_label{};
  std::string description{};
  std::string env{};
  std::string statement{};
  std::string setup_text{};

  // Called before each block (the warm-up's too), not timed.
  std::function<void()> setup{};

  // Threads that the code may use: OpenMP's count is set (of the thread that measures) when OpenMP is in the process,
  // and `set_num_threads` is called when given; both are set back afterwards. 0: leave all as it is. What neither
  // reaches is not limited (a count above 1 then becomes a warning of the measurement).
  int num_threads = 1;
  // Sets the thread count of whatever else there is and returns the count that it had. Called with that one afterwards,
  // also when an exception passes; must not throw.
  std::function<int(int num_threads)> set_num_threads{};

  // Waits for the device and tells the time; has to outlive the timer. nullptr: what `default_clock` makes, asked again
  // after the warm-up, since the first call of the code may be what starts CUDA.
  Clock* clock = nullptr;
  std::function<std::unique_ptr<Clock>()> default_clock = make_default_clock;
};

// Called after each measured block with its runs and its time.
using BlockCallback = std::function<void(std::int64_t number, double block_ns)>;

namespace detail {

// Is there something to call? An empty std::function and a null pointer are not.
template <class F>
bool is_callable(const F&) {
  return true;
}
template <class Signature>
bool is_callable(const std::function<Signature>& function) {
  return static_cast<bool>(function);
}
template <class R>
bool is_callable(R (*function)()) {
  return function != nullptr;
}

struct TimedBody {
  virtual ~TimedBody() = default;
  virtual void run(std::int64_t count) = 0;
  [[nodiscard]] virtual bool is_callable() const = 0;
};

template <class F>
struct TimedLoop final : TimedBody {
  explicit TimedLoop(F given) : function(std::move(given)) {}
  void run(std::int64_t count) override {
    for (std::int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
        function();
        clobber_memory();
      } else {
        do_not_optimize(function());
      }
    }
  }
  [[nodiscard]] bool is_callable() const override { return detail::is_callable(function); }
  F function;
};

}  // namespace detail

// Not thread-safe. Errors of every method: the clock's (a kernel that failed shows when the device is waited for);
// kInvalidArgument for arguments that mean nothing (they say which), and for a callable that is empty.
class Timer {
 public:
  template <std::invocable F>
  explicit Timer(F function, TimerOptions options = {})
      : Timer(std::make_unique<detail::TimedLoop<F>>(std::move(function)), std::move(options)) {}
  explicit Timer(BatchCallable function, TimerOptions options = {});
  ~Timer();
  Timer(Timer&&) noexcept;
  Timer& operator=(Timer&&) noexcept;

  // One block of `number` runs (at least 1), after max(number / 100, 2) runs of warm-up.
  [[nodiscard]] Result<Measurement> timeit(std::int64_t number = 1'000'000);

  // As many blocks as fill `min_run_time_s` seconds. Their size: 1, times 10 until the clock's cost is at most 1e-4 of
  // a block and a block lasts min_run_time_s / 1000, or until one lasts longer than min_run_time_s. Two runs of warm-up
  // go before, so that a first call that compiles or allocates does not decide the size.
  [[nodiscard]] Result<Measurement> blocked_autorange(double min_run_time_s = 0.2, const BlockCallback& callback = {});

  // Blocks (sized as above for 0.05 s) until they fill `min_run_time_s`, are more than 3 and have IQR / median <
  // `threshold`, or until they have taken more than `max_run_time_s`, whatever their spread.
  [[nodiscard]] Result<Measurement> adaptive_autorange(double threshold = 0.1, double min_run_time_s = 0.01,
                                                       double max_run_time_s = 10, const BlockCallback& callback = {});

  // What an empty block takes: the median of five.
  [[nodiscard]] Result<double> overhead_ns();

  [[nodiscard]] const TaskSpec& task() const { return task_; }

 private:
  Timer(std::unique_ptr<detail::TimedBody> body, TimerOptions options);

  [[nodiscard]] Status warm_up(std::int64_t count);
  [[nodiscard]] Result<double> time_block_ns(std::int64_t number);
  [[nodiscard]] Result<std::int64_t> choose_block_size(double min_run_time_ns);
  [[nodiscard]] Result<Measurement> measure(std::vector<double> raw_times_ns, std::int64_t number,
                                            std::vector<std::string> notes);
  void choose_clock();
  [[nodiscard]] Clock& clock() { return options_.clock != nullptr ? *options_.clock : *own_clock_; }

  std::unique_ptr<detail::TimedBody> body_;
  TaskSpec task_;
  TimerOptions options_;
  std::unique_ptr<Clock> own_clock_;
};

}  // namespace stepscope
