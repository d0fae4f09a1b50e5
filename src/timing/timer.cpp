// The loops of torch.utils.benchmark.Timer, with ends that it leaves open closed: a clock that stands still, a callable
// that ignores its count and blocks that turn out far shorter than the estimate all come to an end.
#include "stepscope/timer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "stats/quantiles.h"
#include "stats/running_order.h"
#include "stats/spread.h"
#include "timing/clock_notes.h"
#include "timing/thread_count.h"

namespace stepscope {
namespace {

constexpr double kNsPerSecond = 1e9;
constexpr double kMostOverheadRatio = 1e-4;
constexpr double kLeastBlockShare = 1e-3;       // of min_run_time
constexpr double kAdaptiveEstimateNs = 0.05e9;  // blocks of adaptive_autorange are sized as for this run time
constexpr std::size_t kFewestToStop = 3;        // adaptive_autorange wants more than these
constexpr std::int64_t kFewestWarmUps = 2;      // the first call compiles or allocates, a second one may tune
// No clock call is this fast, and with less a sum of times might never grow.
constexpr double kLeastBlockNs = 1;
// Where the size stops growing: a loop of the cheapest runs there are (0.2 ns) would last 200 s.
constexpr std::int64_t kMostRuns = 1'000'000'000'000;
// Where the number of blocks stops growing: the size is chosen for a thousand, and this many times fill 8 MB.
constexpr std::size_t kMostBlocks = 1'000'000;

struct RunBody final : detail::TimedBody {
  explicit RunBody(BatchCallable given) : function(std::move(given)) {}
  void run(std::int64_t count) override { function.run(count); }
  [[nodiscard]] bool is_callable() const override { return detail::is_callable(function.run); }
  BatchCallable function;
};

Error bad_argument(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message), ""}; }

bool is_time(double value) { return std::isfinite(value) && value >= 0; }

TaskSpec task_of(const TimerOptions& options) {
  TaskSpec task;
  task.statement = options.statement;
  task.setup = options.setup_text;
  task.label = options.label;
  task.sub_label = options.sub_label;
  task.description = options.description;
  task.env = options.env;
  task.num_threads = options.num_threads;
  return task;
}

// The notes that a measurement starts with.
std::vector<std::string> notes_of(const ThreadCount& threads) {
  std::vector<std::string> notes;
  if (std::string note = threads.note(); !note.empty()) notes.push_back(std::move(note));
  return notes;
}

// Times of blocks, also kept in order: the spread is asked for after each block.
struct BlockTimes {
  std::vector<double> times_ns;
  RunningOrder order_ns;
  double total_ns = 0;

  void add(double time_ns) {
    times_ns.push_back(time_ns);
    order_ns.add(time_ns);
    total_ns += time_ns;
  }
  [[nodiscard]] bool is_spread_under(double ratio) const {
    return spread_is_under(*order_ns.quantile(0.25), *order_ns.quantile(0.5), *order_ns.quantile(0.75), ratio);
  }
};

constexpr const char* kTooManyBlocks =
    "Stopped after 1,000,000 blocks: they were far shorter than the run that sized them, so the clock's own cost is in "
    "these times.";

}  // namespace

Timer::Timer(std::unique_ptr<detail::TimedBody> body, TimerOptions options)
    : body_(std::move(body)), task_(task_of(options)), options_(std::move(options)) {
  if (!options_.default_clock) options_.default_clock = make_cpu_clock;
  choose_clock();
}

Timer::Timer(BatchCallable function, TimerOptions options)
    : Timer(std::make_unique<RunBody>(std::move(function)), std::move(options)) {}

Timer::~Timer() = default;
Timer::Timer(Timer&&) noexcept = default;
Timer& Timer::operator=(Timer&&) noexcept = default;

// A device's clock is kept: the code does not stop using the device.
void Timer::choose_clock() {
  if (options_.clock != nullptr || (own_clock_ != nullptr && own_clock_->is_device())) return;
  std::unique_ptr<Clock> chosen = options_.default_clock();
  own_clock_ = chosen != nullptr ? std::move(chosen) : make_cpu_clock();
}

Result<double> Timer::time_block_ns(std::int64_t number) {
  if (!body_->is_callable()) return bad_argument("there is nothing to time: the callable is empty");
  if (options_.setup) options_.setup();
  if (Status waited = clock().synchronize(); !waited) return waited.error();
  const std::int64_t begin_ns = clock().now_ns();
  body_->run(number);
  if (Status waited = clock().synchronize(); !waited) return waited.error();
  return std::max(static_cast<double>(clock().now_ns() - begin_ns), kLeastBlockNs);
}

Status Timer::warm_up(std::int64_t count) {
  choose_clock();
  const Result<double> block_ns = time_block_ns(count);
  if (!block_ns) return block_ns.error();
  choose_clock();
  return Done{};
}

Result<double> Timer::overhead_ns() {
  std::array<double, 5> blocks_ns{};
  for (double& block_ns : blocks_ns) {
    const Result<double> timed = time_block_ns(0);
    if (!timed) return timed.error();
    block_ns = *timed;
  }
  return *quantile(blocks_ns, 0.5);
}

Result<std::int64_t> Timer::choose_block_size(double min_run_time_ns) {
  if (Status warm = warm_up(kFewestWarmUps); !warm) return warm.error();
  const Result<double> overhead = overhead_ns();
  if (!overhead) return overhead.error();
  for (std::int64_t number = 1; number <= kMostRuns; number *= 10) {
    const Result<double> block_ns = time_block_ns(number);
    if (!block_ns) return block_ns.error();
    const bool is_precise = *overhead / *block_ns <= kMostOverheadRatio;
    if (is_precise && *block_ns >= min_run_time_ns * kLeastBlockShare) return number;
    if (*block_ns > min_run_time_ns) return number;
  }
  return bad_argument(
      "1e12 runs took no time to speak of: the callable does not run what it is told to, or the clock "
      "stands still");
}

Result<Measurement> Timer::measure(std::vector<double> raw_times_ns, std::int64_t number,
                                   std::vector<std::string> notes) {
  for (std::string& note : find_clock_notes(clock(), options_.default_clock)) notes.push_back(std::move(note));
  return Measurement::make(task_, std::move(raw_times_ns), number, std::move(notes));
}

Result<Measurement> Timer::timeit(std::int64_t number) {
  if (number < 1) return bad_argument("timeit needs at least 1 run");
  if (options_.num_threads < 0) return bad_argument("num_threads is negative");
  const ThreadCount threads(options_.num_threads, options_.set_num_threads);
  if (Status warm = warm_up(std::max(number / 100, kFewestWarmUps)); !warm) return warm.error();
  const Result<double> block_ns = time_block_ns(number);
  if (!block_ns) return block_ns.error();
  return measure({*block_ns}, number, notes_of(threads));
}

Result<Measurement> Timer::blocked_autorange(double min_run_time_s, const BlockCallback& callback) {
  if (!is_time(min_run_time_s)) return bad_argument("min_run_time_s is no time");
  if (options_.num_threads < 0) return bad_argument("num_threads is negative");
  const double min_run_time_ns = min_run_time_s * kNsPerSecond;
  const ThreadCount threads(options_.num_threads, options_.set_num_threads);
  const Result<std::int64_t> number = choose_block_size(min_run_time_ns);
  if (!number) return number.error();
  std::vector<double> times_ns;
  std::vector<std::string> notes = notes_of(threads);
  for (double total_ns = 0; times_ns.empty() || total_ns < min_run_time_ns;) {
    if (times_ns.size() == kMostBlocks) {
      notes.emplace_back(kTooManyBlocks);
      break;
    }
    const Result<double> block_ns = time_block_ns(*number);
    if (!block_ns) return block_ns.error();
    times_ns.push_back(*block_ns);
    total_ns += *block_ns;
    if (callback) callback(*number, *block_ns);
  }
  return measure(std::move(times_ns), *number, std::move(notes));
}

Result<Measurement> Timer::adaptive_autorange(double threshold, double min_run_time_s, double max_run_time_s,
                                              const BlockCallback& callback) {
  if (std::isnan(threshold)) return bad_argument("threshold is no number");
  if (!is_time(min_run_time_s)) return bad_argument("min_run_time_s is no time");
  if (!is_time(max_run_time_s)) return bad_argument("max_run_time_s is no time");
  if (options_.num_threads < 0) return bad_argument("num_threads is negative");
  const ThreadCount threads(options_.num_threads, options_.set_num_threads);
  const Result<std::int64_t> number = choose_block_size(kAdaptiveEstimateNs);
  if (!number) return number.error();
  BlockTimes blocks;
  std::vector<std::string> notes = notes_of(threads);
  for (bool can_stop = false; !can_stop || blocks.total_ns < min_run_time_s * kNsPerSecond;) {
    if (blocks.times_ns.size() == kMostBlocks) {
      notes.emplace_back(kTooManyBlocks);
      break;
    }
    const Result<double> block_ns = time_block_ns(*number);
    if (!block_ns) return block_ns.error();
    blocks.add(*block_ns);
    if (callback) callback(*number, *block_ns);
    if (blocks.total_ns > max_run_time_s * kNsPerSecond) break;
    can_stop = blocks.times_ns.size() > kFewestToStop && blocks.is_spread_under(threshold);
  }
  return measure(std::move(blocks.times_ns), *number, std::move(notes));
}

}  // namespace stepscope
