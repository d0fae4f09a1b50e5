// Files of summaries: what is written is read back, to the last field; damage is refused and named.
#include "fleet/summary_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <limits>

#include "fleet/rank_runs.h"
#include "fleet/summary_limits.h"
#include "fleet/summary_payload.h"
#include "fleet/summary_test_support.h"

namespace stepscope {
namespace {

RunSummary read_back(const RunSummary& run) {
  auto read = read_summary(write_summary(run), "x.sss");
  EXPECT_TRUE(read.has_value()) << (read ? "" : read.error().to_string());
  return read ? std::move(*read) : RunSummary{};
}

void expect_same(const std::optional<Estimate>& a, const std::optional<Estimate>& b) {
  ASSERT_EQ(a.has_value(), b.has_value());
  if (!a) return;
  EXPECT_EQ(std::tie(a->low_ns, a->mid_ns, a->high_ns), std::tie(b->low_ns, b->mid_ns, b->high_ns));
}

void expect_same_lists(const RankSummary& a, const RankSummary& b) {
  ASSERT_EQ(a.steps.size(), b.steps.size());
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    const auto all = [](const SummaryStep& s) {
      return std::tie(s.number, s.start_ns, s.duration_ns, s.host_span_ns, s.gpu_busy_ns, s.exposed_communication_ns,
                      s.idle_ns, s.allocated_peak_bytes, s.reserved_peak_bytes);
    };
    EXPECT_EQ(all(a.steps[i]), all(b.steps[i]));
  }
  ASSERT_EQ(a.own_stops.size(), b.own_stops.size());
  for (std::size_t i = 0; i < a.own_stops.size(); ++i) {
    const auto all = [](const SummaryStop& s) { return std::tie(s.start_ns, s.length_ns); };
    EXPECT_EQ(all(a.own_stops[i]), all(b.own_stops[i]));
  }
  ASSERT_EQ(a.groups.size(), b.groups.size());
  for (std::size_t i = 0; i < a.groups.size(); ++i) {
    const auto all = [](const SummaryGroup& g) { return std::tie(g.name, g.description, g.size, g.ranks); };
    EXPECT_EQ(all(a.groups[i]), all(b.groups[i]));
  }
  EXPECT_EQ(a.collective_names, b.collective_names);
  ASSERT_EQ(a.collectives.size(), b.collectives.size());
  for (std::size_t i = 0; i < a.collectives.size(); ++i) {
    const auto all = [](const SummaryCollective& c) {
      return std::tie(c.group, c.name, c.step, c.sequence, c.start_ns, c.end_ns, c.bytes, c.bus_bytes, c.exposed_ns);
    };
    EXPECT_EQ(all(a.collectives[i]), all(b.collectives[i]));
  }
  ASSERT_EQ(a.work.size(), b.work.size());
  for (std::size_t i = 0; i < a.work.size(); ++i) {
    const auto all = [](const SummaryWork& w) {
      return std::tie(w.operator_name, w.shapes, w.kernel, w.place, w.kernel_class, w.tensor_cores, w.count,
                      w.gpu_sum_ns, w.busy_by_step_ns);
    };
    EXPECT_EQ(all(a.work[i]), all(b.work[i]));
  }
  ASSERT_EQ(a.operators.size(), b.operators.size());
  for (std::size_t i = 0; i < a.operators.size(); ++i) {
    const auto all = [](const SummaryOperator& o) { return std::tie(o.name, o.count, o.self_cpu_ns); };
    EXPECT_EQ(all(a.operators[i]), all(b.operators[i]));
  }
  ASSERT_EQ(a.findings.size(), b.findings.size());
  for (std::size_t i = 0; i < a.findings.size(); ++i) {
    const auto all = [](const SummaryFinding& f) {
      return std::tie(f.id, f.severity, f.saving_ratio, f.title, f.evidence, f.advice, f.saving_as_recorded);
    };
    EXPECT_EQ(all(a.findings[i]), all(b.findings[i]));
    expect_same(a.findings[i].saving, b.findings[i].saving);
  }
}

void expect_same_replay(const SummaryReplay& a, const SummaryReplay& b) {
  EXPECT_EQ(std::tie(a.refused, a.step_count, a.cost_uncertainty_ratio),
            std::tie(b.refused, b.step_count, b.cost_uncertainty_ratio));
  ASSERT_EQ(a.points.size(), b.points.size());
  for (std::size_t i = 0; i < a.points.size(); ++i) {
    const auto all = [](const SummaryReplayPoint& p) { return std::tie(p.kind, p.of, p.recorded_ns); };
    EXPECT_EQ(all(a.points[i]), all(b.points[i]));
  }
  ASSERT_EQ(a.edges.size(), b.edges.size());
  for (std::size_t i = 0; i < a.edges.size(); ++i) {
    const auto all = [](const SummaryReplayEdge& e) {
      return std::tie(e.from, e.to, e.recorded_ns, e.unprofiled_ns, e.uncontended_ns);
    };
    EXPECT_EQ(all(a.edges[i]), all(b.edges[i]));
  }
}

void expect_same(const RankSummary& a, const RankSummary& b) {
  const auto identity = [](const RankSummary& r) {
    return std::tie(r.rank, r.world_size, r.rank_is_from_name, r.source, r.host_name, r.backend, r.device_name,
                    r.device_number, r.device_memory_bytes, r.peak_flops_per_s, r.torch_version, r.has_clock,
                    r.has_shapes, r.options, r.process_id, r.first_correlation, r.last_correlation, r.process_start_ns);
  };
  EXPECT_EQ(identity(a), identity(b));
  const auto completeness = [](const RankSummary& r) {
    return std::tie(r.text_bytes, r.event_count, r.launch_count, r.gpu_event_count, r.linked_gpu_event_count,
                    r.lost_count, r.headline_withheld, r.is_host_only, r.step_source, r.step_detail, r.steps_left_out,
                    r.missing_steps, r.steps_not_kept_count, r.are_steps_spread, r.collectives_not_kept_count,
                    r.flops_per_step, r.mfu_ratio, r.verdict);
  };
  EXPECT_EQ(completeness(a), completeness(b));
  expect_same(a.unprofiled_step, b.unprofiled_step);
  expect_same_lists(a, b);
  expect_same_replay(a.replay, b.replay);
}

TEST(SummaryFile, EveryFieldIsReadBack) {
  SummaryMaker maker(1);
  for (int round = 0; round < 300; ++round) {
    const RankSummary rank = maker.rank();
    const RunSummary read = read_back({{rank}, {}});
    ASSERT_EQ(read.ranks.size(), 1U);
    expect_same(rank, read.ranks.front());
    if (HasFailure()) return;
  }
}

// Whoever adds a field to one of these adds it to SummaryLayout, to docs/formats/summary.md and to expect_same().
TEST(SummaryFile, NoFieldIsForgotten) {
  EXPECT_EQ(sizeof(SummaryStep), 200U);
  EXPECT_EQ(sizeof(SummaryGroup), 104U);
  EXPECT_EQ(sizeof(SummaryCollective), 72U);
  EXPECT_EQ(sizeof(SummaryWork), 176U);
  EXPECT_EQ(sizeof(SummaryOperator), 48U);
  EXPECT_EQ(sizeof(SummaryFinding), 200U);
  EXPECT_EQ(sizeof(SummaryOptions), 4U);
  EXPECT_EQ(sizeof(SummaryReplayPoint), 16U);
  EXPECT_EQ(sizeof(SummaryReplayEdge), 32U);
  EXPECT_EQ(sizeof(SummaryReplay), 104U);
  EXPECT_EQ(sizeof(SummaryStop), 16U);
  EXPECT_EQ(sizeof(RankSummary), 936U);
  EXPECT_EQ(kHostLabelCount, 15U) << "a new cause of idle time needs nothing: causes are stored by name";
}

TEST(SummaryFile, AnEmptyRunIsAFile) {
  const RunSummary read = read_back({});
  EXPECT_TRUE(read.ranks.empty() && read.unreadable.empty());
}

TEST(SummaryFile, UnreadableFilesStandInIt) {
  const RunSummary read = read_back({{}, {{"b.json", "cut"}, {"a.json", "empty"}, {"b.json", "cut"}}});
  EXPECT_EQ(read.unreadable, (std::vector<UnreadableRank>{{"a.json", "empty"}, {"b.json", "cut"}}));
}

TEST(SummaryFile, TheOrderInWhichRanksAreGivenDoesNotMatter) {
  SummaryMaker maker(2);
  RunSummary run = maker.run(0);
  for (int i = 0; i < 9; ++i) run.ranks.push_back(maker.rank());
  const std::string bytes = write_summary(run);
  std::reverse(run.ranks.begin(), run.ranks.end());
  run.ranks.push_back(run.ranks[3]);
  EXPECT_EQ(write_summary(run), bytes);
  EXPECT_EQ(write_summary(read_back(run)), bytes);
}

TEST(SummaryFile, SixteenThousandRanksOfAGroupTakeAFewBytes) {
  SummaryGroup all, strided;
  for (std::int64_t rank = 0; rank < 16'384; ++rank) all.ranks.push_back(rank);
  for (std::int64_t rank = 5; rank < 16'384; rank += 8) strided.ranks.push_back(rank);
  RankSummary rank;
  const std::size_t without = encode_rank(rank).size();
  rank.groups = {all, strided};
  EXPECT_LE(encode_rank(rank).size(), without + 24);
  const RunSummary read = read_back({{rank}, {}});
  EXPECT_EQ(read.ranks.at(0).groups.at(0).ranks, all.ranks);
  EXPECT_EQ(read.ranks.at(0).groups.at(1).ranks, strided.ranks);
}

std::string damaged_message(std::string_view bytes) {
  const auto read = read_summary(bytes, "x.sss");
  EXPECT_FALSE(read.has_value());
  return read ? "" : read.error().to_string();
}

TEST(SummaryFile, EveryPrefixIsRefused) {
  SummaryMaker maker(3);
  const std::string bytes = write_summary({{maker.rank(), maker.rank()}, {{"a", "b"}}});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_TRUE(damaged_message(bytes.substr(0, size)).starts_with("x.sss: ")) << size;
  }
  EXPECT_NE(damaged_message(bytes + "x").find("bytes behind the last rank"), std::string::npos);
}

TEST(SummaryFile, EveryFlippedBitIsFound) {
  SummaryMaker maker(4);
  const std::string bytes = write_summary({{maker.rank()}, {{"a", "b"}}});
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const auto read = read_summary(flipped, "x.sss");
    ASSERT_FALSE(read.has_value()) << "bit " << bit;
  }
}

TEST(SummaryFile, ANewerVersionIsNamed) {
  std::string bytes = write_summary({});
  bytes[8] = 7;
  EXPECT_EQ(damaged_message(bytes),
            "x.sss: a summary of version 7, made by a newer stepscope; this one reads version 6 (at byte 0)");
}

TEST(SummaryFile, OtherFilesAreToldApart) {
  EXPECT_FALSE(is_summary("{\"traceEvents\": []}"));
  EXPECT_TRUE(is_summary(write_summary({})));
  EXPECT_NE(damaged_message("{}").find("not a summary"), std::string::npos);
  EXPECT_NE(damaged_message("").find("empty"), std::string::npos);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A file that version 1 wrote. What it holds never changes; a later version reads it all the same.
TEST(SummaryFile, AnOldFileIsStillRead) {
  const auto run = read_summary(read_file(std::string(STEPSCOPE_TESTS_DIR) + "/data/summary/ddp.sss"), "ddp.sss");
  ASSERT_TRUE(run.has_value()) << run.error().to_string();
  ASSERT_EQ(run->ranks.size(), 2U);
  const RankSummary& rank = run->ranks[1];
  EXPECT_EQ(rank.rank, 1);
  EXPECT_EQ(rank.world_size, 2);
  EXPECT_EQ(rank.source, "ddp_rank1.pt.trace.json.gz");
  ASSERT_EQ(rank.steps.size(), 3U);
  EXPECT_EQ(rank.steps[0].number, 4);
  EXPECT_EQ(rank.collectives.size(), 30U);
  EXPECT_EQ(rank.groups.at(0).ranks, (std::vector<std::int64_t>{0, 1}));
  EXPECT_GT(rank.work.size(), 50U);
  EXPECT_FALSE(rank.replay.points.empty());
}

TEST(SummaryFile, WhatVersion2AddedIsRead) {
  const std::string folder = std::string(STEPSCOPE_TESTS_DIR) + "/data/summary/";
  const auto old = read_summary(read_file(folder + "ddp.sss"), "ddp.sss");
  const auto run = read_summary(read_file(folder + "ddp2.sss"), "ddp2.sss");
  ASSERT_TRUE(old.has_value() && run.has_value());
  ASSERT_EQ(run->ranks.size(), 2U);
  EXPECT_FALSE(old->ranks[1].options || old->ranks[1].process_id || old->ranks[1].first_correlation);
  const RankSummary& rank = run->ranks[1];
  EXPECT_EQ(rank.process_id, 578);
  EXPECT_EQ(rank.options, SummaryOptions());
  EXPECT_EQ(rank.step_detail, "ProfilerStep#N");
  EXPECT_EQ(rank.groups.at(0).description, "default_pg");
  ASSERT_FALSE(rank.findings.empty());
  EXPECT_FALSE(rank.findings.front().evidence.empty());
  EXPECT_FALSE(rank.findings.front().advice.empty());
  // Written again, version 1 becomes version 2 and keeps what it had.
  const auto again = read_summary(write_summary(*old), "again");
  ASSERT_TRUE(again.has_value());
  expect_same(again->ranks[1], old->ranks[1]);
}

TEST(SummaryFile, WhatVersion3AddedIsRead) {
  const auto run =
      read_summary(read_file(std::string(STEPSCOPE_TESTS_DIR) + "/data/summary/stopped3.sss"), "stopped3.sss");
  ASSERT_TRUE(run.has_value()) << run.error().to_string();
  ASSERT_EQ(run->ranks.size(), 1U);
  ASSERT_EQ(run->ranks[0].own_stops.size(), 1U);
  EXPECT_EQ(run->ranks[0].own_stops[0].length_ns, 220'000);
}

TEST(SummaryFile, WhatVersion4AddedIsRead) {
  const auto run =
      read_summary(read_file(std::string(STEPSCOPE_TESTS_DIR) + "/data/summary/missing4.sss"), "missing4.sss");
  ASSERT_TRUE(run.has_value()) << run.error().to_string();
  ASSERT_EQ(run->ranks.size(), 2U);
  EXPECT_TRUE(run->ranks[0].missing_steps.empty());
  EXPECT_EQ(run->ranks[1].missing_steps, (std::vector<MissingSteps>{{6, 6}, {9, 11}}));
}

TEST(SummaryFile, WhatVersion5AddedIsRead) {
  const auto run = read_summary(read_file(std::string(STEPSCOPE_TESTS_DIR) + "/data/summary/start5.sss"), "start5.sss");
  ASSERT_TRUE(run.has_value()) << run.error().to_string();
  ASSERT_EQ(run->ranks.size(), 1U);
  EXPECT_EQ(run->ranks[0].process_start_ns, 1'790'857'000'120'000'000);
  EXPECT_FALSE(run->ranks[0].are_steps_spread);
}

TEST(SummaryFile, WhatVersion6AddedIsRead) {
  const auto run =
      read_summary(read_file(std::string(STEPSCOPE_TESTS_DIR) + "/data/summary/spread6.sss"), "spread6.sss");
  ASSERT_TRUE(run.has_value()) << run.error().to_string();
  ASSERT_EQ(run->ranks.size(), 1U);
  EXPECT_TRUE(run->ranks[0].are_steps_spread);
  EXPECT_EQ(run->ranks[0].steps.size(), 1024U);
  EXPECT_EQ(run->ranks[0].steps_not_kept_count, 176);
}

TEST(SummaryFile, MissingStepsThatDoNotRiseAreRefused) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::vector<MissingSteps>& wrong :
       {std::vector<MissingSteps>{{9, 3}}, {{1, 4}, {4, 5}}, {{7, 8}, {2, 3}}, {{kMost, -kMost}}}) {
    RankSummary rank;
    rank.missing_steps = wrong;
    DecodeBudget budget{std::uint64_t{16} << 20};
    const auto read = decode_rank(encode_rank(rank), budget);
    ASSERT_FALSE(read.has_value());
    EXPECT_NE(read.error().message.find("numbers of steps that do not rise"), std::string::npos);
    // What is written never holds them.
    EXPECT_LE(read_back({{rank}, {}}).ranks.at(0).missing_steps.size(), 1U);
  }
  RankSummary all;
  all.missing_steps = {{-kMost, kMost}};
  EXPECT_EQ(read_back({{all}, {}}).ranks.at(0).missing_steps, all.missing_steps);
  all.missing_steps.clear();
  for (std::int64_t i = 0; i < 5000; ++i) all.missing_steps.push_back({2 * i, 2 * i});
  EXPECT_EQ(read_back({{all}, {}}).ranks.at(0).missing_steps.size(), kMostMissingSteps);
}

TEST(SummaryFile, PayloadsOfNonsenseAreRefused) {
  SummaryMaker maker(5);
  std::mt19937 random(6);
  for (int round = 0; round < 3000; ++round) {
    std::string payload = encode_rank(maker.rank());
    for (int i = 0; i < 3; ++i) payload[random() % payload.size()] = static_cast<char>(random());
    if (round % 3 == 0) payload.resize(random() % payload.size());
    DecodeBudget budget{std::uint64_t{16} << 20};
    const auto read = decode_rank(payload, budget);  // sound or not: it ends, and within its budget
    EXPECT_TRUE(!read || read->steps.size() <= kMostSummarySteps);
  }
}

TEST(RankRuns, ListsAndBack) {
  const auto show = [](const std::vector<std::int64_t>& ranks) {
    std::string text;
    for (const RankRun& run : make_rank_runs(ranks)) {
      text += std::to_string(run.first) + "+" + std::to_string(run.stride) + "*" + std::to_string(run.count) + " ";
    }
    return text;
  };
  EXPECT_EQ(show({}), "");
  EXPECT_EQ(show({7}), "7+1*1 ");
  EXPECT_EQ(show({0, 1, 2, 3}), "0+1*4 ");
  EXPECT_EQ(show({0, 8, 16, 17, 18}), "0+8*3 17+1*2 ");
}

}  // namespace
}  // namespace stepscope
