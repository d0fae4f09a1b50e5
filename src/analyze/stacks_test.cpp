// Folded lines: format, equal stacks as one line, backward work under its forward stack, hostile depth.
#include "analyze/stacks.h"

#include <gtest/gtest.h>

#include <map>

#include "support/trace_from_text.h"
#include "trace/builder.h"

namespace stepscope {
namespace {

std::map<std::string, std::int64_t> lines_of(const Trace& trace, std::string_view metric) {
  std::map<std::string, std::int64_t> out;
  const auto lines = compute_folded_stacks(trace, metric);
  if (!lines) return out;
  for (const FoldedStack& line : *lines) {
    EXPECT_TRUE(out.emplace(line.stack, line.value_us).second) << line.stack << " twice";
    EXPECT_EQ(line.line(), line.stack + " " + std::to_string(line.value_us));
  }
  return out;
}

constexpr const char* kTraining = R"(
    py        [train============================]
    py         [forward=][loss==][forward=]
    op            [mm]
    op@bwd                                 [grad]
    call                           [L]
    gpu/7         [K1==]           [K2=]   [K3===]
    where
      train = train.py(10): <module>
      forward = a b;c.py(3): forward
      mm = aten::mm ext 1 seq 5
      grad = MmBackward0 seq 5 fwd 1 ext 2
      L = cuLaunchKernel corr 9
      K1 = gemm ext 1
      K2 = triton_kernel corr 9
      K3 = gemm_grad ext 2
  )";

TEST(FoldedStacks, RootFirstWholeMicrosecondsEqualStacksTogether) {
  const auto lines = lines_of(trace_from_text(kTraining), "self_cpu_time_total");
  EXPECT_EQ(lines, (std::map<std::string, std::int64_t>{
                       {"train.py(10):_<module>", 350 - 100 - 80 - 100},
                       {"train.py(10):_<module>;a_b_c.py(3):_forward", 100 + 100 + 60},  // and 60 of its backward
                       {"train.py(10):_<module>;loss", 80},
                   }));
}

TEST(FoldedStacks, DeviceTimeOfOperatorsCallsAndBackward) {
  const auto lines = lines_of(trace_from_text(kTraining), "self_device_time_total");
  EXPECT_EQ(lines, (std::map<std::string, std::int64_t>{
                       {"train.py(10):_<module>;a_b_c.py(3):_forward", 60 + 50 + 70},
                   }));
  EXPECT_EQ(lines, lines_of(trace_from_text(kTraining), "self_cuda_time_total"));
  EXPECT_EQ(lines, lines_of(trace_from_text(kTraining), "self_device_time"));
}

TEST(FoldedStacks, BelowAMicrosecondThereIsNoLine) {
  const Trace trace = trace_from_text(R"(
    py        [short]
    where
      short = f @ 0..999
  )");
  EXPECT_TRUE(compute_folded_stacks(trace, "self_cpu_time_total")->empty());
}

TEST(FoldedStacks, OtherMetricsAreRefused) {
  EXPECT_FALSE(compute_folded_stacks(Trace(), "flops").has_value());
  EXPECT_TRUE(compute_folded_stacks(Trace(), "self_cpu_time_total")->empty());
}

TEST(FoldedStacks, OldFilesCarryTheStackWithTheOperator) {
  Fragment fragment;
  Ops::Row row;
  row.end_ns = 5000;
  row.thread = fragment.thread("1", "1");
  row.name = fragment.strings.intern("aten::mm");
  row.call_stack = fragment.strings.intern("model.py(5): forward;train.py(1): <module>");
  fragment.ops.push_back(row);
  row.start_ns = 5000;
  row.end_ns = 7000;
  fragment.ops.push_back(row);
  Builder builder;
  builder.add(std::move(fragment));
  const auto lines = compute_folded_stacks(builder.finish(1), "self_cpu_time_total");
  ASSERT_EQ(lines->size(), 1U);
  EXPECT_EQ(lines->front().line(), "train.py(1):_<module>;model.py(5):_forward 7");
}

TEST(FoldedStacks, KernelsOfAGraphHaveTheLineThatCapturedThem) {
  Fragment fragment;
  Frames::Row frame;
  frame.end_ns = 100'000;
  frame.thread = fragment.thread("1", "1");
  frame.name = fragment.strings.intern("train.py(1): <module>");
  fragment.frames.push_back(frame);
  Calls::Row replay;
  replay.start_ns = 1000;
  replay.end_ns = 2000;
  replay.thread = frame.thread;
  replay.name = fragment.strings.intern("cudaGraphLaunch");
  replay.correlation = 3;
  fragment.calls.push_back(replay);
  GpuEvents::Row kernel;
  kernel.stream = fragment.stream(0, "7");
  kernel.device = fragment.streams.device[kernel.stream];
  kernel.name = fragment.strings.intern("gemm");
  kernel.correlation = 3;
  for (const char* stack : {"model.py(5): forward;train.py(1): <module>", "model.py(6): loss;train.py(1): <module>", "",
                            "model.py(5): forward;train.py(1): <module>"}) {
    kernel.start_ns += 10'000;
    kernel.end_ns = kernel.start_ns + 4'000;
    kernel.call_stack = fragment.strings.intern(stack);
    fragment.gpu_events.push_back(kernel);
  }
  Builder builder;
  builder.add(std::move(fragment));
  EXPECT_EQ(lines_of(builder.finish(1), "self_device_time_total"),
            (std::map<std::string, std::int64_t>{{"train.py(1):_<module>", 4},
                                                 {"train.py(1):_<module>;model.py(5):_forward", 8},
                                                 {"train.py(1):_<module>;model.py(6):_loss", 4}}));
}

TEST(FoldedStacks, DeepRecursionStaysSmall) {
  Fragment fragment;
  constexpr TimeNs kDepth = 20'000;
  Frames::Row row;
  row.thread = fragment.thread("1", "1");
  row.name = fragment.strings.intern("recurse");
  for (TimeNs i = 0; i < kDepth; ++i) {
    row.start_ns = i * 2000;
    row.end_ns = kDepth * 4000 - i * 2000;
    fragment.frames.push_back(row);
  }
  Builder builder;
  builder.add(std::move(fragment));
  const auto lines = compute_folded_stacks(builder.finish(1), "self_cpu_time_total");
  ASSERT_EQ(lines->size(), 1000U);
  std::int64_t sum_us = 0;
  for (const FoldedStack& line : *lines) sum_us += line.value_us;
  EXPECT_EQ(sum_us, kDepth * 4);
}

}  // namespace
}  // namespace stepscope
