// time_cold and time_hot: samples until the noise says enough.
//
// Both share one loop: take a sample, drop it when the GPU was throttled or the stream had to be let go, else count it
// and ask the rule. They differ in what a sample is.
#include "stepscope/cold_timer.h"

#include <algorithm>
#include <cmath>

#include "stats/quantiles.h"
#include "stepscope/clock.h"
#include "timing/host_time.h"
#include "timing/kernel_bench.h"
#include "timing/noise_rule.h"

namespace stepscope {
namespace {

// How a stream is held where both ways exist: both measure the same (docs/performance.md, "Holding a stream"), and a
// wait needs no SM.
constexpr StreamGate::Method kHoldMethod = StreamGate::Method::kWaitValue;
// nvbench's: a pause after a throttled sample, growing while that does not help, up to half a second.
constexpr std::int64_t kThrottlePauseNs = 50'000'000;
constexpr std::int64_t kMaxThrottlePauseNs = 500'000'000;
// A batch of time_hot: events resolve about 0.5 us, so 10 ms are exact to 0.01%.
constexpr double kBatchNs = 10e6;
constexpr std::int64_t kMinBatch = 4;  // nvbench's
constexpr std::int64_t kMaxBatch = 1'000'000;
// Launches queued while the stream is held, of a batch (nvbench's): more could fill the stream's queue.
constexpr std::int64_t kHeldInBatch = 2;

std::int64_t to_ns(double seconds) { return static_cast<std::int64_t>(std::min(seconds, 1e9) * 1e9); }

Status check_options(const KernelTimerOptions& options) {
  const auto wrong = [](const char* what) { return Error{ErrorCode::kInvalidArgument, what, {}}; };
  if (options.min_sample_count < 1) return wrong("min_sample_count has to be at least 1");
  if (!(options.max_noise_ratio >= 0)) return wrong("max_noise_ratio has to be 0 or more");
  if (!(options.min_time_s >= 0) || !(options.max_time_s > 0)) return wrong("times have to be positive");
  if (!(options.hold_timeout_s > 0)) return wrong("hold_timeout_s has to be positive");
  if (!(options.min_clock_ratio >= 0 && options.min_clock_ratio <= 1)) return wrong("min_clock_ratio is 0 to 1");
  if (options.bytes && !(*options.bytes >= 0)) return wrong("bytes has to be 0 or more");
  if (options.flops && !(*options.flops >= 0)) return wrong("flops has to be 0 or more");
  return Done{};
}

class Measurement {
 public:
  Measurement(const std::function<Status()>& launch, const KernelTimerOptions& options, bool is_hot)
      : launch_(launch), options_(options), is_hot_(is_hot), rule_(options.max_noise_ratio) {}

  Result<KernelTiming> run() {
    if (Status valid = check_options(options_); !valid) return valid.error();
    Result<std::unique_ptr<KernelBench>> bench =
        KernelBench::open(options_, wanted_flush() != L2Flush::kNone, kHoldMethod);
    if (!bench) return bench.error();
    bench_ = std::move(bench).value();
    if (Status warm = warm_up(); !warm) return warm.error();
    if (Status sampled = sample_until_enough(); !sampled) return sampled.error();
    return summarize();
  }

 private:
  [[nodiscard]] L2Flush wanted_flush() const { return is_hot_ ? L2Flush::kNone : options_.flush; }

  // Once without holding: the first launch loads code, which waits for the device.
  Status warm_up() {
    if (options_.hold_stream) {
      if (Status loaded = bench_->load(); !loaded) return loaded;
    }
    Result<KernelSample> first = bench_->take_sample(launch_, {});
    if (!first) return first.error();
    request_.hold_stream = options_.hold_stream;
    request_.flush = wanted_flush();
    // A callable that takes the host long is not one that waits: twice what the warm-up took is allowed.
    request_.hold_limit_ns = std::max(to_ns(options_.hold_timeout_s), 2 * first->launch_wall_ns);
    if (is_hot_) {
      set_batch(first->elapsed_ns);
      // The first call may have loaded code: a short batch tells better.
      request_.launch_count = std::min<std::int64_t>(request_.launch_count, 100);
      Result<KernelSample> second = bench_->take_sample(launch_, {.launch_count = request_.launch_count});
      if (!second) return second.error();
      set_batch(second->elapsed_ns / static_cast<double>(request_.launch_count));
    }
    return Done{};
  }

  void set_batch(double launch_ns) {
    const double wanted = std::ceil(kBatchNs / std::max(launch_ns, 1.0));
    request_.launch_count = std::clamp(static_cast<std::int64_t>(wanted), kMinBatch, kMaxBatch);
    request_.held_launch_count = kHeldInBatch;
  }

  Status sample_until_enough() {
    begin_ns_ = host_now_ns();
    const std::optional<double> default_hz = bench_->clock().default_hz();
    while (true) {
      Result<KernelSample> sample = bench_->take_sample(launch_, request_);
      if (!sample) return sample.error();
      if (sample->was_let_go) {
        was_let_go_ = true;
        request_.hold_stream = false;
        continue;
      }
      if (default_hz && sample->clock_hz && *sample->clock_hz < options_.min_clock_ratio * *default_hz) {
        last_throttled_hz_ = *sample->clock_hz;
        if (wait_for_clock()) continue;
        stop_reason_ = StopReason::kMaxTime;
        return Done{};
      }
      throttle_pause_ns_ = kThrottlePauseNs;
      keep(*sample);
      if (is_enough()) return Done{};
    }
  }

  // False: there is no time left.
  bool wait_for_clock() {
    ++throttled_count_;
    if (spent_ns() >= to_ns(options_.max_time_s)) return false;
    host_sleep_ns(throttle_pause_ns_);
    throttle_pause_ns_ = std::min(throttle_pause_ns_ * 5 / 2, kMaxThrottlePauseNs);
    return true;
  }

  void keep(const KernelSample& sample) {
    const double ns = sample.elapsed_ns / static_cast<double>(request_.launch_count);
    samples_ns_.push_back(ns);
    rule_.add(ns);
    if (sample.is_host_bound) ++host_bound_count_;
    if (!sample.clock_hz) return;
    clock_sum_hz_ += *sample.clock_hz;
    ++clock_count_;
  }

  bool is_enough() {
    const std::int64_t spent = spent_ns();
    if (spent >= to_ns(options_.max_time_s)) {
      stop_reason_ = StopReason::kMaxTime;
      return true;
    }
    if (rule_.count() < options_.min_sample_count || spent < to_ns(options_.min_time_s)) return false;
    stop_reason_ = rule_.is_small() ? StopReason::kNoiseSmall : StopReason::kNoiseStable;
    return rule_.is_small() || rule_.is_stable();
  }

  [[nodiscard]] std::int64_t spent_ns() const { return host_now_ns() - begin_ns_; }

  Error all_throttled() const {
    const double default_mhz = bench_->clock().default_hz().value_or(0) / 1e6;
    char text[256];
    std::snprintf(text, sizeof text,
                  "all %lld samples were taken while the GPU was throttled: SM clock %.0f MHz, under %.0f%% of its "
                  "default %.0f MHz; let it cool down, or set min_clock_ratio = 0 to measure it as it is",
                  static_cast<long long>(throttled_count_), last_throttled_hz_ / 1e6, options_.min_clock_ratio * 100,
                  default_mhz);
    return Error{ErrorCode::kUnsupported, text, {}};
  }

  Result<KernelTiming> summarize() {
    if (samples_ns_.empty()) return all_throttled();
    KernelTiming timing;
    timing.label = options_.label;
    timing.device_name = bench_->context().device_name();
    timing.launches_per_sample = request_.launch_count;
    timing.mean_ns = rule_.mean();
    timing.median_ns = quantile(samples_ns_, 0.5).value_or(0);
    timing.min_ns = *std::min_element(samples_ns_.begin(), samples_ns_.end());
    timing.max_ns = *std::max_element(samples_ns_.begin(), samples_ns_.end());
    timing.std_ns = rule_.standard_deviation();
    timing.noise_ratio = rule_.noise_ratio();
    timing.throttled_count = throttled_count_;
    if (clock_count_ > 0) timing.sm_clock_hz = clock_sum_hz_ / static_cast<double>(clock_count_);
    timing.default_sm_clock_hz = bench_->clock().default_hz();
    if (timing.median_ns > 0) {
      if (options_.bytes) timing.bytes_per_s = *options_.bytes / timing.median_ns * 1e9;
      if (options_.flops) timing.flops_per_s = *options_.flops / timing.median_ns * 1e9;
    }
    timing.flush = bench_->can_flush() ? request_.flush : L2Flush::kNone;
    timing.stream_held = request_.hold_stream;
    timing.stop_reason = stop_reason_;
    timing.samples_ns = std::move(samples_ns_);
    add_warnings(timing);
    return timing;
  }

  void add_warnings(KernelTiming& timing) const {
    std::vector<std::string>& warnings = timing.warnings;
    if (std::string spoiled = find_spoiled_timing(); !spoiled.empty()) warnings.push_back(std::move(spoiled));
    if (was_let_go_) {
      warnings.push_back(
          "the callable waits for the device, or queues more launches than the stream takes: the stream could not be "
          "held, so gaps before and between launches are in these times");
    }
    if (wanted_flush() != timing.flush) {
      warnings.push_back("the size of the L2 cache is not known, so it was not flushed: the cache was warm");
    }
    if (throttled_count_ > 0) {
      warnings.push_back(std::to_string(throttled_count_) + (throttled_count_ == 1 ? " sample was" : " samples were") +
                         " dropped because the GPU was throttled");
    }
    if (!timing.sm_clock_hz || !timing.default_sm_clock_hz) {
      warnings.push_back("the SM clock is not known, so throttled samples were not dropped");
    }
    if (is_hot_ && host_bound_count_ * 2 > timing.sample_count()) {
      warnings.push_back("the host launches more slowly than the device works: this is the time of a launch");
    }
    if (stop_reason_ == StopReason::kMaxTime) {
      warnings.push_back("stopped by max_time_s, not by the noise");
    }
  }

  const std::function<Status()>& launch_;
  const KernelTimerOptions& options_;
  bool is_hot_;
  std::unique_ptr<KernelBench> bench_;
  KernelSampleRequest request_;
  NoiseRule rule_;
  std::vector<double> samples_ns_;
  std::int64_t begin_ns_ = 0;
  std::int64_t throttle_pause_ns_ = kThrottlePauseNs;
  std::int64_t throttled_count_ = 0;
  std::int64_t host_bound_count_ = 0;
  double last_throttled_hz_ = 0;
  double clock_sum_hz_ = 0;
  std::int64_t clock_count_ = 0;
  bool was_let_go_ = false;
  StopReason stop_reason_ = StopReason::kMaxTime;
};

}  // namespace

Result<KernelTiming> time_cold(const std::function<Status()>& launch, const KernelTimerOptions& options) {
  return Measurement(launch, options, false).run();
}

Result<KernelTiming> time_hot(const std::function<Status()>& launch, const KernelTimerOptions& options) {
  return Measurement(launch, options, true).run();
}

}  // namespace stepscope
