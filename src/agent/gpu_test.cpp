// Attaching, windows and drains against a CUPTI that misbehaves on request.
#include "agent/gpu.h"

#include <gtest/gtest.h>

#include <thread>

#include "agent/agent_state.h"
#include "agent/capture_test_support.h"
#include "agent/fake_cupti_test_support.h"
#include "agent/fake_torch.h"
#include "agent/forward_stacks.h"
#include "agent/hook_writer.h"
#include "agent/remarks.h"
#include "agent/torch_hook.h"

namespace stepscope::agent {
namespace {

class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    forget_everything();
    hook_events_on = true;
  }
  void TearDown() override {
    hook_events_on = false;
    drain_events([](const RingThread&, std::span<const HookEvent>) {});
    forget_everything();
  }
  Gpu& attach(const AgentOptions& options = {}) {
    gpu_ = std::make_unique<Gpu>(FakeCupti::table(), options);
    replace_gpu(gpu_.get());
    EXPECT_TRUE(gpu_->attach());
    return *gpu_;
  }
  void drain() {
    drain_events([this](const RingThread& thread, std::span<const HookEvent> events) { writer.write(thread, events); });
    gpu_->flush(false);
    gpu_->drain(file, ledger);
  }
  [[nodiscard]] const Records& records() const { return file.records; }
  static bool was_remarked(const std::string& part) {
    for (const Remark& remark : remarks_from(0)) {
      if (remark.text.find(part) != std::string::npos) return true;
    }
    return false;
  }

  FakeCupti cupti;
  MemoryCapture file;
  Ledger ledger{1024};
  HookWriter writer{file, ledger};
  std::unique_ptr<Gpu> gpu_;
};

TEST_F(GpuTest, AttachingEnablesNothing) {
  attach();
  EXPECT_TRUE(cupti.enabled.empty());
  EXPECT_TRUE(cupti.callbacks.empty());
  EXPECT_EQ(cupti.subscriber_count, 0);
}

TEST_F(GpuTest, DeviceTimesComeFromOurClock) {
  attach();
  const TimeNs before = now_ns();
  const auto device = static_cast<TimeNs>(cupti.clock());
  EXPECT_LE(before, device);
  EXPECT_LE(device, now_ns());
}

TEST_F(GpuTest, AWindowHasEachLaunchOnceWithItsKernel) {
  Gpu& gpu = attach();
  ASSERT_TRUE(gpu.start());
  for (int i = 0; i < 10; ++i) cupti.launch();
  cupti.copy(cupti.call(FakeCupti::kMemcpy), 4096);
  cupti.call(FakeCupti::kSync);
  cupti.call(FakeCupti::kEventRecord);  // not watched
  gpu.stop();
  drain();
  ledger.settle();
  EXPECT_EQ(records().calls.size(), 12U);  // the driver calls inside are not seen twice
  ASSERT_EQ(records().gpu_events.size(), 11U);
  EXPECT_EQ(records().strings.at(records().calls[0].name), "cudaLaunchKernel");
  EXPECT_EQ(records().strings.at(records().gpu_events[0].name), "void kernel<float>(float*)");
  EXPECT_EQ(records().strings.at(records().gpu_events[10].name), "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(records().gpu_events[10].bytes.value_or(0), 4096);
  EXPECT_EQ(ledger.host().launch_count, 10U);
  EXPECT_EQ(ledger.host().unmatched_count, 0U);
  EXPECT_EQ(ledger.device(0).unmatched_count, 0U);
}

TEST_F(GpuTest, MemoryIsNotRecordedUnlessAskedFor) {
  Gpu& gpu = attach();
  ASSERT_TRUE(gpu.start());
  const std::uint64_t handle = 9;
  const CudaMemProperties on_gpu{1, 0, {1, 0}};
  const CudaMemCreate create{&handle, 2 << 20, &on_gpu};
  cupti.driver_call(FakeCupti::kMemCreate, &create);
  cupti.memory(cupti.call(FakeCupti::kMalloc), false, 0x1000, 512, 10);
  const CudaMemMap map{0x700000, 2 << 20, 0, handle};
  cupti.driver_call(FakeCupti::kMemMap, &map);
  gpu.stop();
  drain();
  EXPECT_EQ(records().calls.size(), 3U) << "the calls are, for their time";
  EXPECT_TRUE(records().memory.empty());
}

TEST_F(GpuTest, AnAllocationSaysWhichCallMadeIt) {
  Gpu& gpu = attach({.memory = true});
  ASSERT_TRUE(gpu.start());
  const std::uint32_t malloc_call = cupti.call(FakeCupti::kMalloc);
  cupti.memory(malloc_call, false, 0x1000, 512, 10);
  const std::uint32_t free_call = cupti.call(FakeCupti::kFree);
  cupti.memory(free_call, true, 0x1000, 512, 20);
  cupti.memory(0, false, 0x2000, 64, 30, 2);
  cupti.memory(0, false, 0x3000, 64, 40, 99);  // a kind of a later CUDA
  gpu.stop();
  drain();
  const std::vector<WireMemory>& memory = records().memory;
  ASSERT_EQ(memory.size(), 4U);
  EXPECT_EQ(memory[0].source, WireMemorySource::kCuda);
  EXPECT_EQ(memory[0].correlation, malloc_call);
  EXPECT_EQ(memory[0].bytes, 512);
  EXPECT_EQ(memory[0].kind, WireMemoryKind::kDevice);
  EXPECT_EQ(memory[0].device_type, 1);
  EXPECT_EQ(memory[0].device_number, 1);
  EXPECT_TRUE(memory[0].is_async);
  EXPECT_EQ(memory[1].correlation, free_call);
  EXPECT_EQ(memory[1].bytes, -512);
  EXPECT_EQ(memory[2].kind, WireMemoryKind::kPinned);
  EXPECT_EQ(memory[2].device_type, 0);
  EXPECT_EQ(memory[2].device_number, -1);
  EXPECT_EQ(memory[3].kind, WireMemoryKind::kUnknown);
  EXPECT_EQ(records().calls[0].correlation, malloc_call);
}

// Segments of PyTorch under expandable_segments: CUPTI has no record of them.
TEST_F(GpuTest, MappedMemoryIsRecordedAtItsCalls) {
  Gpu& gpu = attach({.memory = true});
  ASSERT_TRUE(gpu.start());
  const std::uint64_t handle = 9, on_host = 10;
  const CudaMemProperties on_gpu{1, 0, {1, 3}};
  const CudaMemProperties of_host{1, 0, {2, 0}};
  const CudaMemCreate create{&handle, 2 << 20, &on_gpu};
  const CudaMemCreate create_on_host{&on_host, 4096, &of_host};
  const CudaMemMap map{0x700000, 2 << 20, 0, handle};
  const CudaMemMap map_of_host{0x900000, 4096, 0, on_host};
  const CudaMemUnmap unmap{0x700000, 2 << 20};
  cupti.driver_call(FakeCupti::kMemCreate, &create);
  cupti.driver_call(FakeCupti::kMemCreate, &create_on_host);
  cupti.driver_call(FakeCupti::kMemMap, &map, 2);  // refused: nothing is mapped
  const std::uint32_t mapped = cupti.driver_call(FakeCupti::kMemMap, &map);
  cupti.driver_call(FakeCupti::kMemMap, &map_of_host);
  cupti.driver_call(FakeCupti::kMemMap, nullptr);
  const std::uint32_t unmapped = cupti.driver_call(FakeCupti::kMemUnmap, &unmap);
  gpu.stop();
  drain();
  const std::vector<WireMemory>& memory = records().memory;
  ASSERT_EQ(memory.size(), 2U);
  EXPECT_EQ(memory[0].address, 0x700000U);
  EXPECT_EQ(memory[0].bytes, 2 << 20);
  EXPECT_EQ(memory[0].device_number, 3);
  EXPECT_EQ(memory[0].kind, WireMemoryKind::kMapped);
  EXPECT_EQ(memory[0].correlation, mapped);
  EXPECT_NE(memory[0].thread_id, 0);
  EXPECT_EQ(memory[1].bytes, -(2 << 20));
  EXPECT_EQ(memory[1].device_number, -1) << "found by its address";
  EXPECT_EQ(memory[1].correlation, unmapped);
}

TEST_F(GpuTest, AStopLeavesNothingOn) {
  Gpu& gpu = attach();
  ASSERT_TRUE(gpu.start());
  EXPECT_FALSE(cupti.enabled.empty());
  gpu.stop();
  EXPECT_TRUE(cupti.enabled.empty());
  EXPECT_TRUE(cupti.callbacks.empty());
  EXPECT_EQ(cupti.subscriber_count, 0);
}

TEST_F(GpuTest, TenThousandWindowsEndAsTheyBegan) {
  Gpu& gpu = attach();
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(gpu.start());
    cupti.launch();
    gpu.stop();
    if (i % 100 == 0) drain();
  }
  drain();
  ledger.settle();
  EXPECT_EQ(records().calls.size(), 10'000U);
  EXPECT_EQ(records().gpu_events.size(), 10'000U);
  EXPECT_EQ(ledger.host().unmatched_count + ledger.device(0).unmatched_count, 0U);
  EXPECT_TRUE(cupti.enabled.empty());
  EXPECT_LE(gpu.buffers().held_bytes(), 8 * kBufferBytes);
}

TEST_F(GpuTest, LostLateDoubledAndTimelessRecordsAreCounted) {
  Gpu& gpu = attach();
  ASSERT_TRUE(gpu.start());
  cupti.call(FakeCupti::kLaunch);  // lost
  const std::uint32_t doubled = cupti.call(FakeCupti::kLaunch);
  cupti.kernel(doubled, 10, 20);
  cupti.kernel(doubled, 10, 20);
  const std::uint32_t late = cupti.call(FakeCupti::kLaunch);
  cupti.kernel(cupti.call(FakeCupti::kLaunch), 0, 0);
  cupti.kernel(cupti.call(FakeCupti::kLaunch), 30, 20);
  drain();
  EXPECT_EQ(ledger.outstanding_count(), 2U);
  cupti.kernel(late, 10, 20);
  cupti.drop(5);
  gpu.stop();
  drain();
  EXPECT_EQ(ledger.outstanding_count(), 1U);
  ledger.settle();
  EXPECT_EQ(ledger.host().unmatched_count, 1U);
  EXPECT_EQ(ledger.host().dropped_by_cupti_count, 5U);
  EXPECT_EQ(ledger.device(0).unmatched_count, 1U);
  EXPECT_EQ(ledger.device(0).bad_time_count, 2U);
  EXPECT_EQ(records().gpu_events.size(), 5U);  // all that came is kept
}

TEST_F(GpuTest, FailedAndCapturedLaunchesExpectNoRecord) {
  Gpu& gpu = attach();
  ASSERT_TRUE(gpu.start());
  cupti.call(FakeCupti::kLaunch, 700);
  cupti.call(FakeCupti::kLaunch, 0, [&] { cupti.graph_node(kGraphNodeCreated, 11, 0); });
  gpu.stop();
  drain();
  ledger.settle();
  EXPECT_EQ(ledger.host().launch_count, 0U);
  EXPECT_EQ(ledger.host().unmatched_count, 0U);
  EXPECT_EQ(records().calls.size(), 2U);
}

TEST_F(GpuTest, ACallThatBeganBeforeTheWindowIsLeftOut) {
  Gpu& gpu = attach();
  cupti.call(FakeCupti::kLaunch, 0, [&] { ASSERT_TRUE(gpu.start()); });
  cupti.launch();
  cupti.call(FakeCupti::kLaunch, 0, [&] { gpu.stop(); });
  ASSERT_TRUE(gpu.start());
  cupti.launch();
  gpu.stop();
  drain();
  ledger.settle();
  EXPECT_EQ(records().calls.size(), 2U);
  EXPECT_EQ(ledger.host().unmatched_count, 0U);
}

TEST_F(GpuTest, PastTheCapCuptiStillGetsBuffersAndTheLossIsCounted) {
  AgentOptions options;
  options.max_memory_bytes = 4 * kBufferBytes;  // two buffers
  Gpu& gpu = attach(options);
  ASSERT_TRUE(gpu.start());
  constexpr std::uint64_t kLaunches = 10'000;  // of 256 bytes each: five buffers
  for (std::uint64_t i = 0; i < kLaunches; ++i) cupti.launch();
  gpu.stop();
  drain();
  ledger.settle();
  EXPECT_EQ(cupti.null_buffer_count, 0);
  EXPECT_GT(ledger.host().dropped_by_cap_count, 0U);
  EXPECT_EQ(records().gpu_events.size() + ledger.host().dropped_by_cap_count, kLaunches);
  EXPECT_LE(gpu.buffers().held_bytes(), 2 * kBufferBytes + 2 * kSpareBytes);
}

TEST_F(GpuTest, ARivalWithoutANameHasNone) {
  cupti.subscribe_result = kCuptiMultipleSubscribers;
  cupti.rival = "CUPTI for <not provided>";
  Gpu& gpu = attach();
  EXPECT_FALSE(gpu.start());
  EXPECT_TRUE(was_remarked("another profiler holds CUPTI"));
  EXPECT_TRUE(was_remarked("TEARDOWN_CUPTI=1"));
}

TEST_F(GpuTest, YieldsToARivalAndNamesIt) {
  cupti.subscribe_result = kCuptiMultipleSubscribers;
  cupti.rival = "CUPTI for Kineto";
  Gpu& gpu = attach();
  EXPECT_FALSE(gpu.start());
  EXPECT_TRUE(cupti.enabled.empty());
  EXPECT_TRUE(was_remarked("CUPTI for Kineto"));
  EXPECT_NE(complaint_line().find("another profiler"), std::string::npos);
  // It may be gone at the next window.
  cupti.subscribe_result = kCuptiSuccess;
  EXPECT_TRUE(gpu.start());
  gpu.stop();
}

// Its records are under way: a change of CUPTI's clock would shift them.
TEST_F(GpuTest, TheClockOfARivalThatRecordsIsLeftAlone) {
  cupti.subscribe_result = kCuptiMultipleSubscribers;
  Gpu& gpu = attach();
  EXPECT_FALSE(gpu.start());
  EXPECT_EQ(cupti.clock_count, 0);
  cupti.subscribe_result = kCuptiSuccess;
  for (int window = 0; window < 2; ++window) {
    ASSERT_TRUE(gpu.start());
    gpu.stop();
  }
  EXPECT_EQ(cupti.clock_count, 1);
  EXPECT_EQ(cupti.subscriber_count, 0);
}

TEST_F(GpuTest, TakesTheClockBackFromARivalThatHadItsTurn) {
  Gpu& gpu = attach();
  ASSERT_TRUE(gpu.start());
  cupti.launch();
  gpu.stop();
  drain();
  cupti.replace_clock([] { return static_cast<std::uint64_t>(now_ns()); });  // CUPTI's own is nearly the same
  ASSERT_TRUE(gpu.start());
  cupti.launch();
  gpu.stop();
  drain();
  EXPECT_EQ(cupti.clock_count, 2);
  const auto device = static_cast<TimeNs>(cupti.clock());
  EXPECT_LE(device, now_ns());
  EXPECT_GT(device, TimeNs{42});
  // Both launches have their kernel, though CUPTI counted from 1 again.
  ASSERT_EQ(records().gpu_events.size(), 2U);
  ASSERT_EQ(records().calls.size(), 2U);
  EXPECT_NE(records().gpu_events[0].correlation, records().gpu_events[1].correlation);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(records().gpu_events[i].correlation, records().calls[i].correlation);
}

TEST_F(GpuTest, AClockThatCuptiRefusesIsSaidOnce) {
  CuptiTable table = FakeCupti::table();
  table.register_timestamp = [](CuptiTimestamp) { return CuptiResult{1}; };
  Gpu gpu(table, {});
  replace_gpu(&gpu);
  ASSERT_TRUE(gpu.attach());
  for (int window = 0; window < 2; ++window) {
    ASSERT_TRUE(gpu.start());
    gpu.stop();
  }
  std::size_t said_count = 0;
  for (const Remark& remark : remarks_from(0)) said_count += remark.text.find("CLOCK_REALTIME") != std::string::npos;
  EXPECT_EQ(said_count, 1U);
  replace_gpu(nullptr);
}

TEST_F(GpuTest, SaysTheRemedyWherePrivilegesAreMissing) {
  cupti.enable_results[CuptiKind::kConcurrentKernel] = kCuptiInsufficientPrivileges;
  Gpu& gpu = attach();
  EXPECT_FALSE(gpu.start());
  EXPECT_FALSE(gpu.is_started());
  EXPECT_EQ(cupti.subscriber_count, 0);
  EXPECT_TRUE(was_remarked("NVreg_RestrictProfilingToAdminUsers=0"));
}

TEST_F(GpuTest, GoesOnWithoutAKindThatIsRefused) {
  cupti.enable_results[CuptiKind::kOverhead] = 21;
  Gpu& gpu = attach();
  EXPECT_TRUE(gpu.start());
  EXPECT_TRUE(was_remarked("kind 17"));
  gpu.stop();
}

TEST_F(GpuTest, RefusesACuptiThatIsTooOld) {
  cupti.version = 17;
  Gpu gpu(FakeCupti::table(), {});
  EXPECT_FALSE(gpu.attach());
  EXPECT_TRUE(was_remarked("older than CUDA 12"));
}

TEST_F(GpuTest, WorksWithoutTheFunctionsThatNewVersionsHave) {
  CuptiTable table = FakeCupti::table();
  table.subscribe_named = nullptr;
  table.register_timestamp = nullptr;
  table.get_graph_node = nullptr;
  Gpu gpu(table, {});
  replace_gpu(&gpu);
  ASSERT_TRUE(gpu.attach());
  ASSERT_TRUE(gpu.start());
  cupti.launch();
  cupti.graph_node(kGraphNodeCreated, 1, 0);
  gpu.stop();
  gpu.flush(false);
  gpu.drain(file, ledger);
  EXPECT_EQ(records().gpu_events.size(), 1U);
  EXPECT_TRUE(was_remarked("CLOCK_REALTIME"));
  replace_gpu(nullptr);
}

TEST_F(GpuTest, GraphNodesKeepTheirOriginThroughCloning) {
  AgentOptions options;
  options.graphs = true;
  Gpu& gpu = attach(options);
  EXPECT_EQ(cupti.subscriber_count, 1);
  EXPECT_TRUE(cupti.enabled.empty());
  cupti.graph_node(kGraphNodeCreated, 11, 0);
  cupti.graph_node(kGraphNodeCloned, 22, 11);
  cupti.graph_node(kGraphNodeCloned, 33, 99);  // of a graph from before we came
  const std::vector<GraphNodeOrigin> nodes = take_graph_nodes();
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[1].node, 22U);
  EXPECT_EQ(nodes[1].original_node, 11U);
  ASSERT_TRUE(gpu.start());
  const std::uint32_t launch = cupti.call(FakeCupti::kGraphLaunch);
  for (std::uint64_t i = 0; i < 3; ++i) cupti.kernel(launch, 10, 20, 22 + i);
  gpu.stop();
  EXPECT_EQ(cupti.subscriber_count, 1);
  drain();
  ledger.settle();
  EXPECT_EQ(ledger.host().launch_count, 1U);
  EXPECT_EQ(ledger.host().unmatched_count + ledger.device(0).unmatched_count, 0U);
  EXPECT_EQ(records().gpu_events.at(0).graph_node.value_or(0), 22);
}

// Backward runs on a thread without Python: its nodes, and the kernels of their replays, have the forward's line.
TEST_F(GpuTest, BackwardNodesOfAGraphHaveTheStackOfTheirForward) {
  FakeTorch torch;
  ASSERT_TRUE(attach_torch_library(FakeTorch::library()));
  set_torch_detail(TorchDetail::kFull);
  AgentOptions options;
  options.graphs = true;
  (void)attach(options);
  std::thread([&] { note_forward_stack(77, 5, 4242); }).join();
  std::thread([&] {
    const auto node = [&](std::uintptr_t number) {
      return [this, number] { cupti.graph_node(kGraphNodeCreated, number, 0); };
    };
    // The kernel is a forward operator's inside the backward one.
    FakeTorch::run(
        TorchScope::kBackward, "MmBackward0", [&] { FakeTorch::run(TorchScope::kFunction, "aten::mm", node(11)); }, 5,
        77);
    FakeTorch::run(TorchScope::kBackward, "AddBackward0", node(12), 6, 77);  // of a forward from before we came
    FakeTorch::run(TorchScope::kFunction, "aten::add", node(13), 5);
  }).join();
  cupti.graph_node(kGraphNodeCloned, 21, 11);
  const std::vector<GraphNodeOrigin> nodes = take_graph_nodes();
  ASSERT_EQ(nodes.size(), 4U);
  EXPECT_EQ(name_text(nodes[0].op), "aten::mm");
  EXPECT_EQ(nodes[0].stack, 4242U);
  EXPECT_EQ(nodes[1].stack, 0U);
  EXPECT_EQ(nodes[2].stack, 0U) << "no backward";
  EXPECT_EQ(nodes[3].stack, 4242U) << "the graph that is launched";
  detach_torch();
}

// The engine sums the gradient of a bias after the node's own record has ended, inside its operator without a number.
TEST_F(GpuTest, NodesThatTheEngineAddsAfterItsNodeHaveTheSameForward) {
  FakeTorch torch;
  state().options.graphs = true;
  ASSERT_TRUE(attach_torch_library(FakeTorch::library()));
  set_torch_detail(TorchDetail::kFull);
  (void)attach(state().options);
  std::thread([] {
    note_forward_stack(78, 5, 4242);
    note_forward_stack(78, 6, 4343);
  }).join();
  const auto node = [this](std::uintptr_t number) {
    return [this, number] { cupti.graph_node(kGraphNodeCreated, number, 0); };
  };
  const auto evaluate = [](const std::string& name, const std::function<void()>& inside) {
    FakeTorch::run(TorchScope::kFunction, "autograd::engine::evaluate_function: " + name, inside);
  };
  std::thread([&] {
    evaluate("AddmmBackward0", [&] {
      FakeTorch::run(TorchScope::kFunction, "aten::add", node(1));  // before the node: nothing is known
      FakeTorch::run(TorchScope::kBackward, "AddmmBackward0", node(2), 5, 78);
      FakeTorch::run(TorchScope::kFunction, "aten::sum",
                     [&] { FakeTorch::run(TorchScope::kFunction, "aten::fill_", node(3)); });
      node(4)();
    });
    evaluate("torch::autograd::AccumulateGrad", [&] {
      FakeTorch::run(TorchScope::kFunction, "aten::detach", node(5));
      FakeTorch::run(
          TorchScope::kBackward, "torch::autograd::AccumulateGrad",
          [&] { FakeTorch::run(TorchScope::kFunction, "aten::add_", node(6)); }, -1, 78);
      FakeTorch::run(TorchScope::kFunction, "aten::add_", node(7));
    });
    // A backward inside a backward, and what comes after it on either level.
    evaluate("CheckpointFunctionBackward", [&] {
      FakeTorch::run(
          TorchScope::kBackward, "CheckpointFunctionBackward",
          [&] {
            evaluate("AddmmBackward0", [&] {
              FakeTorch::run(TorchScope::kBackward, "AddmmBackward0", {}, 6, 78);
              FakeTorch::run(TorchScope::kFunction, "aten::sum", node(8));
            });
            FakeTorch::run(TorchScope::kFunction, "aten::copy_", node(9));
          },
          5, 78);
      FakeTorch::run(TorchScope::kFunction, "aten::sum", node(10));
    });
    FakeTorch::run(TorchScope::kFunction, "aten::add", node(11));
  }).join();
  std::vector<std::uint32_t> stacks;
  for (const GraphNodeOrigin& origin : take_graph_nodes()) stacks.push_back(origin.stack);
  EXPECT_EQ(stacks, (std::vector<std::uint32_t>{0, 4242, 4242, 4242, 0, 0, 0, 4343, 4242, 4242, 0}));
  detach_torch();
}

TEST_F(GpuTest, LaunchesIntoAGraphAreNoLaunchesUntilTheyAreReplayed) {
  AgentOptions options;
  options.graphs = true;
  Gpu& gpu = attach(options);
  ASSERT_TRUE(gpu.start());
  cupti.captured_call(FakeCupti::kLaunch, 11);
  cupti.captured_call(FakeCupti::kLaunch, 12);
  cupti.captured_call(FakeCupti::kMemcpy, 13);
  cupti.captured_call(FakeCupti::kGraphLaunch, 14);  // a graph within the graph
  for (std::uintptr_t node = 11; node <= 14; ++node) cupti.graph_node(kGraphNodeCloned, node + 10, node);
  for (int replay = 0; replay < 5; ++replay) {
    const std::uint32_t launch = cupti.call(FakeCupti::kGraphLaunch);
    for (std::uint64_t node = 21; node <= 24; ++node) cupti.kernel(launch, 10, 20, node);
  }
  EXPECT_EQ(take_graph_nodes().size(), 8U);
  gpu.stop();
  drain();
  EXPECT_EQ(ledger.outstanding_count(), 0U);
  ledger.settle();
  EXPECT_EQ(ledger.host().launch_count, 5U);
  EXPECT_EQ(ledger.host().unmatched_count + ledger.device(0).unmatched_count, 0U);
  ASSERT_EQ(records().calls.size(), 9U);
  for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(records().calls[i].correlation == 0, i < 4) << i;
}

TEST_F(GpuTest, OnlyTheLaunchThatMadeANodeIsCapturedWhateverThreadMadeIt) {
  Gpu& gpu = attach();
  ASSERT_TRUE(gpu.start());
  std::uint32_t other = 0;
  cupti.call(FakeCupti::kLaunch, 0, [&] {
    cupti.graph_node(kGraphNodeCreated, 1, 0);
    // Meanwhile another thread launches on a stream of its own, and into the one that is captured.
    std::thread([&] {
      other = cupti.call(FakeCupti::kLaunch);
      cupti.captured_call(FakeCupti::kLaunch, 2);
    }).join();
  });
  cupti.kernel(other, 10, 20);
  // The capturing thread itself, on a stream that is not captured.
  cupti.launch();
  // A node added by hand is no part of the launch after it.
  cupti.graph_node(kGraphNodeCreated, 3, 0);
  cupti.launch();
  gpu.stop();
  drain();
  ledger.settle();
  EXPECT_EQ(ledger.host().launch_count, 3U);
  EXPECT_EQ(ledger.host().unmatched_count + ledger.device(0).unmatched_count, 0U);
  std::size_t captured_count = 0;
  for (const WireCall& call : records().calls) captured_count += call.correlation == 0 ? 1 : 0;
  EXPECT_EQ(records().calls.size(), 5U);
  EXPECT_EQ(captured_count, 2U);
}

TEST_F(GpuTest, ACaptureThatIsInvalidatedLosesNothing) {
  constexpr int kCaptureInvalidated = 901;
  Gpu& gpu = attach();
  ASSERT_TRUE(gpu.start());
  cupti.captured_call(FakeCupti::kLaunch, 1);
  cupti.call(FakeCupti::kLaunch, kCaptureInvalidated);
  cupti.call(FakeCupti::kGraphLaunch, kCaptureInvalidated);
  cupti.call(FakeCupti::kMemcpy, kCaptureInvalidated);  // an earlier call's error, perhaps: it may have run
  cupti.launch();
  gpu.stop();
  drain();
  ledger.settle();
  EXPECT_EQ(ledger.host().launch_count, 1U);
  EXPECT_EQ(ledger.host().unmatched_count + ledger.device(0).unmatched_count, 0U);
  ASSERT_EQ(records().calls.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(records().calls[i].correlation == 0, i < 3) << i;
}

TEST_F(GpuTest, AWindowMayOpenAndCloseInTheMiddleOfACapture) {
  Gpu& gpu = attach();
  cupti.captured_call(FakeCupti::kLaunch, 1);
  // Opened within a launch: its entry was not seen, so it is not noted.
  cupti.call(FakeCupti::kLaunch, 0, [&] {
    ASSERT_TRUE(gpu.start());
    cupti.graph_node(kGraphNodeCreated, 2, 0);
  });
  cupti.captured_call(FakeCupti::kLaunch, 3);
  cupti.launch();
  gpu.stop();
  cupti.captured_call(FakeCupti::kLaunch, 4);
  drain();
  EXPECT_EQ(ledger.outstanding_count(), 0U);
  ledger.settle();
  EXPECT_EQ(ledger.host().launch_count, 1U);
  EXPECT_EQ(ledger.host().unmatched_count + ledger.device(0).unmatched_count, 0U);
  ASSERT_EQ(records().calls.size(), 2U);
  EXPECT_EQ(records().calls[0].correlation, 0U);
}

}  // namespace
}  // namespace stepscope::agent
