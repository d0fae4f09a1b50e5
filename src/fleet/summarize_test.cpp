// Summaries of drawn traces: who gets the busy time, where work stands, how collectives are numbered; and on random
// traces, that parts add up.
#include "fleet/summarize.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "fleet/fleet_findings.h"
#include "support/trace_from_text.h"

namespace stepscope {
namespace {

RankSummary summarize(const Trace& trace, const FactOptions& options = {}) {
  return summarize_trace(trace, compute_facts(trace, options), {}, "");
}

const SummaryWork& work_of(const RankSummary& summary, std::string_view kernel, std::string_view operator_name = {}) {
  static const SummaryWork kNone;
  for (const SummaryWork& work : summary.work) {
    if (work.kernel == kernel && (operator_name.empty() || work.operator_name == operator_name)) return work;
  }
  ADD_FAILURE() << "no row of " << kernel;
  return kNone;
}

void expect_parts_add_up(const RankSummary& summary) {
  for (std::size_t i = 0; i < summary.steps.size(); ++i) {
    const SummaryStep& step = summary.steps[i];
    DurationNs idle = 0, work = 0;
    for (const DurationNs part : step.idle_ns) idle += part;
    for (const SummaryWork& row : summary.work) work += row.busy_by_step_ns.at(i);
    EXPECT_EQ(step.gpu_busy_ns + idle, step.duration_ns) << "step " << step.number;
    EXPECT_EQ(work, step.gpu_busy_ns) << "step " << step.number;
  }
}

constexpr std::string_view kAllReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";

TEST(Summarize, ComputeIsPreferredToCopiesAndCopiesToCommunication) {
  const RankSummary summary = summarize(trace_from_text(R"(
    step      [4                  ][5      ]
    call      [a][b][c]             [d]
    gpu/7        [K1====]              [K2===]
    gpu/17         [N1========]
    gpu/9               [M1=======]
    where
      a = cudaLaunchKernel corr 1
      b = cudaLaunchKernel corr 2
      c = cudaMemcpyAsync corr 3
      d = cudaLaunchKernel corr 4
      K1 = gemm_kernel corr 1
      N1 = ncclDevKernel_AllReduce_Sum_f32_RING_LL corr 2
      M1 = Memcpy_HtoD corr 3
      K2 = gemm_kernel corr 4
  )"));
  expect_parts_add_up(summary);
  ASSERT_EQ(summary.steps.size(), 2U);
  // The kernel runs in 30..110 us, the collective in 50..170, the copy in 100..210: nothing is left of the collective
  // but 0, and of the copy what comes after the kernel.
  EXPECT_EQ(work_of(summary, "gemm_kernel").busy_by_step_ns[0], 80'000);
  EXPECT_EQ(work_of(summary, "Memcpy_HtoD").busy_by_step_ns[0], 100'000);
  EXPECT_EQ(work_of(summary, kAllReduce).busy_by_step_ns[0], 0);
  EXPECT_EQ(work_of(summary, kAllReduce).gpu_sum_ns, 120'000);
  EXPECT_EQ(work_of(summary, "gemm_kernel").count, 2);
  ASSERT_EQ(summary.collectives.size(), 1U);
  EXPECT_EQ(summary.collectives[0].exposed_ns, 60'000) << "from the kernel's end on: a copy does not compute";
  EXPECT_EQ(summary.collective_names, std::vector<std::string>{"allreduce"}) << "from the kernel's name";
}

// A kernel that begins before the collective has ended did not wait for it: the pause before it, 20 us, is none of the
// collective's. One of 60 us is; whoever made it, the rank stood still.
TEST(Summarize, PausesBetweenKernelsAreNoWait) {
  const RankSummary summary = summarize(trace_from_text(R"(
    step      [4                                ][5      ]
    call      [a][b][c]  [d]                       [e]
    gpu/7       [K1=]  [K2=]      [K3=]            [K4=]
    gpu/17       [N1========================]
    where
      a = cudaLaunchKernel corr 1
      b = cudaLaunchKernel corr 2
      c = cudaLaunchKernel corr 3
      d = cudaLaunchKernel corr 4
      e = cudaLaunchKernel corr 5
      K1 = gemm_kernel corr 1
      N1 = ncclDevKernel_AllReduce_Sum_f32_RING_LL corr 2
      K2 = gemm_kernel corr 3
      K3 = gemm_kernel corr 4
      K4 = gemm_kernel corr 5
  )"));
  ASSERT_EQ(summary.collectives.size(), 1U);
  const SummaryCollective& collective = summary.collectives[0];
  ASSERT_EQ(collective.end_ns - collective.start_ns, 280'000);
  EXPECT_EQ(collective.exposed_ns, 60'000 + 60'000) << "before the third kernel and after it";
}

TEST(Summarize, OfTwoKernelsTheOneThatStartedFirstGetsTheTime) {
  const RankSummary summary = summarize(trace_from_text(R"(
    step      [4                ][5      ]
    call      [a][b]               [c]
    gpu/7        [K1====]             [K3]
    gpu/8            [K2====]
    where
      a = cudaLaunchKernel corr 1
      b = cudaLaunchKernel corr 2
      c = cudaLaunchKernel corr 3
      K1 = first_kernel corr 1
      K2 = second_kernel corr 2
      K3 = first_kernel corr 3
  )"));
  expect_parts_add_up(summary);
  EXPECT_EQ(work_of(summary, "first_kernel").busy_by_step_ns[0], 80'000);
  EXPECT_EQ(work_of(summary, "second_kernel").busy_by_step_ns[0], 40'000);
}

TEST(Summarize, WorkStandsInTheSpansOfItsLaunchAndOfTheMainThreadThatWaits) {
  const RankSummary summary = summarize(trace_from_text(R"(
    span      [epoch                                      ]
    step      [4                              ][5        ]
    span       [fwd       ][bwd              ]  [fwd   ]
    span         [block ]
    op            [mm]                            [mm]
    call          [a]    [b]                      [d]
    op@bwd                     [mmbwd]
    call@bwd                    [c]
    gpu/7              [K1]       [K3]                [K1]
    gpu/8                  [K2]
    where
      epoch = epoch 3
      mm = aten::mm ext 1 shapes [[2,2],[2,2]]
      mmbwd = MmBackward0 ext 2
      a = cudaLaunchKernel corr 1
      b = cudaLaunchKernel corr 2
      c = cudaLaunchKernel corr 3
      d = cudaLaunchKernel corr 4
      K1 = gemm_kernel corr 1 ext 1
      K2 = other_kernel corr 2
      K3 = gemm_kernel corr 3 ext 2
  )"));
  expect_parts_add_up(summary);
  EXPECT_EQ(work_of(summary, "gemm_kernel", "aten::mm").place, "fwd > block");
  EXPECT_EQ(work_of(summary, "gemm_kernel", "aten::mm").shapes, "[[2,2],[2,2]]");
  EXPECT_EQ(work_of(summary, "other_kernel").place, "fwd");
  EXPECT_EQ(work_of(summary, "gemm_kernel", "MmBackward0").place, "bwd");
}

TEST(Summarize, WithoutSpansTheBackwardPassIsAPlaceOfItsOwn) {
  const RankSummary summary = summarize(trace_from_text(R"(
    step      [4                ][5      ]
    call      [a]                 [b]
    op@bwd         [outer]
    op@bwd          [mm]
    call@bwd        [c]
    gpu/7        [K1]  [K2]          [K1]
    where
      outer = autograd::engine::evaluate_function: MmBackward0 ext 2
      mm = aten::mm ext 3
      a = cudaLaunchKernel corr 1
      b = cudaLaunchKernel corr 2
      c = cudaLaunchKernel corr 3
      K1 = first_kernel corr 1
      K2 = second_kernel corr 3 ext 3
  )"));
  EXPECT_EQ(work_of(summary, "first_kernel").place, "");
  EXPECT_EQ(work_of(summary, "second_kernel").place, "(backward)");
}

// Makes a collective's arguments.
void name_collective(Trace& trace, GpuEventId event, std::string_view name, std::string_view group,
                     std::int64_t elements) {
  Collectives::Row row;
  row.name = trace.strings.intern(name);
  row.dtype = trace.strings.intern("Float");
  row.in_count = elements;
  row.out_count = elements * 2;
  row.group_size = 2;
  row.group_name = trace.strings.intern(group);
  row.group_ranks = trace.strings.intern("[0, 4]");
  trace.gpu_events.collective[event] = trace.collectives.push_back(row);
}

// Two collectives of groups "0" and "7", whose ranks their arguments do not say.
Trace trace_of_cut_groups(std::int64_t size) {
  Trace trace = trace_from_text(R"(
    step      [4                ][5      ]
    call      [a][b]               [c]
    gpu/17            [N1===]
    gpu/18               [N2===]
    gpu/7                               [K1]
    where
      a = cudaLaunchKernel corr 1
      b = cudaLaunchKernel corr 2
      c = cudaLaunchKernel corr 3
      N1 = ncclDevKernel_1 corr 1
      N2 = ncclDevKernel_2 corr 2
      K1 = gemm_kernel corr 3
  )");
  name_collective(trace, gpu_event_named(trace, "ncclDevKernel_1"), "allreduce", "0", 10);
  name_collective(trace, gpu_event_named(trace, "ncclDevKernel_2"), "allreduce", "7", 20);
  for (const CollectiveId id : trace.collectives.ids().ids()) {
    trace.collectives.group_ranks[id] = trace.strings.intern("[0, 2, ..., 62]");
    trace.collectives.group_size[id] = size;
  }
  trace.info.rank = 2;
  return trace;
}

TEST(Summarize, GroupsWhoseRanksAreCutGetThemFromTheListOfGroups) {
  Trace trace = trace_of_cut_groups(3);
  trace.info.process_groups = {{"0", "default_pg", "cuda:nccl", 3, {0, 1, 2}},
                               {"7", "mesh_dp", "cuda:nccl", 3, {0, 2, 4}},
                               {"9", "mesh_tp", "cuda:nccl", 2, {2, 3}}};
  const RankSummary summary = summarize(trace);
  ASSERT_EQ(summary.groups.size(), 2U) << "a group without collectives meets nobody";
  EXPECT_EQ(summary.groups[0].description, "default_pg");
  EXPECT_EQ(summary.groups[0].ranks, (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(summary.groups[1].description, "mesh_dp");
  EXPECT_EQ(summary.groups[1].ranks, (std::vector<std::int64_t>{0, 2, 4}));
  EXPECT_EQ(summary.groups[1].size, 3);
}

TEST(Summarize, AListOfGroupsThatFitsNoCollectiveIsNotBelieved) {
  using Listed = std::vector<ProcessGroup>;
  for (const Listed& listed : {Listed{}, Listed{{"7", "of another size", "", 4, {0, 1, 2, 3}}},
                               Listed{{"7", "of others", "", 3, {0, 1, 3}}}, Listed{{"8", "other name", "", 3, {}}}}) {
    Trace trace = trace_of_cut_groups(3);
    trace.info.process_groups = listed;
    const RankSummary summary = summarize(trace);
    EXPECT_EQ(summary.groups.at(1).description, "");
    EXPECT_TRUE(summary.groups.at(1).ranks.empty());
    EXPECT_EQ(summary.groups.at(1).size, 3);
  }
  Trace trace = trace_of_cut_groups(3);
  trace.info.process_groups = {{"7", "undefined", "", 3, {0, 1, 2}}};
  EXPECT_EQ(summarize(trace).groups.at(1).description, "") << "torch's word for none";
  trace.info.process_groups = {{"7", "first", "", 2, {0, 1}}, {"7", "second", "", 3, {0, 1, 2}}};
  EXPECT_EQ(summarize(trace).groups.at(1).description, "second") << "a name given twice";
}

TEST(Summarize, AGroupOfAsManyRanksAsThereAreHasAllOfThem) {
  Trace trace = trace_of_cut_groups(3);
  trace.info.world_size = 3;
  EXPECT_EQ(summarize(trace).groups.at(0).ranks, (std::vector<std::int64_t>{0, 1, 2}));
  trace.info.world_size = 4;
  EXPECT_TRUE(summarize(trace).groups.at(0).ranks.empty());
  Trace absurd = trace_of_cut_groups(std::int64_t{1} << 40);
  absurd.info.world_size = std::int64_t{1} << 40;
  EXPECT_TRUE(summarize(absurd).groups.at(0).ranks.empty());
}

TEST(Summarize, CollectivesAreNumberedAsLaunchedAndSendsComeLast) {
  Trace trace = trace_from_text(R"(
    step      [4                        ][5      ]
    call      [a][b][c][d]                 [e]
    gpu/17            [N3===]
    gpu/18               [N2===]
    gpu/19                  [N1===]
    gpu/20                     [N4===]
    gpu/7                                     [K1]
    where
      a = cudaLaunchKernel corr 1
      b = cudaLaunchKernel corr 2
      c = cudaLaunchKernel corr 3
      d = cudaLaunchKernel corr 4
      e = cudaLaunchKernel corr 5
      N1 = ncclDevKernel_1 corr 1
      N2 = ncclDevKernel_2 corr 2
      N3 = ncclDevKernel_3 corr 3
      N4 = ncclDevKernel_4 corr 4
      K1 = gemm_kernel corr 5
  )");
  name_collective(trace, gpu_event_named(trace, "ncclDevKernel_1"), "send", "dp", 10);
  name_collective(trace, gpu_event_named(trace, "ncclDevKernel_2"), "allreduce", "dp", 20);
  name_collective(trace, gpu_event_named(trace, "ncclDevKernel_3"), "_allgather_base", "dp", 30);
  name_collective(trace, gpu_event_named(trace, "ncclDevKernel_4"), "allreduce", "tp", 40);
  trace.info.base_ns = 1'000'000'000;
  const RankSummary summary = summarize(trace);
  ASSERT_EQ(summary.collectives.size(), 4U);
  ASSERT_EQ(summary.groups.size(), 2U);
  EXPECT_EQ(summary.groups[0].name, "dp");
  EXPECT_EQ(summary.groups[1].name, "tp");
  EXPECT_EQ(summary.groups[0].ranks, (std::vector<std::int64_t>{0, 4}));
  EXPECT_EQ(summary.groups[0].size, 2);
  std::vector<std::string> order;
  for (const SummaryCollective& each : summary.collectives) {
    order.push_back(summary.groups[each.group].name + " " + summary.collective_names[each.name] + " " +
                    std::to_string(each.sequence));
  }
  EXPECT_EQ(order, (std::vector<std::string>{"dp allreduce 0", "dp _allgather_base 1", "dp send 2", "tp allreduce 0"}));
  EXPECT_EQ(summary.collectives[0].bytes, 160) << "of the larger side";
  EXPECT_EQ(summary.collectives[0].bus_bytes, 160) << "2 (n - 1) / n of two ranks";
  EXPECT_TRUE(summary.has_clock);
  EXPECT_EQ(summary.collectives[0].start_ns, 1'000'000'000 + 110'000);
}

TEST(Summarize, WithoutStepsTheWindowIsOne) {
  const RankSummary summary = summarize(trace_from_text(R"(
    call      [a][b]
    gpu/7        [K1====]
    gpu/8               [N1====]
    where
      a = cudaLaunchKernel corr 1
      b = cudaLaunchKernel corr 2
      K1 = gemm_kernel corr 1
      N1 = ncclDevKernel_AllReduce_Sum_f32_RING_LL corr 2
  )"));
  EXPECT_EQ(summary.step_source, "none");
  ASSERT_EQ(summary.steps.size(), 1U);
  expect_parts_add_up(summary);
  EXPECT_EQ(summary.steps[0].gpu_busy_ns, 150'000);
  ASSERT_EQ(summary.collectives.size(), 1U);
  EXPECT_EQ(summary.collectives[0].step, 0U);
}

// Of a graph's kernels only the launch of the whole is known, and no operator says what they are for.
TEST(Summarize, CollectivesInsideAGraphAreNumberedByTheirStartAndNamedByTheirKernel) {
  const RankSummary summary = summarize(trace_from_text(R"(
    step      [4                        ][5                   ]
    call      [G1]                       [G2]
    gpu/7        [K1=====]                  [K2=====]
    gpu/17         [N1====] [M1===]           [N2=======][M2=]
    where
      G1 = cudaGraphLaunch corr 1
      G2 = cudaGraphLaunch corr 2
      K1 = gemm corr 1
      K2 = gemm corr 2
      N1 = ncclDevKernel_AllReduce_Sum_f32_RING_LL corr 1
      M1 = ncclDevKernel_AllGather_RING_LL corr 1
      N2 = ncclDevKernel_AllReduce_Sum_f32_RING_LL corr 2
      M2 = ncclDevKernel_AllGather_RING_LL corr 2
  )"));
  ASSERT_EQ(summary.collectives.size(), 4U);
  for (std::uint32_t i = 0; i < 4; ++i) {
    const SummaryCollective& each = summary.collectives[i];
    EXPECT_EQ(each.step, i / 2);
    EXPECT_EQ(each.sequence, i % 2);
    EXPECT_EQ(summary.collective_names.at(each.name), i % 2 == 0 ? "allreduce" : "allgather");
  }
  ASSERT_EQ(summary.groups.size(), 1U);
  EXPECT_EQ(summary.groups[0].name, "");
  EXPECT_TRUE(summary.replay.refused);
}

TEST(Summarize, WhereStepscopeStoppedTheRankIsKept) {
  Trace trace = trace_from_text(R"(
    step      [1       ][2       ][3                           ][4       ]
    call      [L1]      [L2]      [L3]                          [L4]
    gpu/7       [K1]      [K2]      [K3]                          [K4]
    where
      L1 = cudaLaunchKernel corr 1
      L2 = cudaLaunchKernel corr 2
      L3 = cudaLaunchKernel corr 3
      L4 = cudaLaunchKernel corr 4
      K1 = k corr 1
      K2 = k corr 2
      K3 = k corr 3
      K4 = k corr 4
  )");
  OtherEvents::Row row;
  row.category = trace.strings.intern("overhead");
  row.name = trace.strings.intern("Stepscope wrote a memory snapshot");
  row.thread_key = trace.strings.intern("main");
  row.start_ns = 250'000;  // the GPU works until 260
  row.end_ns = 480'000;
  row.phase = 'X';
  trace.other_events.push_back(row);
  const RankSummary summary = summarize(trace);
  EXPECT_EQ(summary.steps_left_out, std::vector<std::int64_t>{3});
  ASSERT_EQ(summary.own_stops.size(), 1U);
  EXPECT_EQ(summary.own_stops[0].start_ns, 260'000);
  EXPECT_EQ(summary.own_stops[0].length_ns, 220'000);
}

// As a span lost to damage leaves it, or several cycles in one file.
TEST(Summarize, StepsThatTheRecordingSkipsAreKept) {
  const RankSummary summary = summarize(trace_from_text(R"(
    step      [4    ]       [6    ][7    ]              [12   ]
    call      [L1]    [L2]  [L3]                        [L4]
    gpu/7       [K1]    [K2]  [K3]                        [K4]
    where
      L1 = cudaLaunchKernel corr 1
      L2 = cudaLaunchKernel corr 2
      L3 = cudaLaunchKernel corr 3
      K1 = gemm_kernel corr 1
      K2 = gemm_kernel corr 2
      K3 = gemm_kernel corr 3
      L4 = cudaLaunchKernel corr 4
      K4 = gemm_kernel corr 4
  )"));
  EXPECT_EQ(summary.missing_steps, (std::vector<MissingSteps>{{5, 5}, {8, 11}}));
  EXPECT_TRUE(summary.steps_left_out.empty());
  expect_parts_add_up(summary);
  std::int64_t count = 0;
  for (const SummaryWork& row : summary.work) count += row.count;
  EXPECT_EQ(count, 3) << "not the one in the gap";
}

TEST(Summarize, TheFilesNameGivesTheRankThatTheFileDoesNot) {
  Trace trace = trace_from_text("gpu/7     [K1]");
  trace.info.source = "run/rank_3.json";
  EXPECT_EQ(summarize(trace).rank, 3);
  EXPECT_TRUE(summarize(trace).rank_is_from_name);
  trace.info.rank = 5;
  EXPECT_EQ(summarize(trace).rank, 5);
  EXPECT_FALSE(summarize(trace).rank_is_from_name);
}

TEST(Summarize, TimesThatCannotBeGiveNoSteps) {
  const RankSummary summary = summarize(trace_from_text(R"(
    gpu/7     [K1][K2]
    where
      K1 = gemm_kernel @ -4000000000000000000..-3999999999999999000
      K2 = gemm_kernel @ 3000000000000000000..4000000000000000000
  )"));
  EXPECT_TRUE(summary.steps.empty());
  EXPECT_TRUE(summary.work.empty());
  EXPECT_TRUE(summary.headline_withheld.has_value());
}

// Random streams of overlapping work in random steps, with exact times.
std::string random_picture(std::mt19937& random) {
  const auto number = [&](int least, int most) { return std::uniform_int_distribution(least, most)(random); };
  constexpr const char* kNames[] = {"gemm_kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "Memcpy_HtoD",
                                    "Memset_Device", "softmax_kernel"};
  std::string rows, names;
  const int steps = number(0, 4);
  int at = 0;
  for (int i = 0; i < steps; ++i) {
    const std::string name = std::to_string(i + 4);
    rows += "step      [" + name + "]\n";
    const int end = at + number(0, 3) + number(200, 900);
    names += name + " = " + name + " @ " + std::to_string(at) + ".." + std::to_string(end) + "\n";
    at = end + number(0, 3) * 40;
  }
  const int events = number(1, 40);
  for (int i = 0; i < events; ++i) {
    const std::string call = "c" + std::to_string(i), event = "k" + std::to_string(i);
    const int launched = number(0, std::max(at, 300)), start = launched + number(-5, 400);
    rows += "call      [" + call + "]\ngpu/" + std::to_string(number(1, 3)) + "     [" + event + "]\n";
    names += call + " = cudaLaunchKernel corr " + std::to_string(i) + " @ " + std::to_string(launched) + ".." +
             std::to_string(launched + 5) + "\n" + event + " = " + kNames[number(0, 4)] + " corr " + std::to_string(i) +
             " @ " + std::to_string(start) + ".." + std::to_string(start + number(0, 300)) + "\n";
  }
  return rows + "where\n" + names;
}

TEST(Summarize, PartsAddUpOnRandomTraces) {
  std::mt19937 random(20261130);
  for (int round = 0; round < 500; ++round) {
    const std::string picture = random_picture(random);
    const Trace trace = trace_from_text(picture);
    const Facts facts = compute_facts(trace, {});
    const RankSummary summary = summarize_trace(trace, facts, {}, "");
    expect_parts_add_up(summary);
    for (std::size_t i = 0; i < facts.steps.steps.size(); ++i) {
      EXPECT_EQ(summary.steps[i].duration_ns, facts.steps.steps[i].duration_ns());
    }
    if (HasFailure()) FAIL() << picture;
  }
}

// Two ranks without a GPU: the second computes for longer, and the first waits for it in gloo.
RankSummary host_rank(std::int64_t rank, std::string_view picture) {
  Trace trace = trace_from_text(picture, {1'000'000});
  trace.info.rank = rank;
  trace.info.world_size = 2;
  trace.info.base_ns = 1'700'000'000'000'000'000;
  return summarize(trace);
}
constexpr std::string_view kWaitingRank = R"(
    step      [1                           ][2                           ]
    op         [mm=]                 [sgd==] [mm=]                 [sgd==]
    span@gloo       [R==============]             [S==============]
    where
      R = gloo:all_reduce
      S = gloo:all_reduce
  )";
constexpr std::string_view kLateRank = R"(
    step      [1                           ][2                           ]
    op         [mm==============]    [sgd==] [mm==============]    [sgd==]
    span@gloo                    [R=]                          [S=]
    where
      R = gloo:all_reduce
      S = gloo:all_reduce
  )";

TEST(Summarize, CollectivesOfGlooAreThoseOfTheHost) {
  const RankSummary summary = host_rank(0, kWaitingRank);
  EXPECT_EQ(summary.collective_names, (std::vector<std::string>{"allreduce"}));
  ASSERT_EQ(summary.groups.size(), 1U);
  EXPECT_EQ(summary.groups[0].ranks, (std::vector<std::int64_t>{0, 1}));
  ASSERT_EQ(summary.collectives.size(), 2U);
  EXPECT_EQ(summary.collectives[1].step, 1U);
  EXPECT_EQ(summary.collectives[1].sequence, 0U);
  EXPECT_EQ(summary.collectives[1].exposed_ns, 17'000'000);
  EXPECT_EQ(summary.steps[0].exposed_communication_ns, 17'000'000);
  EXPECT_EQ(summary.steps[0].gpu_busy_ns, 0);
}

TEST(Summarize, ALateRankWithoutAGpuIsTheStraggler) {
  const FleetAnswer answer = judge_fleet({{host_rank(0, kWaitingRank), host_rank(1, kLateRank)}, {}});
  EXPECT_EQ(answer.facts.stragglers, (std::vector<std::size_t>{1}));
  EXPECT_EQ(answer.facts.ranks[0].wait_ns, 13'000'000);
  EXPECT_EQ(answer.facts.ranks[1].late_ns, 13'000'000);
  ASSERT_FALSE(answer.findings.empty());
  EXPECT_EQ(answer.findings.front().finding.id, "straggler");
}

// Nothing says which group gloo's rows are of.
TEST(Summarize, OfSeveralGroupsNoCollectiveOfGlooIsMatched) {
  Trace trace = trace_from_text(kWaitingRank, {1'000'000});
  trace.info.rank = 0;
  trace.info.world_size = 4;
  trace.info.process_groups = {{"0", "default_pg", "gloo", 4, {0, 1, 2, 3}}, {"1", "pair", "gloo", 2, {0, 1}}};
  const RankSummary summary = summarize(trace);
  EXPECT_TRUE(summary.collectives.empty());
  EXPECT_EQ(summary.steps[0].exposed_communication_ns, 17'000'000) << "but it waits all the same";
}

}  // namespace
}  // namespace stepscope
