// Forward and backward time under one name, by arrow, by number, by module frame.
#include "analyze/modules.h"

#include <gtest/gtest.h>

#include "analyze/backward_links.h"
#include "support/trace_from_text.h"
#include "trace/builder.h"

namespace stepscope {
namespace {

const AverageRow& row_named(const Averages& averages, std::string_view key) {
  static const AverageRow kNone;
  for (const AverageRow& row : averages.rows) {
    if (row.key == key) return row;
  }
  ADD_FAILURE() << "no row " << key;
  return kNone;
}

TEST(Modules, BackwardIsChargedToTheForwardOperator) {
  const Trace trace = trace_from_text(R"(
    op        [linear   ][other]
    op          [addmm]
    op@bwd                        [grad====]
    op@bwd                          [mm==]
    gpu/7         [F===]              [B=======]
    where
      linear = aten::linear seq 40 ext 1
      addmm = aten::addmm seq 40 ext 2
      other = aten::other seq 41
      grad = autograd::engine::evaluate_function: AddmmBackward0 seq 40 fwd 1
      mm = aten::mm ext 3
      F = forward_kernel ext 2
      B = backward_kernel ext 3
  )");
  const Averages averages = compute_averages(trace, {.group_by = GroupBy::kModule});
  ASSERT_EQ(averages.rows.size(), 2U);
  const AverageRow& linear = row_named(averages, "aten::linear");
  EXPECT_EQ(linear.count, 1);
  EXPECT_EQ(linear.forward_device_time_ns, 60'000);
  EXPECT_EQ(linear.backward_device_time_ns, 100'000);
  EXPECT_EQ(linear.device_time_total_ns, 160'000);
  EXPECT_EQ(linear.cpu_time_total_ns, 110'000 + 100'000);
}

TEST(Modules, FramesOfModulesNestAndTheRestIsOutside) {
  const Trace trace = trace_from_text(R"(
    py        [net==================]
    py         [lin_a==][lin_b==]
    op           [mm1]    [mm2]      [relu] [adam]
    op@bwd                                         [grad]
    gpu/7        [K1==]   [K2=]      [K3=]  [K4]   [K5===]
    where
      net = nn.Module: Net_0
      lin_a = nn.Module: Linear_0
      lin_b = nn.Module: Linear_1
      mm1 = aten::mm ext 1 seq 5
      mm2 = aten::mm ext 2 seq 6
      relu = aten::relu ext 3
      adam = aten::_fused_adamw_ ext 4
      grad = MmBackward0 seq 5 fwd 1 ext 5
      K1 = k ext 1
      K2 = k ext 2
      K3 = k ext 3
      K4 = k ext 4
      K5 = k ext 5
  )");
  const Averages averages = compute_averages(trace, {.group_by = GroupBy::kModule});
  const AverageRow& a = row_named(averages, "nn.Module: Linear_0");
  EXPECT_EQ(a.forward_device_time_ns, 60'000);
  EXPECT_EQ(a.backward_device_time_ns, 70'000);
  const AverageRow& net = row_named(averages, "nn.Module: Net_0");
  EXPECT_EQ(net.count, 1);
  EXPECT_EQ(net.self_device_time_total_ns, 0);
  EXPECT_EQ(net.device_time_total_ns, 60'000 + 50'000 + 70'000);
  EXPECT_EQ(net.self_cpu_time_total_ns, 230'000 - 90'000 - 90'000);
  EXPECT_EQ(row_named(averages, "(outside modules)").device_time_total_ns, 50'000 + 40'000);
}

TEST(Modules, AModuleInsideItsNamesakeCountsItsTimeOnce) {
  const Trace trace = trace_from_text(R"(
    py        [outer=======]
    py          [inner===]
    op            [mm]
    gpu/7         [K===]
    where
      outer = nn.Module: Block_0
      inner = nn.Module: Block_0
      mm = aten::mm ext 1
      K = k ext 1
  )");
  const AverageRow row = row_named(compute_averages(trace, {.group_by = GroupBy::kModule}), "nn.Module: Block_0");
  EXPECT_EQ(row.count, 2);
  EXPECT_EQ(row.device_time_total_ns, 60'000);
  EXPECT_EQ(row.self_device_time_total_ns, 60'000);
  EXPECT_EQ(row.cpu_time_total_ns, 140'000);
}

// The second call starts in what is left out.
TEST(Modules, WhatStartsOutsideOfTheStepsCountsNowhere) {
  const Trace trace = trace_from_text(R"(
    py        [a===][a===]      [a===]
    op         [mm1] [mm2]       [mm3]
    gpu/7       [K1=] [K2=]       [K3=]
    where
      a = nn.Module: Linear_0
      mm1 = aten::mm ext 1
      mm2 = aten::mm ext 2
      mm3 = aten::mm ext 3
      K1 = k ext 1
      K2 = k ext 2
      K3 = k ext 3
  )");
  AveragesOptions options{.group_by = GroupBy::kModule};
  options.window = Interval{0, 200'000};
  options.left_out = {{60'000, 180'000}};
  const AverageRow row = row_named(compute_averages(trace, options), "nn.Module: Linear_0");
  EXPECT_EQ(row.count, 2);
  EXPECT_EQ(row.device_time_total_ns, 2 * 50'000);
}

TEST(BackwardLinks, WorkWithANumberInsideBackwardIsRecomputed) {
  const Trace trace = trace_from_text(R"(
    op        [first]
    op@bwd             [grad===============]
    op@bwd              [again==][mm]
    op@bwd               [gemm]
    where
      first = aten::linear seq 3
      grad = autograd::engine::evaluate_function: AddmmBackward0 seq 3 fwd 1
      again = aten::linear seq 9
      gemm = aten::addmm
      mm = aten::mm
  )");
  const BackwardLinks links = compute_backward_links(trace);
  EXPECT_EQ(links.is_backward[op_named(trace, "aten::linear")], 0);
  EXPECT_EQ(links.is_recomputed[op_named(trace, "aten::addmm")], 1);
  EXPECT_EQ(links.is_backward[op_named(trace, "aten::addmm")], 1);
  EXPECT_EQ(links.is_recomputed[op_named(trace, "aten::mm")], 0);
  EXPECT_EQ(links.forward[op_named(trace, "aten::mm")], op_named(trace, "aten::linear"));
}

// The agent hears the engine's operator without a number; the node inside it has one.
TEST(BackwardLinks, WhatTheEngineLaunchesAfterANodeIsTheNodes) {
  const Trace trace = trace_from_text(R"(
    op        [first=][second]
    op@bwd                      [eval=============][accumulate======]
    op@bwd                       [node=][sum=]      [leaf===========]
    op@bwd                        [mm=]  [fill]      [add_]
    where
      first = aten::linear seq 3
      second = aten::gelu seq 4
      eval = autograd::engine::evaluate_function: AddmmBackward0
      node = AddmmBackward0 seq 3 fwd 1
      mm = aten::mm
      sum = aten::sum
      fill = aten::fill_
      accumulate = autograd::engine::evaluate_function: torch::autograd::AccumulateGrad
      leaf = torch::autograd::AccumulateGrad fwd 1
      add_ = aten::add_
  )");
  const BackwardLinks links = compute_backward_links(trace);
  for (const char* name :
       {"aten::mm", "aten::sum", "aten::fill_", "autograd::engine::evaluate_function: AddmmBackward0"}) {
    EXPECT_EQ(links.forward[op_named(trace, name)], op_named(trace, "aten::linear")) << name;
  }
  EXPECT_FALSE(links.forward[op_named(trace, "aten::add_")].has_value()) << "a leaf has no forward operator";
}

// A function whose backward runs another backward, as checkpoints do: each node inside keeps its own cause.
TEST(BackwardLinks, ABackwardInsideABackwardHasItsOwnNodes) {
  const Trace trace = trace_from_text(R"(
    op        [checkpoint][linear]
    op@bwd                 [outer========================================]
    op@bwd                  [whole=====================================]
    op@bwd                   [again][inner=============]  [copy]
    op@bwd                           [node=][sum==]
    where
      checkpoint = CheckpointFunction seq 3
      linear = aten::linear seq 4
      outer = autograd::engine::evaluate_function: CheckpointFunctionBackward
      whole = CheckpointFunctionBackward seq 3 fwd 1
      again = aten::addmm seq 9
      inner = autograd::engine::evaluate_function: AddmmBackward0
      node = AddmmBackward0 seq 4 fwd 1
      sum = aten::sum
      copy = aten::copy_
  )");
  const BackwardLinks links = compute_backward_links(trace);
  EXPECT_EQ(links.forward[op_named(trace, "aten::copy_")], op_named(trace, "CheckpointFunction"));
  EXPECT_EQ(links.forward[op_named(trace, "aten::sum")], op_named(trace, "aten::linear"));
  EXPECT_EQ(links.forward[op_named(trace, "aten::addmm")], op_named(trace, "CheckpointFunction"));
}

// Two threads used number 7; only the arrow says which one the backward operator belongs to.
TEST(BackwardLinks, TheArrowDecidesWhereNumbersDoNot) {
  Fragment fragment;
  const auto add_op = [&](const char* thread, const char* name, TimeNs start, std::int64_t forward_thread) {
    Ops::Row row;
    row.start_ns = start;
    row.end_ns = start + 10;
    row.thread = fragment.thread("1", thread);
    row.name = fragment.strings.intern(name);
    row.sequence = 7;
    if (forward_thread > 0) row.forward_thread = forward_thread;
    fragment.ops.push_back(row);
  };
  const auto add_flow = [&](const char* thread, TimeNs time, char phase) {
    Flows::Row row;
    row.time_ns = time;
    row.id = 77;
    row.category = fragment.strings.intern("fwdbwd");
    row.process_key = fragment.strings.intern("1");
    row.thread_key = fragment.strings.intern(thread);
    row.phase = phase;
    fragment.flows.push_back(row);
  };
  add_op("a", "left", 100, 0);
  add_op("b", "right", 200, 0);
  add_op("c", "grad", 300, 1);
  add_flow("a", 100, 's');
  add_flow("c", 300, 'f');
  Builder builder;
  builder.add(std::move(fragment));
  const Trace trace = builder.finish(1);
  const BackwardLinks links = compute_backward_links(trace);
  EXPECT_EQ(links.forward[op_named(trace, "grad")], op_named(trace, "left"));
}

}  // namespace
}  // namespace stepscope
