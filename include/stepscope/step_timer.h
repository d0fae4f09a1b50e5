// StepTimer: how long each training step takes on the device, and how long the data for it took, while the program
// runs.
//
// An event before and an event behind each step, in the stream that does the work; only the end event is waited for, so
// nothing is synchronized that the step did not start. The first steps are warm-up and are dropped. The median is the
// element n / 2 of the sorted rest; an outlier takes at least 1.5 times the median of the others, as in `stepscope
// report`.
//
//   const auto times = stepscope::time_steps(batches, [&](const Batch& batch) { train(batch); });
//   if (times) std::fputs(times->to_string().c_str(), stdout);
//
// or, in a loop of your own:
//
//   stepscope::StepTimer timer;
//   for (auto batch = loader.begin(); auto item = timer.next(batch, loader.end());) {
//     const auto step = timer.step();
//     train(*item);
//   }
//   const auto times = timer.times();
//
// What it costs: to wait for each end drains the queue, so the host can no longer run ahead into the next step. Where
// the host is the bottleneck that makes steps a little longer than they would be alone. `pending_steps` defers: so many
// steps may be under way before the oldest one is waited for, which then blocks hardly ever. Both read the same events.
//
// Exceptions: none are thrown; a step that throws is not counted, and the exception passes.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "stepscope/clock.h"
#include "stepscope/result.h"

namespace stepscope {

struct StepOutlier {
  std::int64_t step = 0;  // counted from 0 with the first warm-up step
  std::int64_t duration_ns = 0;
};

struct StepTimes {
  std::string clock;                    // its name
  bool waited_for_each = true;          // false: deferred (pending_steps)
  std::vector<std::int64_t> warmup_ns;  // what was dropped, in order
  std::vector<std::int64_t> steps_ns;   // what counts, in order; at least one
  // Host time spent on fetching the data of each of steps_ns, before it began; empty when no data was timed. It is not
  // part of the step. The device may work through it when steps are deferred.
  std::vector<std::int64_t> data_ns;
  std::vector<StepOutlier> outliers;  // of steps_ns, in order; none with fewer than 3 steps
  std::int64_t typical_ns = 0;        // the median of all but the longest, against which outliers are told
  std::vector<std::string> warnings;  // what spoils these times: sentences

  [[nodiscard]] std::int64_t median_ns() const;  // the element n / 2 of the sorted steps
  // Interpolated, as numpy.percentile, but p90 is never below the median: of two steps, whose median is the longer one,
  // it is that one too. So p10 <= median <= p90, of the data as well.
  [[nodiscard]] std::int64_t p10_ns() const;
  [[nodiscard]] std::int64_t p90_ns() const;
  [[nodiscard]] std::optional<std::int64_t> data_median_ns() const;  // missing when no data was timed
  [[nodiscard]] std::optional<std::int64_t> data_p10_ns() const;
  [[nodiscard]] std::optional<std::int64_t> data_p90_ns() const;

  // A few lines of at most 80 columns, each ending in a newline. Beyond `most_outliers` the longest are named and the
  // rest counted.
  [[nodiscard]] std::string to_string(std::size_t most_outliers = 20) const;
};

struct StepTimerOptions {
  // How many steps time_steps measures after the warm-up. Not given: 20 (fewer leave less than two steps beyond p10 and
  // p90), or a whole range.
  std::optional<std::int64_t> steps{};
  // Dropped at the start: the first step allocates and compiles, the second may tune, one is to spare.
  std::int64_t warmup_steps = 3;
  // How many steps may be under way at the end of one: 0 waits for each. Each one holds two events.
  std::int64_t pending_steps = 0;
  // Has to outlive the timer. nullptr: what `default_clock` makes, asked again at each warm-up step, since the
  // program's first step may be what starts CUDA.
  Clock* clock = nullptr;
  std::function<std::unique_ptr<Clock>()> default_clock = make_default_clock;

  // For pending_steps: no step is waited for before times() is asked for.
  static constexpr std::int64_t kAllPending = std::numeric_limits<std::int64_t>::max();
};

// Not thread-safe. The first error (the clock's; kInvalidArgument for a step that begins in a step or ends without one)
// stays: every later call returns it.
class StepTimer {
 public:
  explicit StepTimer(StepTimerOptions options = {});
  ~StepTimer();
  StepTimer(const StepTimer&) = delete;
  StepTimer& operator=(const StepTimer&) = delete;

  Status begin_step();
  Status end_step();
  // Forgets the step that has begun and the data that was fetched for it; nothing without one.
  void drop_step();

  // A step from here to the end of the scope. Its errors come with times(). An exception that leaves the scope drops
  // it.
  class Scope {
   public:
    explicit Scope(StepTimer& timer) : timer_(timer), exceptions_(std::uncaught_exceptions()) {
      static_cast<void>(timer_.begin_step());  // kept by the timer
    }
    ~Scope() {
      if (std::uncaught_exceptions() > exceptions_) {
        timer_.drop_step();
      } else {
        static_cast<void>(timer_.end_step());
      }
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    StepTimer& timer_;
    int exceptions_;
  };
  [[nodiscard]] Scope step() { return Scope(*this); }

  // Calls `fetch` and counts the host's time in it as data of the next step that begins. Returns what it returns.
  template <std::invocable F>
  decltype(auto) time_data(F&& fetch) {
    const DataTime data(*this);
    return std::forward<F>(fetch)();
  }

  // The element at `at`, which then moves on, or nothing at `end`; timed as data. An iterator that computes an element
  // when it moves does that for the element after.
  template <std::input_iterator Iterator, std::sentinel_for<Iterator> End>
  [[nodiscard]] std::optional<std::iter_value_t<Iterator>> next(Iterator& at, const End& end) {
    const DataTime data(*this);
    if (at == end) return std::nullopt;
    std::optional<std::iter_value_t<Iterator>> value(*at);
    ++at;
    return value;
  }

  // Waits for the steps under way and says how long all so far took. More steps may follow. kInvalidArgument when no
  // step is left after the warm-up.
  [[nodiscard]] Result<StepTimes> times();

 private:
  struct Pending {
    ClockEvent begin;
    ClockEvent end;
    std::int64_t data_ns = 0;
  };
  // Adds the host's time while it lives.
  class DataTime {
   public:
    explicit DataTime(StepTimer& timer) : timer_(timer), begin_ns_(timer.clock().now_ns()) {}
    ~DataTime() {
      timer_.next_data_ns_ += timer_.clock().now_ns() - begin_ns_;
      timer_.has_data_ = true;
    }
    DataTime(const DataTime&) = delete;
    DataTime& operator=(const DataTime&) = delete;

   private:
    StepTimer& timer_;
    std::int64_t begin_ns_;
  };

  [[nodiscard]] Clock& clock() { return options_.clock != nullptr ? *options_.clock : *own_clock_; }
  [[nodiscard]] Status choose_clock();
  [[nodiscard]] Status resolve_down_to(std::int64_t pending_steps);
  [[nodiscard]] Status fail(Error error);

  StepTimerOptions options_;
  std::unique_ptr<Clock> own_clock_;
  std::deque<Pending> pending_;
  std::optional<ClockEvent> begin_;  // of the step that has begun
  std::int64_t step_data_ns_ = 0;    // of that step
  std::int64_t next_data_ns_ = 0;    // of the step after
  bool has_data_ = false;
  std::vector<std::int64_t> steps_ns_;  // resolved, the warm-up among them
  std::vector<std::int64_t> data_ns_;   // as long
  std::optional<Error> error_;
};

namespace detail {

inline constexpr std::int64_t kStepsByDefault = 20;

[[nodiscard]] Status check_step_options(const StepTimerOptions& options);

}  // namespace detail

// Calls `step` (with the number of the step, from 0, if it takes one) for the warm-up and then as often as the options
// say, and gives the times. kInvalidArgument for options that mean nothing; the clock's errors.
template <class F>
  requires std::invocable<F&> || std::invocable<F&, std::int64_t>
[[nodiscard]] Result<StepTimes> time_steps(F step, StepTimerOptions options = {}) {
  if (Status checked = detail::check_step_options(options); !checked) return checked.error();
  const std::int64_t count = options.warmup_steps + options.steps.value_or(detail::kStepsByDefault);
  StepTimer timer(std::move(options));
  for (std::int64_t number = 0; number < count; ++number) {
    if (Status begun = timer.begin_step(); !begun) return begun.error();
    if constexpr (std::invocable<F&, std::int64_t>) {
      step(number);
    } else {
      step();
    }
    if (Status ended = timer.end_step(); !ended) return ended.error();
  }
  return timer.times();
}

// Calls `step` with each element of `data`, warm-up first; what the range needs for its elements (begin, ++, *, the
// test for the end) is timed as data.
template <std::ranges::input_range Range, class F>
  requires std::invocable<F&, std::ranges::range_reference_t<Range>>
[[nodiscard]] Result<StepTimes> time_steps(Range&& data, F step, StepTimerOptions options = {}) {
  if (Status checked = detail::check_step_options(options); !checked) return checked.error();
  std::int64_t left = std::numeric_limits<std::int64_t>::max();
  if (options.steps) left = options.warmup_steps + *options.steps;
  StepTimer timer(std::move(options));
  auto at = timer.time_data([&] { return std::ranges::begin(data); });
  const auto end = std::ranges::end(data);
  while (left-- > 0 && timer.time_data([&] { return at != end; })) {
    auto&& item = timer.time_data([&]() -> decltype(auto) { return *at; });
    if (Status begun = timer.begin_step(); !begun) return begun.error();
    step(std::forward<decltype(item)>(item));
    if (Status ended = timer.end_step(); !ended) return ended.error();
    if (left > 0) timer.time_data([&] { ++at; });
  }
  return timer.times();
}

}  // namespace stepscope
