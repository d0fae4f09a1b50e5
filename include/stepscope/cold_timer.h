// A GPU kernel's own time, without the launch that brings it and without a warm cache: the "cold" measurement of
// nvbench, and its "hot" companion.
//
// Two events around a launch measure too much: the first event is reached before the host has sent the kernel. So the
// stream is held while everything is queued, and let go afterwards:
//
//   flush L2 | hold the stream | event | launch | event | let go | wait
//
// Each sample starts with a cold L2, and the SM clock is measured with it: samples taken while the GPU was throttled
// are dropped and counted. Sampling ends when the noise (standard deviation over mean) is under 0.5% or no longer
// falls. `time_hot` asks the other question: many launches back to back on a warm cache, the time of one on average.
//
// An empty kernel measures 2.7 us on an H200: the way from event to event is in every cold time, so one that works for
// 10 us measures 12.7. Events tell times 0.03 us apart there. Numbers: docs/performance.md, "Timers on an H200".
//
//   Result<KernelTiming> timing = time_cold([&] { axpy<<<grid, block, 0, stream>>>(n, a, x, y); },
//                                           {.stream = stream, .bytes = 12.0 * n});
//   if (timing) puts(timing->to_string().c_str());
//
// Definitions: docs/glossary.md, "cold time", "hot time". Not thread-safe: one measurement at a time on a stream.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "stepscope/result.h"

namespace stepscope {

// What lies in L2 when a sample begins, and so who pays for writing back. Neither is right for every kernel, by up to
// L2's size over the memory's speed (60 MiB, 13 us on an H200; docs/performance.md, "Flushing L2").
enum class L2Flush : std::uint8_t {
  kNone,     // the cache is warm with what the sample before left
  kClean,    // other data, unchanged: a kernel that writes leaves some of its writes in L2 behind its end
  kWritten,  // other data, just written: the kernel writes it back, also one that only reads. nvbench's way
};

struct KernelTimerOptions {
  std::string label = "";
  int device = -1;         // -1: the one in use, else device 0
  void* stream = nullptr;  // cudaStream_t or CUstream that the callable launches into; nullptr: the default stream
  std::optional<double> bytes = std::nullopt;  // that one call moves through memory; gives bytes_per_s
  std::optional<double> flops = std::nullopt;  // of one call; gives flops_per_s

  std::int64_t min_sample_count = 10;
  double max_noise_ratio = 0.005;   // stop under this
  double min_time_s = 0.5;          // not before so much time went into samples (nvbench counts GPU time here)
  double max_time_s = 15;           // stop in any case
  double min_clock_ratio = 0.75;    // of the default SM clock; samples under it are dropped. 0: keep all
  L2Flush flush = L2Flush::kClean;  // time_cold
  bool hold_stream = true;          // false: the callable waits for the device itself
  double hold_timeout_s = 1;        // let the stream go after so long: the callable seems to wait for it
};

enum class StopReason : std::uint8_t {
  kNoiseSmall,   // noise under max_noise_ratio
  kNoiseStable,  // noise does not fall any more
  kMaxTime,
};

struct KernelTiming {
  std::string label;
  std::string device_name;
  std::vector<double> samples_ns;  // in the order taken; of time_hot each is the average of a batch
  std::int64_t launches_per_sample = 1;
  double mean_ns = 0;
  double median_ns = 0;
  double min_ns = 0;
  double max_ns = 0;
  std::optional<double> std_ns;       // of a sample; missing with one sample
  std::optional<double> noise_ratio;  // std_ns / mean_ns
  std::int64_t throttled_count = 0;   // samples dropped
  std::optional<double> sm_clock_hz;  // mean over the kept samples; missing where it cannot be measured
  std::optional<double> default_sm_clock_hz;
  std::optional<double> bytes_per_s;  // by the median
  std::optional<double> flops_per_s;
  L2Flush flush = L2Flush::kNone;
  bool stream_held = false;  // false: gaps between launches of one call and waits of the host are in the times
  StopReason stop_reason = StopReason::kMaxTime;
  std::vector<std::string> warnings;  // sentences

  [[nodiscard]] std::int64_t sample_count() const { return static_cast<std::int64_t>(samples_ns.size()); }
  // A few lines for people: median, mean +- std, clock, rates, warnings.
  [[nodiscard]] std::string to_string() const;
};

// One call of `launch` puts the work into the stream, may do it in several launches, and should not wait for it. If it
// does wait, the stream is let go after hold_timeout_s, and all goes on without holding: stream_held is false and a
// warning says so. An Error of `launch` ends the measurement and is returned; so is an error of its kernels (with the
// driver's text). A launch that the runtime refuses (wrong grid) shows in cudaGetLastError alone: return it.
// Other errors: kNotFound (no driver, no device), kInvalidArgument (an option out of range; the stream is being
// captured), kUnsupported (every sample was throttled until max_time_s: the message has both clocks).
[[nodiscard]] Result<KernelTiming> time_cold(const std::function<Status()>& launch,
                                             const KernelTimerOptions& options = {});
[[nodiscard]] Result<KernelTiming> time_hot(const std::function<Status()>& launch,
                                            const KernelTimerOptions& options = {});

// The same for a callable that returns nothing: it cannot fail. (One that returns a cudaError_t does not compile: turn
// it into an Error, or it would be lost.)
template <class Launch>
concept LaunchWithoutStatus = std::is_void_v<std::invoke_result_t<Launch&>>;

template <LaunchWithoutStatus Launch>
[[nodiscard]] Result<KernelTiming> time_cold(Launch launch, const KernelTimerOptions& options = {}) {
  return time_cold(std::function<Status()>([&launch]() -> Status {
                     launch();
                     return Done{};
                   }),
                   options);
}

template <LaunchWithoutStatus Launch>
[[nodiscard]] Result<KernelTiming> time_hot(Launch launch, const KernelTimerOptions& options = {}) {
  return time_hot(std::function<Status()>([&launch]() -> Status {
                    launch();
                    return Done{};
                  }),
                  options);
}

}  // namespace stepscope
