// The CUDA clock on the fake driver: events, waiting, contexts, captures, and every way to have none.
#include <gtest/gtest.h>

#include <cstdlib>

#include "stepscope/clock.h"
#include "timing/fake_cuda.h"

namespace stepscope {
namespace {

CuContext primary(int device) { return reinterpret_cast<CuContext>(static_cast<std::uint64_t>(0x1000 + device)); }
CuContext own_context(int device) { return reinterpret_cast<CuContext>(static_cast<std::uint64_t>(0x2000 + device)); }

std::unique_ptr<Clock> open_clock(int device = -1) {
  Result<std::unique_ptr<Clock>> clock = open_cuda_clock(device);
  EXPECT_TRUE(clock) << (clock ? "" : clock.error().message);
  return clock ? std::move(clock).value() : nullptr;
}

TEST(CudaClock, SaysWhatItIs) {
  FakeCuda cuda;
  const auto clock = open_clock();
  EXPECT_EQ(clock->name(), "cuda:0 (Fake GPU)");
  EXPECT_TRUE(clock->is_device());
}

TEST(CudaClock, TellsTheTimeBetweenTwoEvents) {
  FakeCuda cuda;
  const auto clock = open_clock();
  const ClockEvent begin = clock->record_event().value();
  cuda.launch_work(250'000);
  const ClockEvent end = clock->record_event().value();
  cuda.launch_work(9'000'000);
  const Result<double> early = clock->elapsed_ns(begin, end);
  ASSERT_FALSE(early);
  EXPECT_NE(early.error().message.find("CUDA_ERROR_NOT_READY"), std::string::npos);
  ASSERT_TRUE(clock->wait_event(end));
  EXPECT_LT(cuda.host_ns(), 5'000'000);  // waited for the event, not for what came after
  EXPECT_NEAR(clock->elapsed_ns(begin, end).value(), 250'000, 2000);
}

TEST(CudaClock, SynchronizeWaitsForEverything) {
  FakeCuda cuda;
  const auto clock = open_clock();
  cuda.launch_work(9'000'000);
  ASSERT_TRUE(clock->synchronize());
  EXPECT_GE(cuda.host_ns(), 10'000'000);
}

TEST(CudaClock, TakesEventsFromAPool) {
  FakeCuda cuda;
  const auto clock = open_clock();
  for (int i = 0; i < 100; ++i) {
    const ClockEvent event = clock->record_event().value();
    clock->release_event(event);
  }
  EXPECT_EQ(cuda.calls("cuEventCreate"), 1);
}

TEST(CudaClock, AnEventGivenBackTwiceIsNotHandedOutTwice) {
  FakeCuda cuda;
  const auto clock = open_clock();
  const ClockEvent event = clock->record_event().value();
  clock->release_event(event);
  clock->release_event(event);
  EXPECT_NE(clock->record_event().value().handle, clock->record_event().value().handle);
}

TEST(CudaClock, RefusesEventsOfOthers) {
  FakeCuda cuda;
  const auto clock = open_clock();
  const ClockEvent good = clock->record_event().value();
  EXPECT_EQ(clock->wait_event({}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(clock->elapsed_ns(good, {1234}).error().code, ErrorCode::kInvalidArgument);
  clock->release_event({1234});
  EXPECT_EQ(cuda.calls("cuEventSynchronize"), 0);
}

TEST(CudaClock, GivesEverythingBack) {
  FakeCuda cuda;
  {
    const auto clock = open_clock();
    for (int i = 0; i < 5; ++i) (void)clock->record_event();
    EXPECT_EQ(cuda.live_objects(), 6);  // events and the retained context
  }
  EXPECT_EQ(cuda.live_objects(), 0);
}

TEST(CudaClock, PassesOnWhatTheDeviceSays) {
  FakeCuda cuda;
  const auto clock = open_clock();
  cuda.fail("cuCtxSynchronize", kCuErrorLaunchFailed);
  const Status failed = clock->synchronize();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "cuCtxSynchronize: CUDA_ERROR_LAUNCH_FAILED (as the driver says it)");
  cuda.fail("cuEventCreate", kCuErrorInvalidValue);
  EXPECT_FALSE(clock->record_event());
  cuda.fail("cuEventRecord", kCuErrorInvalidValue);
  EXPECT_FALSE(clock->record_event());
  EXPECT_TRUE(clock->record_event());  // the event of the failed record is used again
  EXPECT_EQ(cuda.calls("cuEventCreate"), 2);
}

TEST(CudaClock, ACaptureInProgressIsAnErrorAndNotTouched) {
  FakeCuda cuda;
  const auto clock = open_clock();
  cuda.capture_status = 1;
  const Result<ClockEvent> event = clock->record_event();
  ASSERT_FALSE(event);
  EXPECT_EQ(event.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(event.error().message.find("captured"), std::string::npos);
  EXPECT_FALSE(clock->synchronize());
  EXPECT_EQ(cuda.calls("cuEventRecord"), 0);
  EXPECT_EQ(cuda.calls("cuCtxSynchronize"), 0);
}

TEST(CudaClock, ACaptureThatTheDefaultStreamWouldJoinIsAnErrorToo) {
  FakeCuda cuda;
  const auto clock = open_clock();
  cuda.capture_result = kCuErrorCaptureImplicit;
  EXPECT_EQ(clock->record_event().error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(clock->synchronize().error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(cuda.calls("cuEventRecord") + cuda.calls("cuCtxSynchronize"), 0);
}

TEST(CudaClock, WorksInItsContextAndPutsTheThreadsOwnBack) {
  FakeCuda cuda;
  cuda.device_count = 2;
  cuda.current = own_context(0);
  const auto clock = open_clock(1);
  EXPECT_EQ(cuda.current, own_context(0));
  EXPECT_TRUE(clock->record_event());
  EXPECT_TRUE(clock->synchronize());
  EXPECT_EQ(cuda.current, own_context(0));
  EXPECT_GE(cuda.calls("cuCtxPushCurrent"), 2);
}

TEST(CudaClock, TakesTheDeviceOfTheCurrentContext) {
  FakeCuda cuda;
  cuda.device_count = 3;
  cuda.current = own_context(2);
  EXPECT_EQ(open_clock()->name(), "cuda:2 (Fake GPU)");
  EXPECT_EQ(cuda.calls("cuDevicePrimaryCtxRetain"), 0);
}

TEST(CudaClock, WithoutAContextDeviceZeroBecomesCurrent) {
  FakeCuda cuda;
  const auto clock = open_clock();
  EXPECT_EQ(cuda.current, primary(0));
}

TEST(CudaClock, SaysWhyThereIsNone) {
  FakeCuda cuda;
  const Result<std::unique_ptr<Clock>> high = open_cuda_clock(1);
  ASSERT_FALSE(high);
  EXPECT_EQ(high.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(high.error().message, "no CUDA device 1: this process sees 1");
  EXPECT_FALSE(open_cuda_clock(-2));
  cuda.device_count = 0;
  EXPECT_EQ(open_cuda_clock().error().code, ErrorCode::kNotFound);
  cuda.device_count = 1;
  cuda.fail("cuDevicePrimaryCtxRetain", kCuErrorInvalidValue);
  EXPECT_FALSE(open_cuda_clock());
}

TEST(DefaultClock, IsTheCpusWhereNobodyUsesCuda) {
  EXPECT_EQ(make_default_clock()->name(), "cpu");  // no driver in this process
  FakeCuda cuda;
  EXPECT_EQ(make_default_clock()->name(), "cpu");  // a driver and no context
  EXPECT_EQ(cuda.calls("cuInit"), 0);
  EXPECT_EQ(cuda.calls("cuDevicePrimaryCtxRetain"), 0);
}

TEST(DefaultClock, IsThatOfTheDeviceInUse) {
  FakeCuda cuda;
  cuda.device_count = 2;
  cuda.active_primary_contexts = {1};
  EXPECT_EQ(make_default_clock()->name(), "cuda:1 (Fake GPU)");
  cuda.current = own_context(0);
  EXPECT_EQ(make_default_clock()->name(), "cuda:0 (Fake GPU)");
}

TEST(SpoiledTiming, NamesTheVariable) {
  unsetenv("CUDA_LAUNCH_BLOCKING");
  EXPECT_EQ(find_spoiled_timing(), "");
  setenv("CUDA_LAUNCH_BLOCKING", "0", 1);
  EXPECT_EQ(find_spoiled_timing(), "");
  setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  EXPECT_NE(find_spoiled_timing().find("CUDA_LAUNCH_BLOCKING=1"), std::string::npos);
  unsetenv("CUDA_LAUNCH_BLOCKING");
}

}  // namespace
}  // namespace stepscope
