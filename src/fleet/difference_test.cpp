// Parts that sum, mirrors that mirror, verdicts on invented runs whose truth is known.
#include "fleet/difference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "fleet/difference_doubts.h"
#include "fleet/made_summary_test_support.h"

namespace stepscope {
namespace {

RunDifference difference_of(const RunSummary& before, const RunSummary& after) {
  auto difference = compute_difference(before, after);
  EXPECT_TRUE(difference) << (difference ? "" : difference.error().to_string());
  return difference ? std::move(*difference) : RunDifference{};
}

RunDifference difference_of(const RankSummary& before, const RankSummary& after) {
  return difference_of(RunSummary{{before}, {}}, RunSummary{{after}, {}});
}

void expect_sums(const RankDifference& rank) {
  PartChange classes, causes, work;
  const auto add = [](PartChange& sum, const PartChange& part) {
    sum.before_ns += part.before_ns;
    sum.after_ns += part.after_ns;
  };
  for (const ClassDifference& row : rank.classes) add(classes, row.busy);
  for (const IdleDifference& row : rank.causes) add(causes, row.idle);
  for (const WorkDifference& row : rank.work) {
    add(work, row.busy);
    EXPECT_EQ(row.by_calls_ns + row.by_time_ns, row.busy.difference_ns());
  }
  for (const auto& [sum, whole] : {std::pair{classes, rank.gpu_busy}, {work, rank.gpu_busy}, {causes, rank.idle}}) {
    EXPECT_EQ(sum.before_ns, whole.before_ns);
    EXPECT_EQ(sum.after_ns, whole.after_ns);
  }
  EXPECT_EQ(rank.gpu_busy.before_ns + rank.idle.before_ns, rank.mean_step.before_ns);
  EXPECT_EQ(rank.gpu_busy.after_ns + rank.idle.after_ns, rank.mean_step.after_ns);
}

const WorkDifference* find_work(const RankDifference& rank, const std::string& operator_name) {
  for (const WorkDifference& row : rank.work) {
    if (row.before.operator_name == operator_name || row.after.operator_name == operator_name) return &row;
  }
  return nullptr;
}

const PartChange* find_class(const RankDifference& rank, KernelClass kernel_class) {
  for (const ClassDifference& row : rank.classes) {
    if (row.kernel_class == kernel_class) return &row.busy;
  }
  return nullptr;
}

RankSummary random_rank(Random& random) {
  const std::size_t step_count = 1 + random.below(9);
  std::vector<SummaryWork> work;
  for (std::uint32_t i = random.below(20); i > 0; --i) {
    const auto name = [&](const char* stem, std::uint32_t kinds) { return stem + std::to_string(random.below(kinds)); };
    SummaryWork row = made_work(name("op", 4), random.below(8) == 0 ? "" : name("kernel", 5),
                                static_cast<KernelClass>(random.below(kKernelClassCount)),
                                scattered(random, step_count, 1e5 * random.below(100), 0.3), 1 + random.below(20));
    row.shapes = name("[", 3);
    row.place = name("place", 2);
    work.push_back(std::move(row));
  }
  std::map<HostLabel, std::vector<DurationNs>> idle;
  for (int i = 0; i < 5; ++i) {
    idle[static_cast<HostLabel>(random.below(kHostLabelCount))] =
        scattered(random, step_count, 1e4 * random.below(1000), 0.5);
  }
  return made_rank(std::move(work), idle);
}

RunSummary random_side(Random& random) {
  RunSummary side;
  const std::int64_t rank_count = 1 + random.below(3);
  for (std::int64_t rank = 0; rank < rank_count; ++rank) {
    for (std::uint32_t run = 1 + random.below(3); run > 0; --run) {
      side.ranks.push_back(random_rank(random));
      side.ranks.back().rank = rank;
    }
  }
  return side;
}

TEST(Difference, PartsSumToTheStepExactly) {
  Random random(11);
  for (int i = 0; i < 300; ++i) {
    const RunDifference difference = difference_of(random_side(random), random_side(random));
    expect_sums(difference.typical_rank);
    expect_sums(difference.largest_rank);
  }
}

using Row = std::tuple<WorkMatch, WorkIdentity, WorkIdentity, DurationNs, DurationNs, DurationNs, DurationNs, bool>;

std::vector<Row> rows_of(const RankDifference& rank, bool is_mirrored) {
  std::vector<Row> rows;
  for (const WorkDifference& row : rank.work) {
    WorkMatch match = row.match;
    if (is_mirrored && match == WorkMatch::kNew)
      match = WorkMatch::kGone;
    else if (is_mirrored && match == WorkMatch::kGone)
      match = WorkMatch::kNew;
    rows.push_back(is_mirrored ? Row{match, row.after, row.before, row.busy.after_ns, row.busy.before_ns,
                                     -row.by_calls_ns, -row.by_time_ns, row.busy.is_told}
                               : Row{match, row.before, row.after, row.busy.before_ns, row.busy.after_ns,
                                     row.by_calls_ns, row.by_time_ns, row.busy.is_told});
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

TEST(Difference, SwappingTheSidesMirrorsIt) {
  Random random(12);
  for (int i = 0; i < 200; ++i) {
    const RunSummary first = random_side(random), second = random_side(random);
    const RunDifference there = difference_of(first, second), back = difference_of(second, first);
    EXPECT_EQ(there.largest, back.largest);
    const RankDifference &one = there.largest_rank, &other = back.largest_rank;
    EXPECT_EQ(one.mean_step.difference_ns(), -other.mean_step.difference_ns());
    EXPECT_EQ(one.mean_step.is_told, other.mean_step.is_told);
    EXPECT_EQ(rows_of(one, false), rows_of(other, true));
    EXPECT_EQ(there.only_before, back.only_after);
  }
}

TEST(Difference, TwoRecordingsOfOneProgramShowNone) {
  int told = 0, verdicts = 0;
  for (std::uint64_t i = 0; i < 50; ++i) {
    const RunDifference difference =
        difference_of(made_run({.seed = 2 * i + 1}), made_run({.seed = 2 * i + 2, .step_count = 5 + i % 4}));
    verdicts += difference.typical_rank.step.verdict == CompareVerdict::kNoDifference ? 0 : 1;
    for (const WorkDifference& row : difference.typical_rank.work) told += row.busy.is_told ? 1 : 0;
  }
  EXPECT_LE(verdicts, 3);
  EXPECT_LE(told, 3);
}

TEST(Difference, ThreePercentOfTheKernelsIsTold) {
  for (const std::size_t step_count : {3U, 8U, 60U}) {
    const RunDifference difference = difference_of(
        made_run({.seed = 5, .step_count = step_count}),
        made_run({.seed = 6, .step_count = step_count, .matmul_factor = 1.04}));  // of 30 ms in 40: 3 % of the step
    const RankDifference& rank = difference.typical_rank;
    EXPECT_EQ(rank.step.verdict, CompareVerdict::kSlower) << step_count;
    EXPECT_NEAR(*rank.step.ratio, 1.03, 0.01);
    EXPECT_TRUE(find_class(rank, KernelClass::kMatmul)->is_told);
    EXPECT_FALSE(find_class(rank, KernelClass::kElementwise)->is_told);
    EXPECT_TRUE(find_work(rank, "aten::mm")->busy.is_told);
    EXPECT_EQ(find_work(rank, "aten::mm")->by_calls_ns, 0);
    EXPECT_NE(explain_in_one_line(difference).find("matmul on the GPU +1."), std::string::npos)
        << explain_in_one_line(difference);
  }
}

TEST(Difference, TwoStepsAreTooFew) {
  const RunDifference difference = difference_of(made_run({.step_count = 2}), made_run({.step_count = 8}));
  EXPECT_EQ(difference.typical_rank.step.verdict, CompareVerdict::kTooFew);
}

TEST(Difference, SeveralRunsShowTheirOwnNoise) {
  RunSummary before, after;
  for (std::uint64_t i = 0; i < 6; ++i) {
    before.ranks.push_back(made_run({.seed = i, .matmul_factor = 1 + 0.03 * static_cast<double>(i % 3)}));
    after.ranks.push_back(made_run({.seed = 50 + i, .matmul_factor = 1.01 + 0.03 * static_cast<double>(i % 3)}));
  }
  const RunDifference noisy = difference_of(before, after);
  EXPECT_EQ(noisy.typical_rank.step.unit, CompareUnit::kRuns);
  EXPECT_EQ(noisy.typical_rank.step.verdict, CompareVerdict::kNoDifference);
  EXPECT_FALSE(noisy.typical_rank.between_runs_ratio);
  EXPECT_FALSE(find_class(noisy.typical_rank, KernelClass::kMatmul)->is_told);
}

// Six windows of one process, each of 8 steps.
RunSummary windows_of_a_process(std::uint64_t seed, double matmul_factor, const char* name) {
  RunSummary side;
  for (std::int64_t i = 0; i < 6; ++i) {
    RankSummary window = made_run({.seed = seed + static_cast<std::uint64_t>(i), .matmul_factor = matmul_factor});
    window.source = std::string(name).append(std::to_string(i));
    window.process_id = 7;
    window.first_correlation = 1000 * i;
    window.last_correlation = 1000 * i + 999;
    window.operators = {{"aten::mm", 80, 8'000'000 + 80'000 * i}};
    side.ranks.push_back(std::move(window));
  }
  return side;
}

TEST(Difference, WindowsOfOneProcessAreOneRun) {
  // 0.5 % of GPU work lies between any two processes, however alike the windows of each are.
  RunSummary before = windows_of_a_process(1, 1, "a"), after = windows_of_a_process(50, 1.004, "b");
  // What only a later window has stands in its steps.
  after.ranks[4].work.push_back(
      made_work("aten::late", "late", KernelClass::kElementwise, std::vector<DurationNs>(8, 1'000'000)));
  for (SummaryStep& step : after.ranks[4].steps) {
    step.duration_ns += 1'000'000;
    step.gpu_busy_ns += 1'000'000;
  }
  const RunDifference difference = difference_of(before, after);
  const RankDifference& rank = difference.typical_rank;
  EXPECT_EQ(rank.before.sources, std::vector<std::string>{"a0"});
  EXPECT_EQ(rank.before.step_count, 48);
  EXPECT_NE(rank.step.unit, CompareUnit::kRuns);
  EXPECT_EQ(rank.step.verdict, CompareVerdict::kNoDifference);
  EXPECT_TRUE(rank.between_runs_ratio);
  EXPECT_FALSE(find_class(rank, KernelClass::kMatmul)->is_told);
  expect_sums(rank);
  EXPECT_NEAR(static_cast<double>(find_work(rank, "aten::late")->busy.after_ns), 1e6 / 6, 1);
  EXPECT_NEAR(find_work(rank, "aten::late")->after_call_count, 10.0 / 6, 1e-9);
  ASSERT_EQ(rank.operators.size(), 1U);
  EXPECT_EQ(rank.operators[0].before_call_count, 10);
  EXPECT_EQ(rank.operators[0].self_cpu.before_ns, 1'025'000);
  EXPECT_FALSE(rank.operators[0].self_cpu.is_told);
  EXPECT_EQ(difference.doubts,
            (std::vector<std::string>{"A: a1 and 4 others are later windows of processes that are there already, and "
                                      "no runs of their own",
                                      "B: b1 and 4 others are later windows of processes that are there already, and "
                                      "no runs of their own"}));
  EXPECT_FALSE(difference.is_partial);
  EXPECT_TRUE(difference_of(before, before).is_same_recording);

  for (RunSummary* side : {&before, &after}) {
    for (RankSummary& run : side->ranks) run.process_id.reset();
  }
  const RunDifference runs = difference_of(before, after);
  EXPECT_EQ(runs.typical_rank.step.unit, CompareUnit::kRuns) << "the same recordings of six processes a side";
  EXPECT_TRUE(find_class(runs.typical_rank, KernelClass::kMatmul)->is_told);
}

TEST(Difference, ARunHasAFindingThatHalfOfItsWindowsHave) {
  RunSummary before = windows_of_a_process(1, 1, "a"), after = windows_of_a_process(50, 1, "b");
  SummaryFinding finding;
  finding.id = "data-loader-stall";
  for (const std::size_t at : {0U, 2U}) after.ranks[at].findings = {finding};
  EXPECT_TRUE(difference_of(before, after).typical_rank.findings.empty());
  after.ranks[5].findings = {finding};
  EXPECT_EQ(difference_of(before, after).typical_rank.findings.size(), 1U);
}

TEST(Difference, CopiesOfARecordingCountOnce) {
  RankSummary first = made_run({.seed = 1}), other = made_run({.seed = 2});
  RunSummary before, after;
  for (const char* name : {"a.json", "copy.json", "again.json"}) {
    first.source = other.source = name;
    before.ranks.push_back(first);
    after.ranks.push_back(other);
  }
  const RunDifference copies = difference_of(before, after), single = difference_of(first, other);
  EXPECT_EQ(copies.typical_rank.before.sources.size(), 1U);
  EXPECT_EQ(copies.typical_rank.step.verdict, single.typical_rank.step.verdict);
  EXPECT_EQ(copies.typical_rank.step.base_count, single.typical_rank.step.base_count);
  ASSERT_EQ(copies.doubts.size(), 2U);
  EXPECT_EQ(copies.doubts[0], "A holds copies of one recording, which count once: copy.json is a.json (and 1 more)");
  EXPECT_FALSE(copies.is_partial);
  EXPECT_FALSE(copies.is_same_recording);
  EXPECT_TRUE(single.doubts.empty());
  EXPECT_TRUE(difference_of(before, before).is_same_recording);
}

TEST(Difference, RanksOfAnotherRunAreLeftOutAndSaid) {
  RunSummary before, after;
  for (const std::int64_t rank : {0, 1, 2}) {
    before.ranks.push_back(made_run({.seed = static_cast<std::uint64_t>(rank)}));
    before.ranks.back().rank = rank;
    before.ranks.back().world_size = 4;
    after.ranks.push_back(before.ranks.back());
  }
  RankSummary foreign = made_run({.seed = 9});
  foreign.rank = 3;
  foreign.world_size = 2;
  after.ranks.push_back(foreign);
  const RunDifference mixed = difference_of(before, after);
  ASSERT_EQ(mixed.doubts.size(), 1U);
  EXPECT_EQ(mixed.doubts[0], "B holds several runs: world sizes 2 (1 file), 4 (3 files); only that of 4 is compared");
  EXPECT_EQ(mixed.ranks.size(), 3U);
  EXPECT_TRUE(mixed.only_after.empty());
  EXPECT_TRUE(mixed.is_partial);
}

TEST(Difference, AnotherLibraryVersionRenamesKernels) {
  const RunDifference difference =
      difference_of(made_run({.seed = 1}), made_run({.seed = 2, .matmul_kernel = "nvjet_tst_256x128"}));
  const WorkDifference* row = find_work(difference.typical_rank, "aten::mm");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->match, WorkMatch::kRenamed);
  EXPECT_EQ(row->before.kernel, "gemm_128x128");
  EXPECT_EQ(row->after.kernel, "nvjet_tst_256x128");
  EXPECT_FALSE(row->busy.is_told);
  expect_sums(difference.typical_rank);
}

TEST(Difference, CallsAndTheirTimeArePartedExactly) {
  RankSummary before = made_rank({made_work("aten::mm", "gemm", KernelClass::kMatmul, {1000, 1000, 1000}, 10)}, {});
  RankSummary after = made_rank({made_work("aten::mm", "gemm", KernelClass::kMatmul, {2400, 2400, 2400}, 20)}, {});
  const RankDifference rank = difference_of(before, after).typical_rank;
  // 10 calls of 100 ns, then 20 of 120: 10 more at 110, and 20 ns longer at 15 calls.
  EXPECT_EQ(rank.work.front().by_calls_ns, 1100);
  EXPECT_EQ(rank.work.front().by_time_ns, 300);
}

TEST(Difference, ACauseOfIdleTimeIsNamed) {
  const RunDifference difference = difference_of(made_run({.seed = 1}), made_run({.seed = 2, .loader_ns = 50e6}));
  const RankDifference& rank = difference.typical_rank;
  EXPECT_EQ(rank.causes.front().cause, HostLabel::kDataLoader);
  EXPECT_TRUE(rank.causes.front().idle.is_told);
  EXPECT_NE(explain_in_one_line(difference).find("data loader"), std::string::npos);
}

// Every fifth step of the one side stalls: its mean is longer, its median is shorter, and of the median is the verdict.
TEST(Difference, TheLineExplainsTheMedianThatTheVerdictIsOf) {
  std::vector<DurationNs> stalls, waits(30, 20'000'000);
  for (int i = 0; i < 30; ++i) stalls.push_back(i % 5 == 0 ? 150'000'000 : 0);
  const std::vector<DurationNs> none(30, 0);
  const auto side = [&](const std::vector<DurationNs>& loader, const std::vector<DurationNs>& python) {
    Random random(3);
    return made_rank({made_work("aten::mm", "gemm", KernelClass::kMatmul, scattered(random, 30, 38e6, 0.001))},
                     {{HostLabel::kDataLoader, loader}, {HostLabel::kPython, python}});
  };
  const RunDifference difference = difference_of(side(stalls, none), side(none, waits));
  EXPECT_EQ(difference.typical_rank.step.verdict, CompareVerdict::kSlower);
  EXPECT_LT(difference.typical_rank.mean_step.difference_ns(), 0);
  EXPECT_EQ(explain_in_one_line(difference), "the GPU waits +20.0 ms for: Python");
  EXPECT_EQ(explain_slowdown(difference), "mostly: the GPU waits +20.0 ms for: Python");
}

TEST(Difference, APartOfLessThanHalfIsOneAmongOthers) {
  Random random(4);
  const auto side = [&](double factor) {
    const auto work = [&](const char* name, KernelClass kernel_class) {
      return made_work(name, name, kernel_class, scattered(random, 30, 10e6 * factor, 0.001));
    };
    return made_rank({work("mm", KernelClass::kMatmul), work("add", KernelClass::kElementwise),
                      work("norm", KernelClass::kNormalisation)},
                     {});
  };
  const std::string line = explain_slowdown(difference_of(side(1), side(1.1)));
  EXPECT_TRUE(line.starts_with("among others: ")) << line;
}

TEST(Difference, ShapesOfOneSideOnlyAreLeftOut) {
  RankSummary plain = made_run({.seed = 2});
  plain.has_shapes = false;
  for (SummaryWork& row : plain.work) row.shapes.clear();
  const RunDifference difference = difference_of(made_run({.seed = 1}), plain);
  for (const WorkDifference& row : difference.typical_rank.work) EXPECT_EQ(row.match, WorkMatch::kSame);
  ASSERT_EQ(difference.doubts.size(), 1U);
  EXPECT_NE(difference.doubts.front().find("shapes are recorded in A only"), std::string::npos);
}

TEST(Difference, OtherOptionsOfTheProfilerAreADoubt) {
  const auto doubts_of = [](std::optional<SummaryOptions> first, std::optional<SummaryOptions> second) {
    RankSummary before = made_run({.seed = 1}), after = before;
    before.options = first;
    after.options = second;
    return find_doubts({&before}, {&after});
  };
  const SummaryOptions plain, heavy{.memory = true, .stacks = true}, flops{.flops = true};
  EXPECT_EQ(doubts_of(plain, heavy),
            std::vector<std::string>{"recorded in B only, at the host's cost: memory, stacks"});
  EXPECT_EQ(doubts_of(heavy, flops), (std::vector<std::string>{"recorded in A only, at the host's cost: memory, stacks",
                                                               "recorded in B only, at the host's cost: FLOPs"}));
  EXPECT_TRUE(doubts_of(heavy, heavy).empty());
  EXPECT_TRUE(doubts_of(std::nullopt, heavy).empty()) << "a summary of version 1 does not say";
}

TEST(Difference, RanksAreMatchedAndTheOneThatChangedExplains) {
  // Rank 1 got slow in Python; rank 0 waits for it in its collective. Both take equally long.
  const auto make = [](std::int64_t rank, DurationNs python, DurationNs communication) {
    RankSummary made = made_rank(
        {made_work("aten::mm", "gemm", KernelClass::kMatmul, {30'000'000, 30'010'000, 30'005'000}),
         made_work("", "ncclDevKernel", KernelClass::kCommunication, std::vector<DurationNs>(3, communication))},
        {{HostLabel::kPython, std::vector<DurationNs>(3, python)}});
    made.rank = rank;
    made.world_size = 2;
    return made;
  };
  const RunSummary before = {{make(0, 500'000, 2'000'000), make(1, 500'000, 2'000'000), make(2, 500'000, 2'000'000)},
                             {}};
  const RunSummary after = {{make(0, 500'000, 22'000'000), make(1, 20'500'000, 2'000'000)}, {}};
  const RunDifference difference = difference_of(before, after);
  ASSERT_EQ(difference.ranks.size(), 2U);
  EXPECT_EQ(difference.explaining().rank, 1);
  // Rank 0 was busy longer, waiting; it did not work longer.
  EXPECT_EQ(difference.typical_rank.rank, 0);
  EXPECT_TRUE(difference.typical_rank.gpu_busy.is_told);
  EXPECT_FALSE(difference.typical_rank.gpu_work.is_told);
  EXPECT_EQ(difference.only_before, std::vector<std::int64_t>{2});
  EXPECT_TRUE(difference.is_partial);
  EXPECT_EQ(explain_in_one_line(difference), "rank 1: the GPU waits +20.0 ms for: Python");
}

TEST(Difference, OneRankASideIsComparedWhateverItsNumber) {
  RankSummary before = made_run({.seed = 1}), after = made_run({.seed = 2});
  before.rank = 0;
  after.rank = 1;
  EXPECT_EQ(difference_of(before, after).ranks.size(), 1U);
  EXPECT_FALSE(difference_of(before, after).typical_rank.rank);
}

TEST(Difference, FindingsComeAndGo) {
  RankSummary before = made_run({.seed = 1}), after = made_run({.seed = 2});
  before.findings = {{"host-overhead", "fault", Estimate{1, 2, 3}, 0.1, "host"},
                     {"blocking-copy", "note", Estimate{1, 1, 1}, 0.01, "copies"}};
  after.findings = {{"data-loader-stall", "fault", Estimate{7, 8, 9}, 0.2, "loader"},
                    {"blocking-copy", "note", Estimate{2, 2, 2}, 0.01, "copies"}};
  const std::vector<FindingDifference> findings = difference_of(before, after).typical_rank.findings;
  ASSERT_EQ(findings.size(), 3U);
  EXPECT_EQ(findings[0].id, "data-loader-stall");
  EXPECT_EQ(findings[0].change, FindingChange::kAppeared);
  EXPECT_EQ(findings[1].change, FindingChange::kGone);
  EXPECT_EQ(findings[2].change, FindingChange::kStayed);
}

TEST(Difference, OtherMachinesAndOtherWorkAreDoubts) {
  RankSummary before = made_run({.seed = 1}), after = made_run({.seed = 2});
  before.device_name = "NVIDIA A100";
  before.flops_per_step = 1e12;
  after.flops_per_step = 2e12;
  after.lost_count = 3;
  const RunDifference difference = difference_of(before, after);
  ASSERT_EQ(difference.doubts.size(), 3U);
  EXPECT_EQ(difference.doubts[0], "B (made.json): 3 events were lost");
  EXPECT_EQ(difference.doubts[1], "other GPUs: A on NVIDIA A100, B NVIDIA H200");
  EXPECT_EQ(difference.doubts[2], "other work: the operators of B compute 2 times the FLOPs of A");
  EXPECT_TRUE(difference.is_partial);
}

TEST(Difference, WithoutGpuWorkOnlyTheStepAndOperatorsAreCompared) {
  const auto host_only = [](DurationNs step_ns) {
    RankSummary rank;
    rank.is_host_only = true;
    for (const DurationNs more : {0, 100, 200}) {
      rank.steps.emplace_back();
      rank.steps.back().duration_ns = rank.steps.back().host_span_ns = step_ns + more;
    }
    rank.operators = {{"aten::mm", 30, step_ns}};
    return rank;
  };
  const RankDifference rank = difference_of(host_only(1'000'000), host_only(9'000'000)).typical_rank;
  EXPECT_TRUE(rank.is_host_only);
  EXPECT_EQ(rank.mean_step.difference_ns(), 8'000'000);
  EXPECT_EQ(rank.step.verdict, CompareVerdict::kSlower);
  EXPECT_TRUE(rank.work.empty());
  ASSERT_EQ(rank.operators.size(), 1U);
  EXPECT_TRUE(rank.operators.front().self_cpu.is_told);
  EXPECT_FALSE(compute_difference({{host_only(1000)}, {}}, {{made_run({})}, {}}));
}

TEST(Difference, CountsGoOverAllStepsAlsoThoseThatAreNotKept) {
  RankSummary before = made_run({.seed = 1, .step_count = 4}), after = before;
  after.source = "other.json";
  after.steps_not_kept_count = 4;
  for (SummaryWork& row : after.work) row.count *= 2;
  const RunDifference difference = difference_of(before, after);
  for (const WorkDifference& row : difference.typical_rank.work) {
    EXPECT_EQ(row.before_call_count, row.after_call_count);
    EXPECT_EQ(row.by_calls_ns, 0);
  }
  EXPECT_TRUE(difference.is_partial);
}

TEST(Difference, WhatCannotBeComparedIsAnError) {
  const RankSummary good = made_run({});
  EXPECT_FALSE(compute_difference({}, {{good}, {}}));
  EXPECT_FALSE(compute_difference({{RankSummary{}}, {}}, {{good}, {}}));
  RankSummary torn = good;
  torn.steps.front().gpu_busy_ns += 1;
  EXPECT_FALSE(compute_difference({{torn}, {}}, {{good}, {}}));
  RankSummary huge = good;
  huge.steps.front().duration_ns = std::numeric_limits<DurationNs>::max();
  EXPECT_FALSE(compute_difference({{huge}, {}}, {{good}, {}}));
}

}  // namespace
}  // namespace stepscope
