// The builder: rows end up sorted, renumbered and linked, however the fragments were cut.
#include "trace/builder.h"

#include <gtest/gtest.h>

#include "support/trace_from_text.h"
#include "trace/api_kind.h"

namespace stepscope {
namespace {

TEST(Builder, LinksOpToCallToGpuEvent) {
  const Trace trace = trace_from_text(R"(
    op        [linear          ]
    op         [mm     ]  [add]
    call         [L1]
    call@bwd                [L2]
    gpu/7            [K1====]  [K2======]
    where
      mm = aten::mm ext 1
      L1 = cudaLaunchKernel corr 1 ext 1
      K1 = gemm corr 1 ext 1
      L2 = cudaMemcpyAsync corr 2
      K2 = Memcpy_HtoD corr 2
  )");
  const OpId mm = op_named(trace, "aten::mm");
  const CallId launch = call_named(trace, "cudaLaunchKernel");
  const GpuEventId kernel = gpu_event_named(trace, "gemm");
  EXPECT_EQ(trace.ops.parent[mm], op_named(trace, "linear"));
  EXPECT_EQ(trace.calls.op[launch], mm);
  EXPECT_EQ(trace.calls.op_by_external_id[launch], mm);
  EXPECT_EQ(trace.gpu_events.call[kernel], launch);
  EXPECT_EQ(trace.gpu_events.op[kernel], mm);
  ASSERT_EQ(trace.gpu_events_of(launch).size(), 1U);
  EXPECT_EQ(trace.gpu_events_of(launch)[0], kernel);
  const CallId copy = call_named(trace, "cudaMemcpyAsync");
  EXPECT_EQ(trace.calls.kind[copy], ApiKind::kCopy);
  EXPECT_FALSE(trace.calls.op[copy].has_value()) << "other thread";
}

TEST(Builder, PartialOverlapMakesNoParent) {
  const Trace trace = trace_from_text(R"(
    op        [outer   ]
    op           [late     ]
  )");
  EXPECT_FALSE(trace.ops.parent[op_named(trace, "late")].has_value());
}

// The same rows in one fragment or in many, in order or not, give the same trace.
TEST(Builder, FragmentsInAnyCutGiveTheSameOrder) {
  auto build = [](std::vector<std::vector<int>> cuts) {
    Builder builder;
    for (const auto& cut : cuts) {
      Fragment fragment;
      for (int start : cut) {
        Ops::Row row;
        row.start_ns = start;
        row.end_ns = start + 5;
        row.thread = fragment.thread("1", start % 2 == 0 ? "even" : "odd");
        row.name = fragment.strings.intern("op" + std::to_string(start));
        fragment.ops.push_back(row);
      }
      builder.add(std::move(fragment));
    }
    Trace trace = builder.finish();
    std::string order;
    for (ThreadId thread : trace.threads.ids().ids()) {
      order += std::string(trace.text(trace.threads.key[thread])) + ":";
      for (OpId id : trace.ops_of_thread[thread].ids()) order += std::string(trace.text(trace.ops.name[id])) + " ";
    }
    return order;
  };
  const std::string expected = "even:op0 op2 op4 op8 odd:op1 op3 op7 ";
  EXPECT_EQ(build({{0, 1, 2, 3, 4, 7, 8}}), expected);
  EXPECT_EQ(build({{8, 7, 4, 3}, {}, {2, 1, 0}}), expected);
  EXPECT_EQ(build({{0}, {1}, {2}, {3}, {4}, {7}, {8}}), expected);
}

TEST(Builder, GraphLaunchHasManyEvents) {
  const Trace trace = trace_from_text(R"(
    call      [G1]
    gpu/7         [A==] [B==]
    gpu/9         [C==]
    where
      G1 = cudaGraphLaunch corr 5
      A = a corr 5
      B = b corr 5
      C = c corr 5
  )");
  const CallId launch = call_named(trace, "cudaGraphLaunch");
  EXPECT_EQ(trace.calls.kind[launch], ApiKind::kGraphLaunch);
  EXPECT_EQ(trace.gpu_events_of(launch).size(), 3U);
}

TEST(Builder, ClashingCorrelationsOfTwoProcessesAreRefused) {
  Builder builder;
  Fragment fragment;
  for (std::string_view pid : {"4242", "4243"}) {
    Calls::Row call;
    call.thread = fragment.thread(pid, pid);
    call.correlation = 1000;
    call.name = fragment.strings.intern("cudaLaunchKernel");
    fragment.calls.push_back(call);
  }
  GpuEvents::Row event;
  event.device = fragment.device(0);
  event.stream = fragment.stream(0, "7");
  event.correlation = 1000;
  event.start_ns = 10;
  event.end_ns = 20;
  fragment.gpu_events.push_back(event);
  builder.add(std::move(fragment));
  const Trace trace = builder.finish();
  EXPECT_FALSE(trace.gpu_events.call[GpuEventId(0)].has_value());
  EXPECT_EQ(trace.notes.count(NoteKind::kMergedProcesses), 1U);
  EXPECT_TRUE(trace.notes.unsound());
}

TEST(Builder, DuplicateGpuEventIsMarkedOnce) {
  const Trace trace = trace_from_text(R"(
    call      [L1]
    gpu/7        [A==]  [B=]
    gpu/7        [A==]
    where
      L1 = cudaLaunchKernel corr 1
      A = a corr 1
      B = b corr 2
  )");
  EXPECT_EQ(trace.notes.count(NoteKind::kDuplicateEvent), 1U);
  EXPECT_EQ(trace.gpu_events_of(call_named(trace, "cudaLaunchKernel")).size(), 1U);
}

TEST(ApiKind, NamesOfEveryVendor) {
  EXPECT_EQ(classify_api("cudaLaunchKernelExC"), ApiKind::kLaunch);
  EXPECT_EQ(classify_api("cuLaunchKernelEx"), ApiKind::kLaunch);
  EXPECT_EQ(classify_api("hipExtModuleLaunchKernel"), ApiKind::kLaunch);
  EXPECT_EQ(classify_api("hipMemcpyWithStream"), ApiKind::kCopy);
  EXPECT_EQ(classify_api("cudaMemsetAsync"), ApiKind::kSet);
  EXPECT_EQ(classify_api("hipStreamSynchronize"), ApiKind::kStreamSync);
  EXPECT_EQ(classify_api("cudaEventRecordWithFlags"), ApiKind::kEventRecord);
  EXPECT_EQ(classify_api("cudaFree"), ApiKind::kFree);
  EXPECT_EQ(classify_api("cudaMalloc"), ApiKind::kAllocate);
  EXPECT_EQ(classify_api("zeCommandListAppendLaunchKernel"), ApiKind::kLaunch);
  EXPECT_EQ(classify_api("cudaGetDevice"), ApiKind::kOther);
  EXPECT_EQ(classify_api(""), ApiKind::kOther);
}

}  // namespace
}  // namespace stepscope
