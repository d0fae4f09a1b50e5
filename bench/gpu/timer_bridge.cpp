// Our timers behind a C interface, for compare_timers.py: the same Python callable is measured by us and by PyTorch.
//
// The callable is a C function (of ctypes) that runs the operation `count` times in a Python loop, as PyTorch's Timer
// does, so that both measurements contain the same interpreter.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "gpu/gpu_machine.h"
#include "stepscope/cold_timer.h"
#include "stepscope/timer.h"

namespace {

using namespace stepscope;

using RunCallback = int (*)(std::int64_t count);  // not 0: the operation failed

struct BridgeResult {
  double median_ns;
  double mean_ns;
  double min_ns;
  double spread_ratio;  // Timer: IQR over median; cold and hot: standard deviation over mean; negative: not known
  double clock_hz;      // negative: not known
  std::int64_t sample_count;
  std::int64_t runs_per_sample;
  std::int64_t throttled_count;
  std::int32_t is_held;
  char text[1024];  // of an error, or the warnings
};

void copy_text(BridgeResult& result, const std::string& text) {
  const std::size_t length = std::min(text.size(), sizeof result.text - 1);
  std::memcpy(result.text, text.data(), length);
  result.text[length] = '\0';
}

int fail(BridgeResult& result, const Error& error) {
  copy_text(result, error.to_string());
  return 1;
}

std::function<Status()> once(RunCallback run) {
  return [run]() -> Status {
    if (run(1) == 0) return Done{};
    return Error{ErrorCode::kIo, "the operation failed", {}};
  };
}

int take_kernel_timing(BridgeResult& result, const Result<KernelTiming>& timing) {
  if (!timing) return fail(result, timing.error());
  result.median_ns = timing->median_ns;
  result.mean_ns = timing->mean_ns;
  result.min_ns = timing->min_ns;
  result.spread_ratio = timing->noise_ratio.value_or(-1);
  result.clock_hz = timing->sm_clock_hz.value_or(-1);
  result.sample_count = timing->sample_count();
  result.runs_per_sample = timing->launches_per_sample;
  result.throttled_count = timing->throttled_count;
  result.is_held = timing->stream_held ? 1 : 0;
  std::string warnings;
  for (const std::string& warning : timing->warnings) warnings += warning + "; ";
  copy_text(result, warnings);
  return 0;
}

}  // namespace

extern "C" {

int bridge_timer(RunCallback run, double min_run_time_s, BridgeResult* result) {
  std::memset(result, 0, sizeof *result);
  Timer timer(BatchCallable{[run](std::int64_t count) { (void)run(count); }});
  const Result<Measurement> measured = timer.blocked_autorange(min_run_time_s);
  if (!measured) return fail(*result, measured.error());
  result->median_ns = measured->median_ns();
  result->mean_ns = measured->mean_ns();
  result->min_ns = measured->percentile_ns(0);
  result->spread_ratio = measured->iqr_ns() / measured->median_ns();
  result->clock_hz = -1;
  result->sample_count = static_cast<std::int64_t>(measured->raw_times_ns().size());
  result->runs_per_sample = measured->number_per_run();
  std::string warnings;
  for (const std::string& warning : measured->warnings()) warnings += warning + "; ";
  copy_text(*result, warnings);
  return 0;
}

int bridge_cold(RunCallback run, double min_time_s, double max_time_s, int flush, BridgeResult* result) {
  std::memset(result, 0, sizeof *result);
  KernelTimerOptions options;
  options.min_time_s = min_time_s;
  options.max_time_s = max_time_s;
  options.flush = static_cast<L2Flush>(std::clamp(flush, 0, 2));
  return take_kernel_timing(*result, time_cold(once(run), options));
}

int bridge_hot(RunCallback run, double min_time_s, double max_time_s, BridgeResult* result) {
  std::memset(result, 0, sizeof *result);
  KernelTimerOptions options;
  options.min_time_s = min_time_s;
  options.max_time_s = max_time_s;
  return take_kernel_timing(*result, time_hot(once(run), options));
}

// An operation for the comparison: a kernel that does nothing.
int bridge_launch_empty() {
  static const Result<std::unique_ptr<GpuMachine>> machine = GpuMachine::open();
  return machine && (*machine)->launch_empty() ? 0 : 1;
}

}  // extern "C"
