// The timing room on a real GPU: what the fake driver can only believe. Run by tests/gpu/run.sh or `ctest -C gpu -L
// gpu`.
//
// Bounds on times are wide: they catch a wrong unit, a missing wait or a cold time that contains the launch, not a slow
// machine. The test of a failing kernel is last, because it loses the context.
#include <gtest/gtest.h>

#include <cstdio>

#include "gpu/gpu_machine.h"
#include "stepscope/clock.h"
#include "stepscope/cold_timer.h"
#include "stepscope/memory_stats.h"

namespace stepscope {
namespace {

GpuMachine* gpu() {
  static Result<std::unique_ptr<GpuMachine>> machine = GpuMachine::open();
  return machine ? machine->get() : nullptr;
}

class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu() == nullptr) GTEST_SKIP() << "no GPU";
  }
};

KernelTimerOptions quick() {
  KernelTimerOptions options;
  options.min_time_s = 0.05;
  options.max_time_s = 2;
  return options;
}

std::string text_of(const Result<KernelTiming>& timing) {
  return timing ? timing->to_string() : timing.error().to_string();
}

TEST_F(Gpu, ClockMeasuresAKernel) {
  const auto clock = open_cuda_clock();
  ASSERT_TRUE(clock) << clock.error().message;
  EXPECT_EQ((*clock)->name().substr(0, 5), "cuda:");
  const ClockEvent begin = (*clock)->record_event().value();
  ASSERT_TRUE(gpu()->launch_spin(2'000'000));
  const ClockEvent end = (*clock)->record_event().value();
  const std::int64_t before_ns = (*clock)->now_ns();
  ASSERT_TRUE((*clock)->wait_event(end));
  EXPECT_GT((*clock)->now_ns() - before_ns, 1'000'000);
  EXPECT_NEAR((*clock)->elapsed_ns(begin, end).value(), 2e6, 0.5e6);
  ASSERT_TRUE(gpu()->launch_spin(2'000'000));
  const std::int64_t launched_ns = (*clock)->now_ns();
  ASSERT_TRUE((*clock)->synchronize());
  EXPECT_GT((*clock)->now_ns() - launched_ns, 1'000'000);
}

TEST_F(Gpu, AnEventThatWasNotReachedIsAnError) {
  const auto clock = open_cuda_clock();
  const ClockEvent begin = (*clock)->record_event().value();
  ASSERT_TRUE(gpu()->launch_spin(20'000'000));
  const ClockEvent end = (*clock)->record_event().value();
  const Result<double> early = (*clock)->elapsed_ns(begin, end);
  ASSERT_FALSE(early);
  EXPECT_NE(early.error().message.find("CUDA_ERROR_NOT_READY"), std::string::npos) << early.error().message;
  ASSERT_TRUE((*clock)->synchronize());
}

TEST_F(Gpu, TheDefaultClockIsCudas) { EXPECT_EQ(make_default_clock()->name().substr(0, 5), "cuda:"); }

struct Capture {
  explicit Capture(unsigned flags) {
    EXPECT_EQ(gpu()->calls.stream_create(&stream, flags), kCuSuccess);
    EXPECT_EQ(gpu()->calls.begin_capture(stream, 0), kCuSuccess);
    EXPECT_TRUE(gpu()->launch_empty(stream));
  }
  // Does the capture give a graph that runs?
  bool is_whole() {
    CuGraph graph = nullptr;
    CuGraphExec exec = nullptr;
    bool whole = gpu()->launch_empty(stream).has_value();
    whole = gpu()->calls.end_capture(stream, &graph) == kCuSuccess && whole && graph != nullptr;
    whole = whole && gpu()->calls.graph_instantiate(&exec, graph, 0) == kCuSuccess;
    whole = whole && gpu()->calls.graph_launch(exec, stream) == kCuSuccess;
    whole = whole && gpu()->driver().stream_synchronize(stream) == kCuSuccess;
    if (exec != nullptr) (void)gpu()->calls.graph_exec_destroy(exec);
    if (graph != nullptr) (void)gpu()->calls.graph_destroy(graph);
    return whole;
  }
  ~Capture() { (void)gpu()->calls.stream_destroy(stream); }
  CuStream stream = nullptr;
};

TEST_F(Gpu, ACaptureOfItsStreamSurvivesTheClock) {
  const auto warm = open_cuda_clock();
  Capture capture(1);
  const auto clock = open_cuda_clock(-1, capture.stream);
  ASSERT_TRUE(clock);
  EXPECT_FALSE((*clock)->record_event());
  EXPECT_FALSE((*clock)->synchronize());
  EXPECT_FALSE(time_cold([] {}, {.stream = capture.stream}));
  EXPECT_TRUE(capture.is_whole());
}

TEST_F(Gpu, ACaptureThatTheDefaultStreamWouldJoinSurvivesTheClock) {
  const auto clock = open_cuda_clock();
  Capture capture(0);
  const auto event = (*clock)->record_event();
  ASSERT_FALSE(event);
  EXPECT_EQ(event.error().code, ErrorCode::kInvalidArgument) << event.error().message;
  EXPECT_FALSE((*clock)->synchronize());
  EXPECT_FALSE(time_cold([] {}));
  EXPECT_TRUE(capture.is_whole());
}

TEST_F(Gpu, EventsOfAnotherStreamDoNotTouchACapture) {
  const auto clock = open_cuda_clock();
  Capture capture(1);
  for (int i = 0; i < 3; ++i) {
    const auto begin = (*clock)->record_event();
    const auto end = (*clock)->record_event();
    ASSERT_TRUE(begin) << begin.error().message;
    EXPECT_TRUE((*clock)->wait_event(*end));
    EXPECT_TRUE((*clock)->elapsed_ns(*begin, *end));
  }
  EXPECT_TRUE(capture.is_whole());
}

// A capture that the clock cannot see: CUDA itself refuses, and breaks the capture (as open_cuda_clock's comment says).
TEST_F(Gpu, SynchronizingBesideAnUnseenCapture) {
  const auto clock = open_cuda_clock();
  Capture capture(1);
  const Status status = (*clock)->synchronize();
  const bool whole = capture.is_whole();
  EXPECT_EQ(status.has_value(), whole);
  printf("synchronize beside a capture on a non-blocking stream: %s; the capture is %s\n",
         status ? "done" : status.error().message.c_str(), whole ? "whole" : "broken");
  EXPECT_TRUE((*clock)->synchronize());
}

TEST_F(Gpu, ColdTimeOfAKernelOfKnownLength) {
  for (const std::uint64_t ns : {20'000, 200'000}) {
    const Result<KernelTiming> timing = time_cold([&] { return gpu()->launch_spin(ns); }, quick());
    ASSERT_TRUE(timing) << text_of(timing);
    printf("spin %llu ns: %s", static_cast<unsigned long long>(ns), timing->to_string().c_str());
    EXPECT_TRUE(timing->stream_held);
    EXPECT_EQ(timing->flush, L2Flush::kClean);
    EXPECT_GE(timing->median_ns, static_cast<double>(ns));
    EXPECT_LE(timing->median_ns, static_cast<double>(ns) + 5000);  // without a launch, which takes about as long
    ASSERT_TRUE(timing->sm_clock_hz && timing->default_sm_clock_hz);
    EXPECT_NEAR(*timing->sm_clock_hz / *timing->default_sm_clock_hz, 0.9, 0.2);
  }
}

TEST_F(Gpu, ColdIsSlowerThanWarm) {
  constexpr std::uint64_t kBytes = 16 << 20;
  CuPointer data = 0;
  ASSERT_EQ(gpu()->driver().memory_alloc(&data, kBytes), kCuSuccess);
  KernelTimerOptions options = quick();
  options.bytes = static_cast<double>(kBytes);
  const auto read = [&] { return gpu()->launch_read(data, kBytes); };
  const Result<KernelTiming> cold = time_cold(read, options);
  options.flush = L2Flush::kNone;
  const Result<KernelTiming> warm = time_cold(read, options);
  const Result<KernelTiming> hot = time_hot(read, options);
  ASSERT_TRUE(cold && warm && hot) << text_of(cold) << text_of(warm) << text_of(hot);
  printf("read 16 MiB: %s%s%s", text_of(cold).c_str(), text_of(warm).c_str(), text_of(hot).c_str());
  EXPECT_GT(cold->median_ns, 1.2 * warm->median_ns);
  EXPECT_EQ(hot->flush, L2Flush::kNone);
  (void)gpu()->driver().memory_free(data);
}

TEST_F(Gpu, ACallableThatSynchronizesIsMeasuredUnheld) {
  KernelTimerOptions options = quick();
  options.hold_timeout_s = 0.2;
  const Result<KernelTiming> timing = time_cold(
      [&]() -> Status {
        if (Status launched = gpu()->launch_spin(50'000); !launched) return launched;
        return cuda_status(gpu()->driver(), gpu()->driver().context_synchronize(), "cuCtxSynchronize");
      },
      options);
  ASSERT_TRUE(timing) << text_of(timing);
  EXPECT_FALSE(timing->stream_held);
  EXPECT_GE(timing->median_ns, 50'000);
  EXPECT_FALSE(timing->warnings.empty());
}

TEST_F(Gpu, MoreLaunchesThanAStreamTakesDoNotDeadlock) {
  KernelTimerOptions options = quick();
  options.hold_timeout_s = 0.3;
  options.min_sample_count = 3;
  const Result<KernelTiming> timing = time_cold(
      [&]() -> Status {
        for (int i = 0; i < 5000; ++i) {
          if (Status launched = gpu()->launch_empty(); !launched) return launched;
        }
        return Done{};
      },
      options);
  ASSERT_TRUE(timing) << text_of(timing);
  printf("5000 empty kernels: %s", timing->to_string().c_str());
  EXPECT_FALSE(timing->stream_held);
}

TEST_F(Gpu, HotTimeOfManyLaunches) {
  const Result<KernelTiming> timing = time_hot([&] { return gpu()->launch_spin(50'000); }, quick());
  ASSERT_TRUE(timing) << text_of(timing);
  EXPECT_NEAR(timing->median_ns, 51'500, 2000);
  const Result<KernelTiming> empty = time_hot([&] { return gpu()->launch_empty(); }, quick());
  ASSERT_TRUE(empty) << text_of(empty);
  printf("empty kernel: %s", empty->to_string().c_str());
}

TEST_F(Gpu, MemoryOfTheProcess) {
  EXPECT_EQ(memory_allocated(), std::nullopt);  // nobody used the pool yet
  constexpr std::int64_t kBytes = 256 << 20;
  CuPointer first = 0;
  CuPointer second = 0;
  ASSERT_EQ(gpu()->calls.alloc_async(&first, kBytes, nullptr), kCuSuccess);
  ASSERT_EQ(gpu()->calls.alloc_async(&second, kBytes, nullptr), kCuSuccess);
  EXPECT_EQ(memory_allocated(), 2 * kBytes);
  EXPECT_GE(memory_reserved().value_or(0), 2 * kBytes);
  ASSERT_EQ(gpu()->calls.free_async(second, nullptr), kCuSuccess);
  ASSERT_EQ(gpu()->driver().context_synchronize(), kCuSuccess);
  printf("%s", memory_summary().c_str());
  EXPECT_EQ(memory_allocated(), kBytes);
  EXPECT_EQ(max_memory_allocated(), 2 * kBytes);
  ASSERT_TRUE(reset_peak_memory_stats());
  EXPECT_EQ(max_memory_allocated(), kBytes);
  const Result<DeviceMemory> memory = read_device_memory();
  ASSERT_TRUE(memory);
  EXPECT_GT(memory->total_bytes.value_or(0), memory->free_bytes.value_or(0));
  EXPECT_GT(memory->process_bytes.value_or(kBytes + 1), kBytes);
  ASSERT_EQ(gpu()->calls.free_async(first, nullptr), kCuSuccess);
  ASSERT_EQ(gpu()->driver().context_synchronize(), kCuSuccess);
}

TEST_F(Gpu, ZFailingKernelIsAnErrorWithTheDriversText) {
  int call = 0;
  const Result<KernelTiming> timing =
      time_cold([&] { return ++call == 4 ? gpu()->launch_fault() : gpu()->launch_spin(10'000); }, quick());
  ASSERT_FALSE(timing);
  printf("a failing kernel: %s\n", timing.error().to_string().c_str());
  EXPECT_NE(timing.error().message.find("CUDA_ERROR_"), std::string::npos) << timing.error().message;
  const auto clock = open_cuda_clock();
  EXPECT_FALSE(clock && (*clock)->synchronize());
}

}  // namespace
}  // namespace stepscope
