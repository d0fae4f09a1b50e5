// The rules of the table, each on a drawn trace: nesting, merging, kernels, memory, windows, order.
#include "analyze/averages.h"

#include <gtest/gtest.h>

#include "support/trace_from_text.h"
#include "trace/builder.h"

namespace stepscope {
namespace {

const AverageRow& row_named(const Averages& averages, std::string_view key, std::string_view device = "CPU") {
  static const AverageRow kNone;
  for (const AverageRow& row : averages.rows) {
    if (row.key == key && row.device_type == "DeviceType." + std::string(device)) return row;
  }
  ADD_FAILURE() << "no row " << key << " on " << device;
  return kNone;
}

TEST(Averages, KernelsCountForTheirOperatorAndAllAroundIt) {
  const Trace trace = trace_from_text(R"(
    span      [forward         ]
    op         [conv2d      ]
    op          [cudnn    ]
    call          [L1]
    gpu/7                [K1======]
    where
      cudnn = aten::cudnn_convolution ext 3
      conv2d = aten::conv2d ext 2
      L1 = cudaLaunchKernel corr 1 ext 3
      K1 = conv_kernel corr 1 ext 3
  )");
  const Averages averages = compute_averages(trace, {});
  const AverageRow& inner = row_named(averages, "aten::cudnn_convolution");
  EXPECT_EQ(inner.cpu_time_total_ns, 110'000);
  EXPECT_EQ(inner.self_cpu_time_total_ns, 70'000);  // without the launch call
  EXPECT_EQ(inner.self_device_time_total_ns, 100'000);
  const AverageRow& outer = row_named(averages, "aten::conv2d");
  EXPECT_EQ(outer.self_device_time_total_ns, 0);
  EXPECT_EQ(outer.device_time_total_ns, 100'000);
  const AverageRow& span = row_named(averages, "forward");
  EXPECT_TRUE(span.is_user_annotation);
  EXPECT_EQ(span.device_time_total_ns, 100'000);
  const AverageRow& kernel = row_named(averages, "conv_kernel", "CUDA");
  EXPECT_EQ(kernel.self_device_time_total_ns, 100'000);
  EXPECT_EQ(kernel.cpu_time_total_ns, 0);
  EXPECT_EQ(averages.self_device_time_total_ns, 100'000);  // once, not once a row
  EXPECT_EQ(averages.self_cpu_time_total_ns, 180'000);     // the span's whole length
}

TEST(Averages, ChildrenThatOverlapCoverTheirParentOnce) {
  const Trace trace = trace_from_text(R"(
    span      [outer           ]
    op         [a=======]
    op             [b=======]
    where
      outer = outer
      a = aten::mm
      b = aten::add
  )");
  const Averages averages = compute_averages(trace, {});
  EXPECT_EQ(row_named(averages, "aten::mm").self_cpu_time_total_ns, 100'000);
  EXPECT_EQ(row_named(averages, "aten::add").self_cpu_time_total_ns, 100'000);
  EXPECT_EQ(row_named(averages, "outer").self_cpu_time_total_ns, 180'000 - 140'000);
}

TEST(Averages, AnOnlyChildOfTheSameNameIsOneCall) {
  const Trace trace = trace_from_text(R"(
    op        [to======]   [mm=======]
    op         [to_in]      [mode==]
    op                       [mm_in]
    where
      to = aten::to
      to_in = aten::to
      mm = aten::mm
      mm_in = aten::mm
  )");
  const Averages averages = compute_averages(trace, {});
  const AverageRow& merged = row_named(averages, "aten::to");
  EXPECT_EQ(merged.count, 1);
  EXPECT_EQ(merged.record_count, 2);
  EXPECT_EQ(merged.cpu_time_total_ns, 100'000);
  EXPECT_EQ(merged.self_cpu_time_total_ns, 100'000);
  // Reentered through another operator: torch counts both; the inclusive time counts the stretch once.
  const AverageRow& nested = row_named(averages, "aten::mm");
  EXPECT_EQ(nested.count, 2);
  EXPECT_EQ(nested.record_count, 2);
  EXPECT_EQ(nested.cpu_time_total_ns, 180'000);
  EXPECT_EQ(nested.inclusive_ns, 110'000);
}

TEST(Averages, ASecondChildPreventsTheMerge) {
  const Trace trace = trace_from_text(R"(
    op        [to==========]
    op         [to_in][copy]
    where
      to = aten::to
      to_in = aten::to
      copy = aten::copy_
  )");
  const Averages averages = compute_averages(trace, {});
  const AverageRow& row = row_named(averages, "aten::to");
  EXPECT_EQ(row.count, 2);
  EXPECT_EQ(row.cpu_time_total_ns, 140'000 + 70'000);
  EXPECT_EQ(row.self_cpu_time_total_ns, 140'000 - 70'000 - 60'000 + 70'000);
}

TEST(Averages, APartialOverlapHasNoParent) {
  const Trace trace = trace_from_text(R"(
    op        [first===]
    op            [second===]
  )");
  const Averages averages = compute_averages(trace, {});
  EXPECT_EQ(row_named(averages, "first").self_cpu_time_total_ns, 100'000);
  EXPECT_EQ(row_named(averages, "second").self_cpu_time_total_ns, 110'000);
}

TEST(Averages, StepsAreOneRowAndThreadsDoNotNest) {
  const Trace trace = trace_from_text(R"(
    step      [4      ][5      ]
    op         [add]    [add]
    op@other      [mul]
  )");
  const Averages averages = compute_averages(trace, {});
  const AverageRow& step = row_named(averages, "ProfilerStep*");
  EXPECT_EQ(step.count, 2);
  EXPECT_EQ(step.self_cpu_time_total_ns, 180'000 - 100'000);
  EXPECT_EQ(averages.rows.front().key, "ProfilerStep*");  // in order of first appearance
  EXPECT_EQ(averages.rows[1].key, "add");
  EXPECT_EQ(averages.rows[2].key, "mul");
}

TEST(Averages, GpuAnnotationsAreRowsOfTheirOwnAndNoDeviceWork) {
  const Trace trace = trace_from_text(R"(
    span      [forward]
    note/7        [forward]
    gpu/7         [K]
  )");
  const Averages averages = compute_averages(trace, {});
  const AverageRow& note = row_named(averages, "forward", "CUDA");
  EXPECT_TRUE(note.is_user_annotation);
  EXPECT_EQ(note.device_time_total_ns, 90'000 - 2);  // libkineto's widening taken off
  EXPECT_EQ(averages.self_device_time_total_ns, 30'000);
}

TEST(Averages, ShapesAreTorchsText) {
  const Trace trace = trace_from_text(R"(
    op        [a1][a2][b1][relu]
    where
      a1 = aten::mm shapes [[2,3],[3,4]]
      a2 = aten::mm shapes [[2,3],[3,4]]
      b1 = aten::mm shapes [[5,3],[3,4]]
  )");
  const Averages averages = compute_averages(trace, {.group_by = GroupBy::kShape});
  ASSERT_EQ(averages.rows.size(), 3U);
  EXPECT_EQ(averages.rows[0].input_shapes, "[[2, 3], [3, 4]]");
  EXPECT_EQ(averages.rows[0].count, 2);
  EXPECT_EQ(averages.rows[0].flops, 2 * 2 * 2 * 3 * 4);
  EXPECT_EQ(averages.rows[1].input_shapes, "[[5, 3], [3, 4]]");
  EXPECT_EQ(averages.rows[2].input_shapes, "[]");
}

TEST(Averages, WhatAnOperatorToldCoversThoseInsideAlsoWhereItIsNothing) {
  Trace trace = trace_from_text(R"(
    op        [view======][mm=]
    op          [inner]
    where
      mm = aten::mm shapes [[2,3],[3,4]]
  )");
  trace.ops.flops[op_named(trace, "view")] = 0;
  trace.ops.flops[op_named(trace, "inner")] = 100;
  std::int64_t sum = 0;
  for (const AverageRow& row : compute_averages(trace, {}).rows) sum += row.flops;
  EXPECT_EQ(sum, 2 * 2 * 3 * 4);
}

TEST(Averages, StacksAreThePythonFramesWhenAskedFor) {
  const Trace trace = trace_from_text(R"(
    py        [train==============]
    py         [forward=][loss===]
    op            [mm]     [mm]
    op@bwd                          [grad]
    where
      train = train.py(10): <module>
      mm = aten::mm
      grad = autograd::engine::evaluate_function: MmBackward0 seq 7 fwd 1
  )");
  AveragesOptions options{.group_by = GroupBy::kStack};
  EXPECT_EQ(row_named(compute_averages(trace, options), "aten::mm").count, 2);
  options.python_stacks = true;
  const Averages averages = compute_averages(trace, options);
  ASSERT_EQ(averages.rows.size(), 3U);
  EXPECT_EQ(averages.rows[0].stack, (std::vector<std::string>{"forward", "train.py(10): <module>"}));
  EXPECT_EQ(averages.rows[1].stack, (std::vector<std::string>{"loss", "train.py(10): <module>"}));
  EXPECT_TRUE(averages.rows[2].stack.empty());
  options.stack_depth = 1;
  EXPECT_EQ(compute_averages(trace, options).rows[0].stack, (std::vector<std::string>{"forward"}));
}

TEST(Averages, BackwardWorkHasTheStackOfItsForwardOperator) {
  const Trace trace = trace_from_text(R"(
    py        [forward]
    op          [mm]
    op@bwd              [grad]
    op@bwd               [in]
    where
      mm = aten::mm seq 7
      grad = autograd::engine::evaluate_function: MmBackward0 seq 7 fwd 1
      in = aten::mm
  )");
  const Averages averages = compute_averages(trace, {.group_by = GroupBy::kStack, .python_stacks = true});
  ASSERT_EQ(averages.rows.size(), 2U);
  EXPECT_EQ(averages.rows[0].count, 2);
  EXPECT_EQ(averages.rows[1].stack, (std::vector<std::string>{"forward"}));
}

TEST(Averages, AWindowTakesWhatBeginsInIt) {
  const Trace trace = trace_from_text(R"(
    step      [1      ][2      ]
    op         [add]    [add]
    gpu/7         [K]      [K]
  )");
  const Averages averages = compute_averages(trace, {.window = Interval{90'000, 180'000}});
  EXPECT_EQ(row_named(averages, "ProfilerStep*").count, 1);
  EXPECT_EQ(row_named(averages, "add").count, 1);
  EXPECT_EQ(row_named(averages, "K", "CUDA").count, 1);
}

// Memory and asynchronous spans cannot be drawn.
Trace trace_with_memory() {
  Fragment fragment;
  const ThreadId main = fragment.thread("1", "main");
  const ThreadId other = fragment.thread("1", "other");
  const auto add_op = [&](const char* name, TimeNs start, TimeNs end) {
    Ops::Row row;
    row.start_ns = start;
    row.end_ns = end;
    row.thread = main;
    row.name = fragment.strings.intern(name);
    fragment.ops.push_back(row);
  };
  const auto add_memory = [&](TimeNs time, std::int64_t bytes, std::int32_t type) {
    MemoryEvents::Row row;
    row.time_ns = time;
    row.thread = other;
    row.bytes = bytes;
    row.device_type = type;
    fragment.memory_events.push_back(row);
  };
  add_op("outer", 100, 200);
  add_op("inner", 120, 150);
  add_op("aten::is_leaf", 160, 170);
  Spans::Row span;
  span.start_ns = 90;
  span.end_ns = 180;
  span.thread = main;
  span.is_async = 1;
  span.name = fragment.strings.intern("async");
  fragment.spans.push_back(span);
  add_memory(100, 1, 1);
  add_memory(150, 10, 1);
  add_memory(165, 100, 0);
  add_memory(200, 1000, 1);
  add_memory(300, -10000, 1);
  add_memory(310, -5, 0);
  Builder builder;
  builder.add(std::move(fragment));
  return builder.finish(1);
}

TEST(Averages, MemoryBelongsToAllThatIsOpenOnAnyThread) {
  const Averages averages = compute_averages(trace_with_memory(), {});
  const AverageRow& outer = row_named(averages, "outer");
  EXPECT_EQ(outer.device_memory_usage_bytes, 1011);  // both ends count
  EXPECT_EQ(outer.self_device_memory_usage_bytes, 1001);
  EXPECT_EQ(outer.cpu_memory_usage_bytes, 100);
  EXPECT_EQ(row_named(averages, "inner").device_memory_usage_bytes, 10);
  const AverageRow& nobody = row_named(averages, "[memory]");
  EXPECT_EQ(nobody.count, 2);
  EXPECT_EQ(nobody.device_memory_usage_bytes, -10000);
  EXPECT_EQ(nobody.cpu_memory_usage_bytes, -5);
}

TEST(Averages, AsyncSpansHaveATotalOnlyAndHiddenOperatorsNoRow) {
  const Averages averages = compute_averages(trace_with_memory(), {});
  const AverageRow& span = row_named(averages, "async");
  EXPECT_TRUE(span.is_async);
  EXPECT_EQ(span.cpu_time_total_ns, 90);
  EXPECT_EQ(span.self_cpu_time_total_ns, 0);
  EXPECT_EQ(row_named(averages, "outer").self_cpu_time_total_ns, 70);
  for (const AverageRow& row : averages.rows) EXPECT_NE(row.key, "aten::is_leaf");
}

TEST(Averages, SortsByTorchsNames) {
  const Trace trace = trace_from_text(R"(
    op        [a=][b=====][a=][c=]
    gpu/7     [K===]
  )");
  const Averages averages = compute_averages(trace, {});
  const auto by_cpu = sorted_rows(averages, "self_cpu_time_total");
  ASSERT_TRUE(by_cpu.has_value());
  EXPECT_EQ(averages.rows[by_cpu->front()].key, "a");
  EXPECT_EQ(averages.rows[(*by_cpu)[1]].key, "b");
  const auto by_average = sorted_rows(averages, "cpu_time");
  EXPECT_EQ(averages.rows[by_average->front()].key, "b");
  const auto by_device = sorted_rows(averages, "self_cuda_time_total");
  EXPECT_EQ(averages.rows[by_device->front()].key, "K");
  EXPECT_FALSE(sorted_rows(averages, "colour").has_value());
  for (const std::string_view key : sort_keys()) EXPECT_TRUE(sorted_rows(averages, key).has_value()) << key;
}

TEST(Averages, ReplayedKernelsGiveTheirTimeToTheOperatorOfTheCapture) {
  Trace trace = trace_from_text(R"(
    op        [mm   ]
    call       [L1]      [G]
    gpu/7         [K1]     [K2==][K3]
    where
      mm = aten::mm
      L1 = cudaLaunchKernel corr 1
      G = cudaGraphLaunch corr 2
      K1 = gemm corr 1
      K2 = gemm corr 2
      K3 = relu corr 2
  )");
  const StringId mm = trace.strings.intern("aten::mm"), relu = trace.strings.intern("aten::relu");
  trace.gpu_events.op_name[GpuEventId(1)] = mm;
  trace.gpu_events.op_name[GpuEventId(2)] = relu;
  const Averages averages = compute_averages(trace, {});
  const auto row = [&](std::string_view key) { return row_named(averages, key); };

  EXPECT_EQ(row("aten::mm").count, 1);
  EXPECT_EQ(row("aten::mm").self_device_time_total_ns, 40'000 + 60'000);
  EXPECT_EQ(row("aten::relu").count, 0);
  EXPECT_EQ(row("aten::relu").self_device_time_total_ns, 40'000);
  EXPECT_EQ(averages.self_device_time_total_ns, 140'000) << "of the kernels, each once";
}

}  // namespace
}  // namespace stepscope
