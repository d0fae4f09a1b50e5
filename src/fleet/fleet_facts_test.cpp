// Who is late, through several process groups, with ranks missing and clocks apart; drawn.
#include "fleet/fleet_facts.h"

#include <gtest/gtest.h>

#include "fleet/fleet_findings.h"
#include "fleet/gate.h"
#include "support/made_fleet.h"

namespace stepscope {
namespace {

constexpr DurationNs kMs = MadeFleet::kMs;

FleetFacts facts_of(std::string_view picture) { return compute_fleet_facts(MadeFleet(picture).run); }

constexpr std::string_view kLateRank = R"(
  rank 0  |ccccA---==cc|ccccA---==cc|ccccA---==cc|
  rank 1  |cdddcccA==cc|cdddcccA==cc|cdddcccA==cc|
  rank 2  |cccccA--==cc|cccccA--==cc|cccccA--==cc|
  A = allreduce of dp on 0 1 2, 100 MB
)";

TEST(FleetFacts, the_late_rank_and_what_it_did_meanwhile) {
  const FleetFacts facts = facts_of(kLateRank);
  EXPECT_EQ(facts.matched_count, 3);
  EXPECT_EQ(facts.stragglers, (std::vector<std::size_t>{1}));
  EXPECT_EQ(facts.ranks[1].late_ns, 2 * kMs);  // rank 2 is typical: it waits 2, rank 1 none
  EXPECT_EQ(facts.ranks[0].wait_ns, 3 * kMs);
  EXPECT_EQ(facts.ranks[0].own_ns, 9 * kMs);
  ASSERT_TRUE(facts.straggler_saving);
  EXPECT_EQ(facts.straggler_saving->mid_ns, 2 * kMs);
  ASSERT_EQ(facts.steps.size(), 3U);
  ASSERT_TRUE(facts.steps[0].widest);
  EXPECT_EQ(facts.steps[0].widest->spread_ns, 3 * kMs);
  EXPECT_EQ(facts.steps[0].widest->transfer_ns, 3 * kMs);
  EXPECT_EQ(facts.steps[0].widest->last, 1U);
  EXPECT_EQ(facts.ranks[1].parts_ns[part_of(HostLabel::kDataLoader)], 3 * kMs);
  EXPECT_EQ(facts.typical_parts_ns[part_of(HostLabel::kDataLoader)], 0);
  ASSERT_EQ(facts.bandwidths.size(), 1U);
  EXPECT_DOUBLE_EQ(facts.bandwidths[0].best_bytes_per_s, 100e6 / 3e-3);
}

// As collectives inside CUDA graphs and those of old profilers are: their kernels name no process group.
TEST(FleetFacts, collectives_without_a_group_are_matched_by_order) {
  MadeFleet made(kLateRank);
  for (RankSummary& rank : made.run.ranks) rank.groups = {SummaryGroup{}};
  const FleetFacts facts = compute_fleet_facts(made.run);
  EXPECT_EQ(facts.matched_count, 3);
  EXPECT_EQ(facts.stragglers, (std::vector<std::size_t>{1}));
  ASSERT_EQ(facts.groups.size(), 1U);
  EXPECT_EQ(facts.groups[0].meeting_count, 3);
}

TEST(FleetFacts, parts_add_up_to_own_time) {
  const FleetFacts facts = facts_of(kLateRank);
  for (const FleetRank& rank : facts.ranks) {
    DurationNs sum = 0;
    for (const DurationNs part : rank.parts_ns) sum += part;
    EXPECT_EQ(sum, *rank.own_ns) << rank.label;
  }
}

TEST(FleetFacts, each_step_of_each_rank_on_one_clock) {
  MadeFleet made(kLateRank);
  made.shift(1, 40 * kMs);
  const FleetFacts facts = compute_fleet_facts(made.run);
  ASSERT_EQ(facts.rank_steps.size(), 9U);  // by step, then by rank
  for (std::size_t i = 0; i < facts.rank_steps.size(); ++i) {
    const FleetRankStep& step = facts.rank_steps[i];
    EXPECT_EQ(step.row, i % 3);
    EXPECT_EQ(step.number, static_cast<std::int64_t>(4 + i / 3));
    EXPECT_EQ(step.start_ns, facts.rank_steps[0].start_ns + static_cast<DurationNs>(i / 3) * 12 * kMs);
    EXPECT_EQ(step.duration_ns, 12 * kMs);
    EXPECT_EQ(step.wait_ns, *facts.ranks[step.row].wait_ns);
    EXPECT_EQ(step.communication_ns, 3 * kMs);
    EXPECT_EQ(step.duration_ns - step.wait_ns, *facts.ranks[step.row].own_ns);
  }
}

TEST(FleetFacts, small_differences_are_no_straggler) {
  const FleetFacts facts = facts_of(R"(
    rank 0  |ccccccccccccccccccccccccccA==cc|cccccccccccccccccccccccccA-==cc|ccccccccccccccccccccccccccA==cc|
    rank 1  |cccccccccccccccccccccccccA-==cc|ccccccccccccccccccccccccccA==cc|cccccccccccccccccccccccccA-==cc|
    A = allreduce of dp on 0 1, 100 MB
  )");
  EXPECT_TRUE(facts.stragglers.empty());
  EXPECT_FALSE(facts.is_uneven);
}

// Rank 1 is slow. Its tensor group {0, 1} waits for it at T, so ranks 0 and 1 both come late to their data groups,
// where ranks 2 and 3 wait.
TEST(FleetFacts, through_tensor_and_data_groups_the_root_is_found) {
  const FleetFacts facts = facts_of(R"(
    rank 0  |ccT---=ccT---=D==|ccT---=ccT---=D==|ccT---=ccT---=D==|
    rank 1  |cc.ccT=cc.ccT=E==|cc.ccT=cc.ccT=E==|cc.ccT=cc.ccT=E==|
    rank 2  |ccU=ccU=D------==|ccU=ccU=D------==|ccU=ccU=D------==|
    rank 3  |ccU=ccU=E------==|ccU=ccU=E------==|ccU=ccU=E------==|
    T = allreduce of tp on 0 1
    U = allreduce of tp on 2 3
    D = allreduce of dp on 0 2
    E = allreduce of dp on 1 3
  )");
  EXPECT_EQ(facts.groups.size(), 4U);
  EXPECT_EQ(facts.stragglers, (std::vector<std::size_t>{1}));
  EXPECT_EQ(facts.ranks[1].late_ns, 6 * kMs);
  EXPECT_EQ(facts.ranks[0].late_ns, 0);  // late at D, and not to blame
}

TEST(FleetFacts, pipeline_stages_meet_by_direction) {
  // Two stages: stage 1 receives before it sends; stage 0's second forward is slow.
  const FleetFacts facts = facts_of(R"(
    rank 0  |ccS=cccccS=R--=|ccS=cccccS=R--=|ccS=cccccS=R--=|
    rank 1  |R--=ccR--=ccS==|R--=ccR--=ccS==|R--=ccR--=ccS==|
    S = send of pp on 0 1
    R = recv of pp on 0 1
  )");
  EXPECT_EQ(facts.matched_count, 9);
  EXPECT_EQ(facts.unmatched_count, 0);
  EXPECT_EQ(facts.stragglers, (std::vector<std::size_t>{0}));
}

TEST(FleetFacts, sends_in_larger_groups_are_judged_by_their_bytes) {
  const FleetFacts facts = facts_of(R"(
    rank 0  |ccccccccccS=cA=|ccccccccccS=cA=|
    rank 1  |R----------=A==|R----------=A==|
    rank 2  |ccR---------=A=|ccR---------=A=|
    S = send of pp on 0 1 2, 10 MB
    R = recv of pp on 0 1 2, 10 MB
    A = allreduce of all on 0 1 2, 10 MB
  )");
  EXPECT_EQ(facts.unmatched_count, 6);
  ASSERT_EQ(facts.ranks.size(), 3U);
  EXPECT_GE(*facts.ranks[2].own_ns, 0);
}

TEST(FleetFacts, two_stragglers_among_many_are_both_named) {
  std::string picture;
  for (int rank = 0; rank < 12; ++rank) {
    const std::string step = rank == 3 ? "ccdddddA==" : rank == 7 ? "ccddddA-==" : "ccA-----==";
    picture += "rank " + std::to_string(rank) + " |" + step + "|" + step + "|" + step + "|\n";
  }
  picture += "A = allreduce of dp on 0 1 2 3 4 5 6 7 8 9 10 11\n";
  const FleetFacts facts = facts_of(picture);
  EXPECT_EQ(facts.stragglers, (std::vector<std::size_t>{3, 7}));
  EXPECT_EQ(facts.straggler_saving->mid_ns, 5 * kMs);
}

TEST(FleetFacts, ranks_that_take_turns_are_uneven_and_nobody_is_guilty) {
  const FleetFacts facts = facts_of(R"(
    rank 0  |cccccccA==|ccA-----==|ccA-----==|ccA-----==|
    rank 1  |ccA-----==|cccccccA==|ccA-----==|ccA-----==|
    rank 2  |ccA-----==|ccA-----==|cccccccA==|ccA-----==|
    rank 3  |ccA-----==|ccA-----==|ccA-----==|cccccccA==|
    A = allreduce of dp on 0 1 2 3
  )");
  EXPECT_TRUE(facts.stragglers.empty());
  EXPECT_TRUE(facts.is_uneven);
  EXPECT_TRUE(facts.uneven_ranks.empty());
  EXPECT_EQ(facts.median_excess_ns, 5 * kMs);
}

TEST(FleetFacts, half_of_the_ranks_late_is_uneven_work) {
  const FleetFacts facts = facts_of(R"(
    rank 0  |cccccccA==|cccccccA==|
    rank 1  |cccccccA==|cccccccA==|
    rank 2  |ccA-----==|ccA-----==|
    rank 3  |ccA-----==|ccA-----==|
    A = allreduce of dp on 0 1 2 3
  )");
  EXPECT_TRUE(facts.stragglers.empty());
  EXPECT_TRUE(facts.is_uneven);
  EXPECT_EQ(facts.uneven_ranks.size(), 2U);
}

TEST(FleetFacts, a_wait_under_compute_delays_nobody) {
  const FleetFacts facts = facts_of(R"(
    rank 0  |cccccccccccc|cccccccccccc|
    rank 0 +|ccA------==c|ccA------==c|
    rank 1  |cccccccccccc|cccccccccccc|
    rank 1 +|ccccccccA==c|ccccccccA==c|
    A = allreduce of dp on 0 1
  )");
  EXPECT_EQ(facts.steps[0].widest->spread_ns, 6 * kMs);
  EXPECT_EQ(facts.ranks[0].wait_ns, 0);
  EXPECT_TRUE(facts.stragglers.empty());
}

TEST(FleetClocks, hosts_that_differ_are_corrected_over_groups_that_overlap) {
  MadeFleet fleet(R"(
    rank 0  |ccA---==|ccA---==|
    rank 1  |cccccA==|cccccA==|
    rank 2  |ccccB-==|ccccB-==|
    rank 3  |cccccB==|cccccB==|
    rank 4  |ccD---==|ccD---==|
    A = allreduce of a on 0 1
    B = allreduce of b on 2 3
    D = allreduce of c on 4 5
  )");
  fleet.host(1, "shared");  // connects the groups a and b
  fleet.host(2, "shared");
  fleet.shift(0, 5'000 * kMs);
  fleet.shift(3, -7 * kMs);
  const FleetFacts facts = compute_fleet_facts(fleet.run);
  EXPECT_TRUE(facts.clocks.corrected);
  EXPECT_EQ(facts.clocks.component_count, 1U);  // rank 4 meets nobody
  EXPECT_EQ(facts.ranks[0].clock_offset_ns - facts.ranks[1].clock_offset_ns, 5'000 * kMs);
  EXPECT_EQ(facts.ranks[3].clock_offset_ns - facts.ranks[2].clock_offset_ns, -7 * kMs);
  EXPECT_EQ(facts.clocks.largest_offset_ns, 5'007 * kMs);
  EXPECT_EQ(facts.ranks[0].wait_ns, 3 * kMs);
}

TEST(FleetClocks, groups_that_nothing_connects_have_clocks_of_their_own) {
  const FleetFacts facts = facts_of(R"(
    rank 0  |ccA---==|ccA---==|
    rank 1  |cccccA==|cccccA==|
    rank 2  |ccccB-==|ccccB-==|
    rank 3  |cccccB==|cccccB==|
    A = allreduce of a on 0 1
    B = allreduce of b on 2 3
  )");
  EXPECT_EQ(facts.clocks.component_count, 2U);
  EXPECT_FALSE(facts.clocks.corrected);
}

TEST(FleetClocks, no_base_time_is_no_hindrance_where_collectives_end_together) {
  MadeFleet fleet(kLateRank);
  fleet.shift(0, -MadeFleet::kBase);
  fleet.rank(0).has_clock = false;
  const FleetFacts facts = compute_fleet_facts(fleet.run);
  EXPECT_TRUE(facts.clocks.corrected);
  EXPECT_EQ(facts.stragglers, (std::vector<std::size_t>{1}));
}

TEST(FleetClocks, a_drift_is_taken_off) {
  std::string line;
  for (int step = 0; step < 60; ++step) line += "|ccA==";
  MadeFleet fleet("rank 0 " + line + "|\nrank 1 " + line + "|\nrank 2 " + line + "|\nA = allreduce of dp on 0 1 2\n");
  // 285 us over 300 ms: 950 ppm, still a clock's.
  for (SummaryCollective& event : fleet.rank(1).collectives) {
    const DurationNs drift = (event.start_ns - MadeFleet::kBase) / 20'000 * 19;
    event.start_ns += drift;
    event.end_ns += drift;
  }
  const FleetFacts facts = compute_fleet_facts(fleet.run);
  EXPECT_GT(facts.clocks.largest_drift_ns, 0);
  EXPECT_LT(facts.steps.front().widest->spread_ns, 20'000);
  EXPECT_LT(facts.steps.back().widest->spread_ns, 20'000);
}

TEST(FleetMatching, different_counts_leave_a_step_out_and_are_counted) {
  const FleetFacts facts = facts_of(R"(
    rank 0  |ccA=A=cc|ccA---==|
    rank 1  |ccA=cccc|cccccA==|
    A = allreduce of dp on 0 1
  )");
  EXPECT_EQ(facts.matched_count, 1);
  EXPECT_EQ(facts.unmatched_count, 3);
  EXPECT_EQ(facts.left_out_step_count, 1);
}

TEST(FleetMatching, the_majority_goes_on_without_the_rank_that_differs) {
  const FleetFacts facts = facts_of(R"(
    rank 0  |ccA=A=cc|
    rank 1  |ccA=A=cc|
    rank 2  |ccA=cccc|
    A = allreduce of dp on 0 1 2
  )");
  EXPECT_EQ(facts.matched_count, 2);
  EXPECT_EQ(facts.unmatched_count, 1);
  EXPECT_EQ(facts.left_out_step_count, 0);
}

TEST(FleetMatching, one_name_for_other_ranks_is_another_group) {
  const FleetFacts facts = facts_of(R"(
    rank 0  |ccA---==|ccA---==|
    rank 1  |cccccA==|cccccA==|
    rank 2  |ccB-==cc|ccB-==cc|
    rank 3  |cccB==cc|cccB==cc|
    A = allreduce of 1 on 0 1
    B = allreduce of 1 on 2 3
  )");
  EXPECT_EQ(facts.groups.size(), 2U);
  EXPECT_EQ(facts.matched_count, 4);
  EXPECT_EQ(facts.ranks[2].wait_ns, kMs);
}

TEST(FleetMatching, other_names_for_the_same_ranks_are_one_group) {
  const FleetFacts facts = facts_of(R"(
    rank 0  |ccA---==|ccA---==|
    rank 1  |cccccA==|cccccA==|
    A@0 = allreduce of 5 on 0 1
    A@1 = allreduce of 9 on 0 1
  )");
  EXPECT_EQ(facts.groups.size(), 1U);
  EXPECT_EQ(facts.matched_count, 2);
}

TEST(FleetMatching, names_alone_that_join_other_ranks_are_refuted) {
  // "1" is ranks 0 and 1 here, 2 and 3 there; on one host, so the clocks cannot excuse it.
  MadeFleet fleet(R"(
    rank 0  |A==ccccc|A==ccccc|
    rank 1  |A==ccccc|A==ccccc|
    rank 2  |cccccA==|cccccA==|
    rank 3  |cccccA==|cccccA==|
    A = allreduce of 1
  )");
  for (std::size_t at = 0; at < 4; ++at) fleet.host(at, "one");
  const FleetFacts facts = compute_fleet_facts(fleet.run);
  EXPECT_TRUE(facts.groups.at(0).refuted);
  EXPECT_EQ(facts.matched_count, 0);
  EXPECT_TRUE(facts.stragglers.empty());
}

TEST(FleetRoster, the_launcher_of_the_ranks_is_none) {
  MadeFleet fleet("rank 0  |ccA==|\nrank 1  |ccA==|\nA = allreduce of dp on 0 1\n");
  RankSummary launcher;
  launcher.source = "launcher.stepscope";
  fleet.run.ranks.push_back(launcher);
  const FleetFacts facts = compute_fleet_facts(fleet.run);
  EXPECT_EQ(facts.ranks.size(), 2U);
  EXPECT_EQ(facts.without_rank_count, 0U);
  EXPECT_EQ(facts.without_steps, (std::vector<std::string>{"launcher.stepscope"}));
  EXPECT_EQ(compute_fleet_facts({{launcher}, {}}).ranks.size(), 1U) << "alone it is all there is";
}

TEST(FleetRoster, windows_of_one_process_are_said_to_be_that_and_are_no_other_run) {
  MadeFleet fleet("rank 0  |ccA==|\nrank 1  |ccA==|\nA = allreduce of dp on 0 1\n");
  RankSummary& first = fleet.run.ranks[0];
  first.process_id = 7;
  first.process_start_ns = 1;
  first.has_clock = true;
  RankSummary later = first;
  later.source = "later.json";
  for (SummaryStep& step : later.steps) step.start_ns += 3 * 86'400'000 * kMs;
  fleet.run.ranks.push_back(later);
  const FleetFacts facts = compute_fleet_facts(fleet.run);
  ASSERT_EQ(facts.doubles.size(), 1U);
  EXPECT_TRUE(facts.doubles[0].are_windows);
  EXPECT_TRUE(facts.mixed.empty()) << facts.mixed.front();
  fleet.run.ranks.back().process_start_ns = 2;
  const FleetFacts again = compute_fleet_facts(fleet.run);
  EXPECT_FALSE(again.doubles[0].are_windows);
  EXPECT_EQ(again.mixed.size(), 1U) << "three days later another process";
}

TEST(FleetRoster, missing_double_unreadable_and_mixed_are_named) {
  MadeFleet fleet(kLateRank);
  RunSummary run = fleet.run;
  for (RankSummary& rank : run.ranks) rank.world_size = 8;
  run.ranks.push_back(run.ranks[1]);
  run.ranks.back().source = "copy.json";
  run.ranks.back().steps.resize(1);
  run.ranks.push_back(run.ranks[2]);
  run.ranks.back().rank.reset();
  run.ranks.back().source = "no_rank.json";
  run.ranks.push_back(run.ranks[2]);
  run.ranks.back().world_size = 16;
  run.ranks.back().source = "other.json";
  run.unreadable.push_back({"broken.json", "is cut"});
  const FleetFacts facts = compute_fleet_facts(run);
  EXPECT_EQ(facts.world_size, 8);
  EXPECT_EQ(facts.missing, (std::vector<std::int64_t>{3, 4, 5, 6, 7}));
  EXPECT_EQ(facts.missing_count, 5);
  ASSERT_EQ(facts.doubles.size(), 1U);
  EXPECT_EQ(facts.doubles[0].used, "rank1.json");
  EXPECT_EQ(facts.doubles[0].others, (std::vector<std::string>{"copy.json"}));
  EXPECT_FALSE(facts.doubles[0].are_windows);
  EXPECT_EQ(facts.unreadable.size(), 1U);
  EXPECT_EQ(facts.without_rank_count, 1U);
  ASSERT_EQ(facts.mixed.size(), 1U);
  EXPECT_EQ(facts.mixed[0], "world sizes 8 (5 files) and 16 (1 file)");
  EXPECT_EQ(facts.foreign, (std::vector<std::string>{"other.json"}));
  EXPECT_FALSE(facts.is_one_run());  // three of six files
  EXPECT_TRUE(compute_fleet_facts(fleet.run).is_one_run());
  EXPECT_EQ(facts.ranks.size(), 4U);
}

TEST(FleetRoster, ranks_outside_the_world_are_named) {
  MadeFleet fleet(kLateRank);
  fleet.rank(2).rank = 5000;
  const FleetAnswer answer = judge_fleet(fleet.run);
  EXPECT_EQ(answer.facts.outside, (std::vector<std::int64_t>{5000}));
  EXPECT_EQ(answer.facts.missing, (std::vector<std::int64_t>{2}));
  const auto at = std::find_if(answer.findings.begin(), answer.findings.end(),
                               [](const FleetFinding& f) { return f.finding.id == "incomplete-run"; });
  ASSERT_NE(at, answer.findings.end());
  EXPECT_NE(at->finding.title.find("1 rank is outside the world of 3 ranks"), std::string::npos) << at->finding.title;
  EXPECT_NE(at->finding.evidence.back().text.find("rank 5000"), std::string::npos);
}

TEST(FleetRoster, ranks_outside_the_world_are_not_counted_in_the_verdict) {
  MadeFleet fleet(R"(
    rank 0  |ccA==|
    rank 1  |ccA==|
    rank 2  |ccA==|
    A = allreduce of dp on 0 1 2
  )");
  fleet.rank(2).rank = 5000;
  const FleetAnswer answer = judge_fleet(fleet.run);
  EXPECT_EQ(answer.facts.missing_count, 1);
  EXPECT_EQ(answer.verdict, "No fault found on 2 ranks that are here.");
}

TEST(FleetRoster, ranks_that_groups_lack_are_named_from_their_lists) {
  MadeFleet fleet(R"(
    rank 0  |ccD---==|
    rank 2  |ccccD-==|
    rank 4  |ccD---==|
    rank 5  |ccE---==|
    D = allreduce of 7 on 0 2 4 6
    E = allreduce of 8 on 1 3 5 7
  )");
  fleet.rank(2).groups[0].description = "mesh_dp";
  for (RankSummary& rank : fleet.run.ranks) rank.world_size = 8;
  const FleetAnswer answer = judge_fleet(fleet.run);
  ASSERT_EQ(answer.facts.groups.size(), 1U) << "one rank of the other group is here, and it met nobody";
  EXPECT_EQ(answer.facts.groups[0].description, "mesh_dp") << "from the rank that knows it";
  EXPECT_EQ(answer.facts.groups[0].missing, (std::vector<std::int64_t>{6}));
  EXPECT_FALSE(answer.facts.groups[0].is_whole);
  const auto at = std::find_if(answer.findings.begin(), answer.findings.end(),
                               [](const FleetFinding& f) { return f.finding.id == "incomplete-run"; });
  ASSERT_NE(at, answer.findings.end());
  const std::vector<Evidence>& evidence = at->finding.evidence;
  ASSERT_GE(evidence.size(), 2U);
  EXPECT_EQ(evidence[evidence.size() - 2].text, "Group 7 (mesh_dp) of 4 ranks lacks rank 6.");
  EXPECT_EQ(evidence.back().text, "Group 8 of 4 ranks lacks ranks 1, 3 and 7.") << "rank 5 of it is here alone";
  ASSERT_EQ(answer.facts.lone_groups.size(), 1U);

  fleet.rank(2).rank.reset();
  const FleetFacts unknown = compute_fleet_facts(fleet.run);
  EXPECT_TRUE(unknown.groups[0].missing.empty()) << "the file without a rank may be it";
  EXPECT_TRUE(unknown.lone_groups.empty());
}

TEST(FleetRoster, of_many_groups_that_lack_ranks_some_are_named_and_the_others_counted) {
  MadeFleet fleet("rank 0  |ccA==|\nrank 1  |ccA==|\nA = allreduce of dp on 0 1\n");
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    for (std::int64_t i = 0; i < 5; ++i) {
      const std::string name = "pair" + std::to_string(rank + 2 * i);
      fleet.rank(static_cast<std::size_t>(rank)).groups.push_back({name, "", 2, {rank, 2 + 2 * i + rank}});
    }
  }
  for (RankSummary& rank : fleet.run.ranks) rank.world_size = 12;
  const FleetAnswer answer = judge_fleet(fleet.run);
  EXPECT_EQ(answer.facts.lone_groups.size(), 10U);
  const auto at = std::find_if(answer.findings.begin(), answer.findings.end(),
                               [](const FleetFinding& f) { return f.finding.id == "incomplete-run"; });
  ASSERT_NE(at, answer.findings.end());
  EXPECT_EQ(at->finding.evidence.back().text, "4 more groups lack ranks, too.");
}

TEST(FleetRoster, listed_step_times_have_no_gpu_and_no_fault) {
  RankSummary list;
  list.source = "base.txt";
  list.step_source = std::string(kListedStepSource);
  list.steps.resize(3);
  for (SummaryStep& step : list.steps) step.duration_ns = 40 * kMs;
  const FleetAnswer answer = judge_fleet({{list}, {}});
  ASSERT_EQ(answer.facts.ranks.size(), 1U);
  EXPECT_TRUE(answer.facts.ranks[0].is_times_only);
  EXPECT_EQ(answer.facts.ranks[0].step_ns, 40 * kMs);
  EXPECT_FALSE(answer.facts.ranks[0].gpu_busy_ns);
  EXPECT_EQ(answer.facts.without_rank_count, 0U);
  EXPECT_TRUE(answer.findings.empty());
  EXPECT_NE(answer.verdict.find("Only step times"), std::string::npos) << answer.verdict;
}

TEST(FleetRoster, a_list_beside_ranks_is_not_judged_with_them) {
  MadeFleet fleet("rank 0 |cccc|cccc|\nrank 1 |cccc|cccc|\n");
  RankSummary list;
  list.source = "base.txt";
  list.step_source = std::string(kListedStepSource);
  list.steps.resize(3);
  fleet.run.ranks.push_back(list);
  EXPECT_EQ(judge_fleet(fleet.run).verdict, "No fault found on 2 ranks.");
}

TEST(FleetRoster, files_none_of_which_can_be_read_are_no_run) {
  EXPECT_TRUE(judge_fleet({{}, {{"broken.sss", "is cut"}}}).findings.empty());
}

TEST(FleetRoster, the_straggler_is_found_with_ranks_missing) {
  MadeFleet fleet(kLateRank);
  fleet.run.ranks.erase(fleet.run.ranks.begin());
  for (RankSummary& rank : fleet.run.ranks) rank.world_size = 3;
  const FleetFacts facts = compute_fleet_facts(fleet.run);
  EXPECT_EQ(facts.missing, (std::vector<std::int64_t>{0}));
  ASSERT_EQ(facts.stragglers.size(), 1U);
  EXPECT_EQ(facts.ranks[facts.stragglers[0]].rank, 1);
}

// Rank 3 is 8 ms late and has no file: rank 2 waits for it in their group, and the others wait for rank 2.
constexpr std::string_view kLateRankOfAGroup = R"(
  rank 0  |ccccccccA-ccccB---------cc|ccccccccA-ccccB---------cc|ccccccccA-ccccB---------cc|
  rank 1  |ccccccccA-ccccB---------cc|ccccccccA-ccccB---------cc|ccccccccA-ccccB---------cc|
  rank 2  |ccccccccA---------ccccB-cc|ccccccccA---------ccccB-cc|ccccccccA---------ccccB-cc|
  rank 3  |ccccccccccccccccA-ccccB-cc|ccccccccccccccccA-ccccB-cc|ccccccccccccccccA-ccccB-cc|
  A@0,1 = alltoall of ep0 on 0 1, 100 MB
  A@2,3 = alltoall of ep1 on 2 3, 100 MB
  B = allreduce of world on 0 1 2 3, 100 MB
)";

TEST(FleetRoster, who_waits_for_a_missing_rank_is_not_called_late) {
  MadeFleet fleet(kLateRankOfAGroup);
  FleetFacts facts = compute_fleet_facts(fleet.run);
  ASSERT_EQ(facts.stragglers, (std::vector<std::size_t>{3}));
  fleet.run.ranks.pop_back();
  facts = compute_fleet_facts(fleet.run);
  EXPECT_TRUE(facts.stragglers.empty());
  EXPECT_EQ(facts.missing_wait_ns, 8 * kMs);
}

TEST(FleetRoster, transfers_that_nothing_measures_make_no_rank_late) {
  MadeFleet fleet(kLateRankOfAGroup);
  fleet.run.ranks.pop_back();
  for (const std::size_t at : {0U, 1U})
    std::erase_if(fleet.rank(at).collectives,
                  [](const SummaryCollective& each) { return each.bytes && each.group == 0; });
  EXPECT_TRUE(compute_fleet_facts(fleet.run).stragglers.empty());
}

TEST(FleetRoster, waits_for_a_rank_that_is_missing_are_told) {
  MadeFleet fleet(R"(
    rank 0  |ccA=======cA=|ccA=======cA=|
    rank 1  |ccA=======cA=|ccA=======cA=|
    rank 2  |ccccccccA=cA=|ccccccccA=cA=|
    A = allreduce of dp on 0 1 2, 10 MB
  )");
  fleet.run.ranks.pop_back();
  const FleetFacts facts = compute_fleet_facts(fleet.run);
  EXPECT_EQ(facts.missing_count, 1);
  EXPECT_EQ(facts.missing_wait_ns, 6 * kMs);
  EXPECT_TRUE(facts.stragglers.empty());
}

TEST(FleetFacts, a_slow_gpu_shows_in_the_same_kernels) {
  MadeFleet fleet(kLateRank);
  fleet.rank(1).work[0].gpu_sum_ns = fleet.rank(1).work[0].count * kMs * 3 / 2;
  const FleetFacts facts = compute_fleet_facts(fleet.run);
  EXPECT_DOUBLE_EQ(*facts.ranks[1].kernel_time_ratio, 1.5);
  EXPECT_EQ(facts.ranks[1].slowest_class, KernelClass::kMatmul);
  EXPECT_DOUBLE_EQ(*facts.ranks[0].kernel_time_ratio, 1);
}

TEST(FleetFacts, findings_of_ranks_are_told_once_from_the_worst) {
  MadeFleet fleet(kLateRank);
  fleet.rank(0).findings.push_back({"hidden-sync", "fault", Estimate{1, 2, 3}, 0.02, "a line waits"});
  fleet.rank(2).findings.push_back({"hidden-sync", "fault", Estimate{4, 5, 6}, 0.05, "a line waits longer"});
  const FleetFacts facts = compute_fleet_facts(fleet.run);
  ASSERT_EQ(facts.findings.size(), 1U);
  EXPECT_EQ(facts.findings[0].ranks, (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(facts.findings[0].worst, 2U);
}

TEST(FleetFacts, findings_of_ranks_carry_their_proof_and_advice) {
  MadeFleet fleet(kLateRank);
  fleet.rank(0).findings.push_back({"hidden-sync", "fault", Estimate{1, 2, 3}, 0.02, "a line waits"});
  fleet.rank(2).findings.push_back({"hidden-sync", "fault", Estimate{4, 5, 6}, 0.05, "a line waits longer"});
  const auto finding_of = [&] {
    const FleetAnswer answer = judge_fleet(fleet.run);
    const auto at = std::find_if(answer.findings.begin(), answer.findings.end(),
                                 [](const FleetFinding& f) { return f.finding.id == "hidden-sync"; });
    return at == answer.findings.end() ? Finding() : at->finding;
  };
  const Finding old = finding_of();
  EXPECT_TRUE(old.evidence.empty()) << "a summary of version 1 has none";
  ASSERT_EQ(old.advice.size(), 1U);
  EXPECT_NE(old.advice[0].find("stepscope report " + fleet.rank(2).source), std::string::npos);

  fleet.rank(2).findings.back().evidence = {"It waits 6 ms."};
  fleet.rank(2).findings.back().advice = {"Do not ask."};
  fleet.rank(2).findings.back().saving_as_recorded = true;
  const Finding finding = finding_of();
  ASSERT_EQ(finding.evidence.size(), 1U);
  EXPECT_EQ(finding.evidence[0].text, "It waits 6 ms.");
  EXPECT_EQ(finding.advice, std::vector<std::string>{"Do not ask."});
  EXPECT_TRUE(finding.saving_as_recorded);
}

TEST(FleetFacts, nothing_and_nonsense_are_survived) {
  EXPECT_TRUE(compute_fleet_facts({}).ranks.empty());
  MadeFleet fleet(kLateRank);
  fleet.rank(0).collectives[0].start_ns = std::numeric_limits<TimeNs>::min();
  fleet.rank(1).collectives[0].group = 77;
  fleet.rank(1).collectives[1].step = 77;
  fleet.rank(1).collectives[1].name = 77;
  fleet.rank(2).work[0].busy_by_step_ns.clear();
  fleet.rank(2).world_size = std::numeric_limits<std::int64_t>::max();
  const FleetFacts facts = compute_fleet_facts(fleet.run);
  EXPECT_TRUE(facts.ranks[0].headline_withheld);
}

}  // namespace
}  // namespace stepscope
