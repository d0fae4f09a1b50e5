// Memory of a process: what each source knows, what stays missing, and errors.
#include "stepscope/memory_stats.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <vector>

#include "timing/fake_cuda.h"

namespace stepscope {
namespace {

constexpr std::int64_t kGib = std::int64_t{1} << 30;

class FakeProvider final : public MemoryProvider {
 public:
  std::string name() const override { return "fake"; }
  Result<AllocatorMemory> read(int device) override {
    if (failure) return *failure;
    if (asks_back) asks_back();
    last_device = device;
    return memory;
  }
  Status reset_peak(int) override {
    if (failure) return *failure;
    if (asks_back) asks_back();
    memory.max_allocated_bytes = memory.allocated_bytes;
    return Done{};
  }
  AllocatorMemory memory{.source = "fake"};
  std::optional<Error> failure;
  std::function<void()> asks_back;
  int last_device = -1;
};

struct Registered {
  Registered() { register_memory_provider(provider); }
  ~Registered() { unregister_memory_provider(provider.get()); }
  std::shared_ptr<FakeProvider> provider = std::make_shared<FakeProvider>();
};

void use_device(FakeCuda& cuda, int device = 0) { cuda.active_primary_contexts = {device}; }

void use_pool(FakeCuda& cuda) {
  cuda.pool_values[kCuPoolUsedCurrent] = static_cast<std::uint64_t>(kGib);
  cuda.pool_values[kCuPoolUsedHigh] = static_cast<std::uint64_t>(3 * kGib);
  cuda.pool_values[kCuPoolReservedCurrent] = static_cast<std::uint64_t>(2 * kGib);
  cuda.pool_values[kCuPoolReservedHigh] = static_cast<std::uint64_t>(4 * kGib);
}

TEST(MemoryStats, WithoutCudaEverythingIsMissing) {
  EXPECT_EQ(memory_allocated(), std::nullopt);
  EXPECT_EQ(max_memory_reserved(), std::nullopt);
  EXPECT_EQ(read_device_memory().error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(reset_peak_memory_stats());
  EXPECT_EQ(memory_summary(), "no memory summary: this process does not use CUDA\n");
}

TEST(MemoryStats, ADriverWithoutAContextIsNotStarted) {
  FakeCuda cuda;
  EXPECT_EQ(read_device_memory().error().message, "this process does not use CUDA yet");
  EXPECT_EQ(cuda.calls("cuInit") + cuda.calls("cuDevicePrimaryCtxRetain"), 0);
  cuda.device_count = 2;
  use_device(cuda);
  EXPECT_EQ(read_device_memory(1).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(read_device_memory(9).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(cuda.calls("cuDevicePrimaryCtxRetain"), 0);
}

TEST(MemoryStats, ReadsThePool) {
  FakeCuda cuda;
  use_device(cuda);
  use_pool(cuda);
  EXPECT_EQ(memory_allocated(), kGib);
  EXPECT_EQ(max_memory_allocated(), 3 * kGib);
  EXPECT_EQ(memory_reserved(), 2 * kGib);
  EXPECT_EQ(max_memory_reserved(), 4 * kGib);
  EXPECT_EQ(cuda.live_objects(), 0);
}

TEST(MemoryStats, APoolThatWasNeverUsedSaysNothing) {
  FakeCuda cuda;
  use_device(cuda);
  EXPECT_EQ(memory_allocated(), std::nullopt);
  EXPECT_EQ(max_memory_reserved(), std::nullopt);
  ASSERT_TRUE(read_device_memory());
  EXPECT_EQ(read_device_memory()->allocators.size(), 1U);
}

TEST(MemoryStats, PeaksStartAnewFromWhatIsInUse) {
  FakeCuda cuda;
  use_device(cuda);
  use_pool(cuda);
  ASSERT_TRUE(reset_peak_memory_stats());
  EXPECT_EQ(cuda.pool_values[kCuPoolUsedHigh], 0U);
  EXPECT_EQ(max_memory_allocated(), kGib);
  EXPECT_EQ(max_memory_reserved(), 2 * kGib);
}

TEST(MemoryStats, ARegisteredAllocatorComesBeforeThePool) {
  FakeCuda cuda;
  cuda.device_count = 2;
  use_device(cuda, 1);
  use_pool(cuda);
  const Registered registered;
  registered.provider->memory.allocated_bytes = 5;
  registered.provider->memory.max_allocated_bytes = 50;
  EXPECT_EQ(memory_allocated(), 5);
  EXPECT_EQ(registered.provider->last_device, 1);
  EXPECT_EQ(memory_reserved(), 2 * kGib);  // which it does not know
  ASSERT_TRUE(reset_peak_memory_stats());
  EXPECT_EQ(max_memory_allocated(), 5);
}

TEST(MemoryStats, AProviderMayAskForMemoryItself) {
  FakeCuda cuda;
  use_device(cuda);
  use_pool(cuda);
  const Registered registered;
  registered.provider->memory.allocated_bytes = 5;
  std::vector<std::optional<std::int64_t>> answers;
  registered.provider->asks_back = [&] {
    answers.push_back(memory_allocated());
    (void)reset_peak_memory_stats();
    const Registered another;  // for as long as the call lasts
  };
  EXPECT_EQ(memory_allocated(), 5);
  EXPECT_TRUE(reset_peak_memory_stats());
  EXPECT_EQ(answers, (std::vector<std::optional<std::int64_t>>{kGib, kGib})) << "the pool's, not its own";
  EXPECT_EQ(memory_allocated(), 5) << "asked as before";
}

TEST(MemoryStats, AnErrorOfAProviderIsNotHidden) {
  FakeCuda cuda;
  use_device(cuda);
  use_pool(cuda);
  const Registered registered;
  registered.provider->failure = Error{ErrorCode::kIo, "the allocator is gone", {}};
  EXPECT_EQ(read_device_memory().error().message, "the allocator is gone");
  EXPECT_EQ(memory_allocated(), std::nullopt);
  EXPECT_EQ(reset_peak_memory_stats().error().message, "the allocator is gone");
  EXPECT_EQ(cuda.pool_values[kCuPoolUsedHigh], 0U);  // the others were reset all the same
}

TEST(MemoryStats, AnOldDriverHasNoPoolAndStillADevice) {
  FakeCuda cuda;
  use_device(cuda);
  cuda.remove_pools();
  const Result<DeviceMemory> memory = read_device_memory();
  ASSERT_TRUE(memory);
  EXPECT_TRUE(memory->allocators.empty());
  EXPECT_EQ(memory->free_bytes, 60);
  EXPECT_EQ(memory->total_bytes, 100);
  EXPECT_TRUE(reset_peak_memory_stats());
}

TEST(MemoryStats, FindsThisProcessInNvmlsList) {
  FakeCuda cuda;
  use_device(cuda);
  EXPECT_EQ(read_device_memory()->process_bytes, std::nullopt);
  const auto own = static_cast<unsigned>(getpid());
  cuda.processes = {{own + 1, 7, 0, 0}, {own, 512, 0, 0}};
  EXPECT_EQ(read_device_memory()->process_bytes, 512);
  cuda.processes[1].used_bytes = ~0ULL;  // not known
  EXPECT_EQ(read_device_memory()->process_bytes, std::nullopt);
  cuda.fail("nvmlDeviceGetComputeRunningProcesses", 999);
  EXPECT_EQ(read_device_memory()->process_bytes, std::nullopt);
}

TEST(MemoryStats, WhatTheDriverRefusesIsMissingOrAnError) {
  FakeCuda cuda;
  use_device(cuda);
  use_pool(cuda);
  cuda.fail("cuMemGetInfo", kCuErrorInvalidValue);
  EXPECT_EQ(read_device_memory()->free_bytes, std::nullopt);
  cuda.fail("cuMemPoolGetAttribute", kCuErrorInvalidValue);
  EXPECT_EQ(read_device_memory().error().message,
            "cuMemPoolGetAttribute: CUDA_ERROR_INVALID_VALUE (as the driver says it)");
}

TEST(MemoryStats, TheSummaryIsATable) {
  FakeCuda cuda;
  use_device(cuda);
  use_pool(cuda);
  cuda.total_bytes = static_cast<std::size_t>(140 * kGib);
  cuda.free_bytes = static_cast<std::size_t>(100 * kGib);
  const Registered registered;
  registered.provider->memory.allocated_bytes = 5;
  EXPECT_EQ(memory_summary(),
            "Memory of cuda:0 (Fake GPU)\n"
            "  device, all processes                 140.00 GiB  100.00 GiB free\n"
            "  this process, context included                 -\n"
            "                                         allocated          peak      reserved          peak\n"
            "  fake                                         5 B             -             -             -\n"
            "  CUDA memory pool                        1.00 GiB      3.00 GiB      2.00 GiB      4.00 GiB\n");
}

}  // namespace
}  // namespace stepscope
