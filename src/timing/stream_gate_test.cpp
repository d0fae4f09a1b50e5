// Holding a stream: it stands, it goes on, and nobody can make it stand for ever.
#include "timing/stream_gate.h"

#include <gtest/gtest.h>

#include "timing/fake_cuda.h"

namespace stepscope {
namespace {

struct Held {
  explicit Held(StreamGate::Method method = StreamGate::Method::kWaitValue) {
    context = CudaContext::open(-1).value();
    kernels = TimingKernels::load(context).value();
    gate = StreamGate::open(context, kernels, nullptr, method).value();
  }
  std::shared_ptr<CudaContext> context;
  std::shared_ptr<TimingKernels> kernels;
  std::unique_ptr<StreamGate> gate;
};

constexpr std::int64_t kLong = 60'000'000'000;

TEST(StreamGate, WorkWaitsUntilTheStreamIsLetGo) {
  for (const auto method : {StreamGate::Method::kWaitValue, StreamGate::Method::kKernel}) {
    FakeCuda cuda;
    Held held(method);
    EXPECT_EQ(held.gate->method(), method);
    const CudaDriver& driver = held.context->driver();
    CuEvent event = nullptr;
    ASSERT_EQ(driver.event_create(&event, 0), kCuSuccess);
    for (int round = 0; round < 3; ++round) {
      ASSERT_TRUE(held.gate->hold(kLong));
      ASSERT_EQ(driver.event_record(event, nullptr), kCuSuccess);
      EXPECT_EQ(driver.event_query(event), kCuErrorNotReady);
      EXPECT_TRUE(held.gate->release());
      EXPECT_EQ(driver.event_query(event), kCuSuccess);
    }
  }
}

TEST(StreamGate, AnOldDriverHoldsByAKernel) {
  FakeCuda cuda;
  cuda.remove_wait_value();
  EXPECT_EQ(Held().gate->method(), StreamGate::Method::kKernel);
}

TEST(StreamGate, TheWatchdogLetsGoOfAStreamThatSomebodyWaitsFor) {
  FakeCuda cuda;
  Held held;
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(held.gate->hold(2'000'000));
    EXPECT_EQ(cuda.wait_for_stream(), kCuSuccess);  // comes back only because of the watchdog
    EXPECT_FALSE(cuda.is_deadlocked());
    EXPECT_FALSE(held.gate->release());
  }
  ASSERT_TRUE(held.gate->hold(kLong));  // and the gate still works
  EXPECT_TRUE(held.gate->release());
}

TEST(StreamGate, ReleaseWithoutHoldIsHarmless) {
  FakeCuda cuda;
  Held held;
  EXPECT_TRUE(held.gate->release());
  ASSERT_TRUE(held.gate->hold(kLong));
  EXPECT_TRUE(held.gate->release());
  EXPECT_TRUE(held.gate->release());
}

TEST(StreamGate, AGateThatGoesAwayLetsGo) {
  FakeCuda cuda;
  {
    Held held;
    ASSERT_TRUE(held.gate->hold(kLong));
  }
  EXPECT_FALSE(cuda.is_deadlocked());
  EXPECT_EQ(cuda.live_objects(), 0);
}

TEST(StreamGate, AHoldThatFailsHoldsNothing) {
  FakeCuda cuda;
  Held held;
  cuda.fail("cuStreamWaitValue32", kCuErrorNotSupported);
  const Status status = held.gate->hold(kLong);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(cuda.wait_for_stream(), kCuSuccess);
}

}  // namespace
}  // namespace stepscope
