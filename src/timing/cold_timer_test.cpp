// Cold and hot times on the fake driver: the order of what is queued, the rules for ending and dropping, and callables
// that fail, wait or throw.
#include "stepscope/cold_timer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "timing/fake_cuda.h"

namespace stepscope {
namespace {

// Few samples, so that tests read well; the fake's host time passes by calls alone.
KernelTimerOptions few() {
  KernelTimerOptions options;
  options.min_time_s = 0;
  options.min_sample_count = 3;
  options.hold_timeout_s = 60;
  return options;
}

std::string text_of(const Result<KernelTiming>& timing) { return timing ? "" : timing.error().to_string(); }
bool warns_of(const KernelTiming& timing, const std::string& what) {
  for (const std::string& warning : timing.warnings) {
    if (warning.find(what) != std::string::npos) return true;
  }
  return false;
}

TEST(TimeCold, MeasuresTheWorkAndNotTheLaunch) {
  FakeCuda cuda;
  const Result<KernelTiming> timing = time_cold(
      [&] {
        cuda.spend_host_time(70'000);  // a slow host
        cuda.launch_work(5000);
      },
      few());
  ASSERT_TRUE(timing) << text_of(timing);
  EXPECT_NEAR(timing->median_ns, 5000, 1);
  EXPECT_NEAR(timing->mean_ns, 5000, 1);
  EXPECT_EQ(timing->sample_count(), 3);
  EXPECT_EQ(timing->stop_reason, StopReason::kNoiseSmall);
  EXPECT_TRUE(timing->stream_held);
  EXPECT_EQ(timing->flush, L2Flush::kClean);
  EXPECT_NEAR(timing->sm_clock_hz.value(), 1e9, 1e7);
  EXPECT_EQ(timing->device_name, "Fake GPU");
  EXPECT_TRUE(timing->warnings.empty()) << timing->warnings[0];
  EXPECT_EQ(cuda.live_objects(), 0);
}

TEST(TimeCold, QueuesASampleAsDefined) {
  FakeCuda cuda;
  ASSERT_TRUE(time_cold([&] { cuda.launch_work(5000); }, few()));
  const std::vector<std::string> expected = {"stamp", "memset", "read", "hold", "event", "work", "event", "stamp"};
  const std::vector<std::string>& log = cuda.log();
  ASSERT_GE(log.size(), expected.size());
  EXPECT_EQ(std::vector<std::string>(log.end() - 8, log.end()), expected);
  // First a hold with nothing behind it, then the warm-up without one.
  const std::vector<std::string> warm_up = {"hold", "stamp", "event", "work", "event", "stamp"};
  EXPECT_EQ(std::vector<std::string>(log.begin(), log.begin() + 6), warm_up);
}

TEST(TimeCold, FlushesAsNvbenchDoesWhenAsked) {
  FakeCuda cuda;
  KernelTimerOptions options = few();
  options.flush = L2Flush::kWritten;
  const Result<KernelTiming> timing = time_cold([&] { cuda.launch_work(5000); }, options);
  ASSERT_TRUE(timing) << text_of(timing);
  EXPECT_EQ(timing->flush, L2Flush::kWritten);
  EXPECT_EQ(cuda.calls("cuMemsetD8Async"), 3);
  EXPECT_EQ(std::count(cuda.log().begin(), cuda.log().end(), "read"), 0);
}

TEST(TimeCold, WithoutHoldingTheLaunchIsInTheTime) {
  FakeCuda cuda;
  KernelTimerOptions options = few();
  options.hold_stream = false;
  options.flush = L2Flush::kNone;
  const Result<KernelTiming> timing = time_cold(
      [&] {
        cuda.spend_host_time(70'000);
        cuda.launch_work(5000);
      },
      options);
  ASSERT_TRUE(timing) << text_of(timing);
  EXPECT_GT(timing->median_ns, 70'000);
  EXPECT_FALSE(timing->stream_held);
  EXPECT_EQ(timing->flush, L2Flush::kNone);
}

TEST(TimeCold, GivesRatesByTheMedian) {
  FakeCuda cuda;
  KernelTimerOptions options = few();
  options.bytes = 10e6;
  options.flops = 1e9;
  const Result<KernelTiming> timing = time_cold([&] { cuda.launch_work(5000); }, options);
  ASSERT_TRUE(timing) << text_of(timing);
  EXPECT_NEAR(timing->bytes_per_s.value(), 2e12, 1e9);
  EXPECT_NEAR(timing->flops_per_s.value(), 2e14, 1e11);
}

TEST(TimeCold, StopsWhenTheNoiseDoesNotFall) {
  FakeCuda cuda;
  int call = 0;
  const Result<KernelTiming> timing = time_cold([&] { cuda.launch_work(++call % 2 == 0 ? 5000 : 6000); }, few());
  ASSERT_TRUE(timing) << text_of(timing);
  EXPECT_EQ(timing->stop_reason, StopReason::kNoiseStable);
  EXPECT_GT(timing->sample_count(), 64);
  EXPECT_NEAR(timing->noise_ratio.value(), 0.09, 0.01);
}

TEST(TimeCold, StopsAtTheTimeLimitAndSaysSo) {
  FakeCuda cuda;
  KernelTimerOptions options = few();
  options.max_time_s = 0.01;
  options.min_sample_count = 1'000'000;
  const Result<KernelTiming> timing = time_cold([&] { cuda.launch_work(1'000'000); }, options);
  ASSERT_TRUE(timing) << text_of(timing);
  EXPECT_EQ(timing->stop_reason, StopReason::kMaxTime);
  EXPECT_LE(timing->sample_count(), 11);
  EXPECT_TRUE(warns_of(*timing, "max_time_s"));
}

TEST(TimeCold, DropsThrottledSamples) {
  FakeCuda cuda;
  int call = 0;
  const Result<KernelTiming> timing = time_cold(
      [&] {
        ++call;
        const bool is_slow = call == 3 || call == 4;
        cuda.sm_clock_hz = is_slow ? 0.5e9 : 1e9;
        cuda.launch_work(is_slow ? 1'000'000 : 500'000);
      },
      few());
  ASSERT_TRUE(timing) << text_of(timing);
  EXPECT_EQ(timing->throttled_count, 2);
  EXPECT_NEAR(timing->max_ns, 500'000, 1);
  EXPECT_TRUE(warns_of(*timing, "2 samples were dropped"));
}

TEST(TimeCold, AGpuThatIsThrottledForGoodEndsAtTheTimeLimitAndSaysSo) {
  FakeCuda cuda;
  int call = 0;
  const Result<KernelTiming> timing = time_cold(
      [&] {
        if (++call > 9) cuda.sm_clock_hz = 0.3e9;
        cuda.launch_work(call % 2 == 0 ? 500'000 : 600'000);  // noise neither small nor, after 8 samples, stable
      },
      few());
  ASSERT_TRUE(timing) << text_of(timing);
  EXPECT_EQ(timing->sample_count(), 8);
  EXPECT_EQ(timing->stop_reason, StopReason::kMaxTime);
  EXPECT_TRUE(warns_of(*timing, "max_time_s"));
}

TEST(TimeCold, AGpuThatIsAlwaysThrottledIsAnErrorWithBothClocks) {
  FakeCuda cuda;
  cuda.sm_clock_hz = 0.3e9;
  const Result<KernelTiming> timing = time_cold([&] { cuda.launch_work(5000); }, few());
  ASSERT_FALSE(timing);
  EXPECT_EQ(timing.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(timing.error().message.find("300 MHz"), std::string::npos) << timing.error().message;
  EXPECT_NE(timing.error().message.find("1000 MHz"), std::string::npos) << timing.error().message;
  EXPECT_LT(cuda.host_ns(), 20e9);  // gave up at max_time_s

  KernelTimerOptions options = few();
  options.min_clock_ratio = 0;
  EXPECT_TRUE(time_cold([&] { cuda.launch_work(5000); }, options));
}

TEST(TimeCold, WithoutADefaultClockNothingIsDropped) {
  FakeCuda cuda;
  cuda.clock_khz = 0;
  cuda.sm_clock_hz = 0.3e9;
  const Result<KernelTiming> timing = time_cold([&] { cuda.launch_work(5000); }, few());
  ASSERT_TRUE(timing) << text_of(timing);
  EXPECT_FALSE(timing->default_sm_clock_hz);
  EXPECT_TRUE(warns_of(*timing, "SM clock is not known"));
}

TEST(TimeCold, ACacheOfUnknownSizeIsNotFlushedAndSaidSo) {
  FakeCuda cuda;
  cuda.l2_bytes = 0;
  const Result<KernelTiming> timing = time_cold([&] { cuda.launch_work(5000); }, few());
  ASSERT_TRUE(timing) << text_of(timing);
  EXPECT_EQ(timing->flush, L2Flush::kNone);
  EXPECT_TRUE(warns_of(*timing, "cache was warm"));
}

TEST(TimeCold, ACallableThatWaitsDoesNotDeadlock) {
  FakeCuda cuda;
  KernelTimerOptions options = few();
  options.hold_timeout_s = 0.002;
  const Result<KernelTiming> timing = time_cold(
      [&] {
        cuda.launch_work(5000);
        EXPECT_EQ(cuda.wait_for_stream(), kCuSuccess);
      },
      options);
  ASSERT_TRUE(timing) << text_of(timing);
  EXPECT_FALSE(cuda.is_deadlocked());
  EXPECT_FALSE(timing->stream_held);
  EXPECT_EQ(timing->sample_count(), 3);
  EXPECT_TRUE(warns_of(*timing, "waits for the device"));
  EXPECT_GE(timing->min_ns, 5000);
}

TEST(TimeCold, AnErrorOfTheCallableIsReturnedAndTheStreamLetGo) {
  FakeCuda cuda;
  int call = 0;
  const Result<KernelTiming> timing = time_cold(
      [&]() -> Status {
        cuda.launch_work(5000);
        if (++call == 3) return Error{ErrorCode::kInvalidArgument, "wrong grid", {}};
        return Done{};
      },
      few());
  ASSERT_FALSE(timing);
  EXPECT_EQ(timing.error().message, "wrong grid");
  EXPECT_FALSE(cuda.is_deadlocked());
  EXPECT_EQ(cuda.live_objects(), 0);
}

TEST(TimeCold, AnExceptionOfTheCallableLeavesNoStreamHeld) {
  FakeCuda cuda;
  int call = 0;
  const auto launch = [&] {
    cuda.launch_work(5000);
    if (++call == 3) throw std::runtime_error("from the callable");
  };
  EXPECT_THROW((void)time_cold(launch, few()), std::runtime_error);
  EXPECT_FALSE(cuda.is_deadlocked());
  EXPECT_EQ(cuda.wait_for_stream(), kCuSuccess);
  EXPECT_EQ(cuda.live_objects(), 0);
}

TEST(TimeCold, AKernelThatFailsIsAnErrorWithTheDriversText) {
  FakeCuda cuda;
  cuda.fail("cuStreamSynchronize", kCuErrorLaunchFailed, 4);
  const Result<KernelTiming> timing = time_cold([&] { cuda.launch_work(5000); }, few());
  ASSERT_FALSE(timing);
  EXPECT_NE(timing.error().message.find("CUDA_ERROR_LAUNCH_FAILED"), std::string::npos) << timing.error().message;
  EXPECT_EQ(cuda.live_objects(), 0);
}

// Whatever call fails, and whenever: an error or a result, nothing left behind, nobody waiting.
TEST(TimeCold, AnyCallMayFail) {
  const char* const kSymbols[] = {
      "cuInit",           "cuDeviceGetCount",    "cuDeviceGet",          "cuDevicePrimaryCtxRetain",
      "cuCtxGetCurrent",  "cuCtxSetCurrent",     "cuDeviceGetAttribute", "cuEventCreate",
      "cuEventRecord",    "cuEventElapsedTime",  "cuStreamSynchronize",  "cuStreamIsCapturing",
      "cuMemAlloc",       "cuMemsetD8Async",     "cuMemHostAlloc",       "cuMemHostGetDevicePointer",
      "cuModuleLoadData", "cuModuleGetFunction", "cuLaunchKernel",       "cuStreamWaitValue32"};
  for (const char* symbol : kSymbols) {
    for (int nth = 1; nth <= 9; ++nth) {
      FakeCuda cuda;
      cuda.fail(symbol, kCuErrorInvalidValue, nth);
      const Result<KernelTiming> timing = time_cold([&] { cuda.launch_work(5000); }, few());
      // Missing and said so, or the last call of all, which gives things back.
      const std::string name = symbol;
      const bool may_fail = name == "cuDeviceGetAttribute" || name == "cuCtxGetCurrent" ||
                            (name == "cuStreamSynchronize" && cuda.calls(symbol) == nth);
      if (cuda.calls(symbol) >= nth && !may_fail) {
        EXPECT_FALSE(timing) << symbol << nth;
      }
      EXPECT_FALSE(cuda.is_deadlocked()) << symbol << nth;
      EXPECT_EQ(cuda.live_objects(), 0) << symbol << nth;
    }
  }
}

TEST(TimeCold, RefusesACaptureAndWrongOptions) {
  FakeCuda cuda;
  const auto launch = [&] { cuda.launch_work(5000); };
  cuda.capture_status = 1;
  EXPECT_EQ(time_cold(launch, few()).error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(cuda.log().empty());
  cuda.capture_status = 0;
  const auto is_refused = [&](auto change) {
    KernelTimerOptions options = few();
    change(options);
    const Result<KernelTiming> timing = time_cold(launch, options);
    return !timing && timing.error().code == ErrorCode::kInvalidArgument;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(is_refused([](auto& options) { options.min_sample_count = 0; }));
  EXPECT_TRUE(is_refused([&](auto& options) { options.max_noise_ratio = nan; }));
  EXPECT_TRUE(is_refused([](auto& options) { options.max_time_s = 0; }));
  EXPECT_TRUE(is_refused([](auto& options) { options.min_clock_ratio = 1.5; }));
  EXPECT_TRUE(is_refused([](auto& options) { options.hold_timeout_s = -1; }));
  EXPECT_TRUE(is_refused([](auto& options) { options.bytes = -1; }));
  EXPECT_TRUE(is_refused([&](auto& options) { options.flops = nan; }));
  EXPECT_TRUE(is_refused([](auto& options) { options.device = 7; }));
}

TEST(TimeHot, AveragesManyLaunchesWithoutFlushing) {
  FakeCuda cuda;
  const Result<KernelTiming> timing = time_hot([&] { cuda.launch_work(100'000); }, few());
  ASSERT_TRUE(timing) << text_of(timing);
  EXPECT_EQ(timing->launches_per_sample, 100);  // 10 ms
  EXPECT_NEAR(timing->median_ns, 100'000, 100);
  EXPECT_EQ(timing->flush, L2Flush::kNone);
  EXPECT_EQ(cuda.calls("cuMemsetD8Async"), 0);
  EXPECT_TRUE(timing->warnings.empty()) << timing->warnings[0];
}

TEST(TimeHot, SaysWhenTheHostIsTheSlowerOne) {
  FakeCuda cuda;
  const Result<KernelTiming> timing = time_hot(
      [&] {
        cuda.spend_host_time(50'000);
        cuda.launch_work(2000);
      },
      few());
  ASSERT_TRUE(timing) << text_of(timing);
  EXPECT_GT(timing->median_ns, 40'000);
  EXPECT_TRUE(warns_of(*timing, "the time of a launch"));
}

TEST(TimeHot, ACallableThatWaitsDoesNotDeadlock) {
  FakeCuda cuda;
  KernelTimerOptions options = few();
  options.hold_timeout_s = 0.002;
  const Result<KernelTiming> timing = time_hot(
      [&] {
        cuda.launch_work(1'000'000);
        EXPECT_EQ(cuda.wait_for_stream(), kCuSuccess);
      },
      options);
  ASSERT_TRUE(timing) << text_of(timing);
  EXPECT_FALSE(timing->stream_held);
}

TEST(KernelTiming, IsReadableAsText) {
  KernelTiming timing;
  timing.label = "axpy";
  timing.device_name = "Fake GPU";
  timing.samples_ns = {12'000, 12'345, 13'000};
  timing.median_ns = 12'345;
  timing.mean_ns = 12'448;
  timing.min_ns = 12'000;
  timing.max_ns = 13'000;
  timing.noise_ratio = 0.0412;
  timing.sm_clock_hz = 1.755e9;
  timing.default_sm_clock_hz = 1.98e9;
  timing.bytes_per_s = 3.21e12;
  timing.flops_per_s = 45.6e12;
  timing.flush = L2Flush::kClean;
  timing.warnings = {"one sentence"};
  EXPECT_EQ(timing.to_string(),
            "axpy, Fake GPU, cold\n"
            "  median 12.35 us, mean 12.45 us +- 4.12%, min 12.00 us, max 13.00 us\n"
            "  3 samples, SM clock 1755 MHz of 1980, 3.210 TB/s, 45.60 TFLOP/s\n"
            "  warning: one sentence\n");
}

}  // namespace
}  // namespace stepscope
