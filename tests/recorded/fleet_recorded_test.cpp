// Ranks of recorded runs together; and 20 made of a recorded pair, each with a straggler planted by a seed.
#include <gtest/gtest.h>

#include <random>

#include "fleet/fleet_findings.h"
#include "fleet/summarize.h"
#include "recorded/recorded_trace.h"
#include "rules/rules.h"

namespace stepscope {
namespace {

constexpr DurationNs kMs = 1'000'000;

RankSummary summary_of(const std::string& name) {
  const Trace& trace = recorded_trace(name);
  const Facts facts = compute_facts(trace, {});
  const std::vector<Finding> findings = find_all({trace, facts});
  return summarize_trace(trace, facts, findings, write_verdict({trace, facts}, findings));
}

struct Judged : FleetAnswer {
  [[nodiscard]] const Finding* find(std::string_view id) const {
    for (const FleetFinding& found : findings) {
      if (found.finding.id == id) return &found.finding;
    }
    return nullptr;
  }
};

Judged judge(const RunSummary& run) { return {judge_fleet(run)}; }

Judged judge_files(const std::vector<std::string>& names) {
  RunSummary run;
  for (const std::string& name : names) run.ranks.push_back(summary_of(name));
  return judge(run);
}

bool has_evidence(const Finding& finding, const std::string& words) {
  return std::any_of(finding.evidence.begin(), finding.evidence.end(),
                     [&](const Evidence& evidence) { return evidence.text.find(words) != std::string::npos; });
}

TEST(RecordedFleet, the_late_rank_is_named_with_what_it_did) {
  const Judged run = judge_files({"h200/straggler_rank0", "h200/straggler_rank1"});
  ASSERT_FALSE(run.findings.empty());
  const Finding& first = run.findings[0].finding;
  EXPECT_EQ(first.id, "straggler");
  EXPECT_NE(first.title.find("Rank 1 comes"), std::string::npos) << first.title;
  EXPECT_GT(first.saving->mid_ns, 20 * kMs);
  EXPECT_LT(first.saving->mid_ns, 30 * kMs);
  EXPECT_TRUE(has_evidence(first, "Python +20")) << "the spin of 20 ms that was planted";
  EXPECT_TRUE(has_evidence(first, "Meanwhile on that rank"));
  EXPECT_FALSE(has_evidence(first, "kernels take"));  // its GPU is as fast as the other
  EXPECT_EQ(run.find("exposed-communication"), nullptr);
  EXPECT_EQ(run.find("slow-gpu"), nullptr);
}

TEST(RecordedFleet, a_healthy_pair_has_no_fault) {
  const Judged run = judge_files({"h200/ddp_rank0", "h200/ddp_rank1"});
  for (const FleetFinding& found : run.findings)
    EXPECT_NE(found.finding.severity, Severity::kFault) << found.finding.id;
  EXPECT_EQ(run.find("slow-gpu"), nullptr);
  EXPECT_EQ(run.facts.matched_count, 30);
  EXPECT_FALSE(run.facts.clocks.corrected);
  EXPECT_LT(run.facts.median_excess_ns, kMs);
}

TEST(RecordedFleet, the_late_rank_of_a_case_is_named_on_one_clock) {
  // Rank 0 arrives at 0, rank 1 at 250 us, both end at 350 us, in a step of 1 ms; raw timestamps would say rank 0.
  const Judged run = judge_files({"cases/A17_rank0.json", "cases/A17_rank1.json"});
  ASSERT_FALSE(run.findings.empty());
  const Finding& first = run.findings[0].finding;
  EXPECT_EQ(first.id, "straggler");
  EXPECT_NE(first.title.find("Rank 1 comes 0.25 ms late"), std::string::npos) << first.title;
  EXPECT_EQ(first.saving->mid_ns, 250'000);
  EXPECT_TRUE(has_evidence(first, "data move for 0.10 ms"));
}

// A run of many ranks out of the recorded healthy one: each rank's compute is slower or faster by a seed (0.5 %), each
// step's too (1 %), hosts' clocks differ (2 ms), and one rank needs 8 to 25 % of a step more. All collectives of a
// step are moved by what their rank's compute is slower; they end together.
class MadeRun20 {
 public:
  MadeRun20(const RankSummary& healthy, std::uint32_t seed, std::size_t ranks, bool is_planted = true) : random_(seed) {
    std::normal_distribution<double> of_rank(0, 0.005), of_step(0, 0.01), clock_ms(0, 2);
    straggler = random_() % ranks;
    more_ = is_planted ? std::uniform_real_distribution<double>(0.08, 0.25)(random_) : 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      RankSummary made = healthy;
      made.rank = static_cast<std::int64_t>(rank);
      made.world_size = static_cast<std::int64_t>(ranks);
      made.host_name = "host" + std::to_string(rank / 8);
      made.groups[0].ranks.clear();
      for (std::size_t member = 0; member < ranks; ++member)
        made.groups[0].ranks.push_back(static_cast<std::int64_t>(member));
      const double slower = of_rank(random_);
      for (std::size_t step = 0; step < made.steps.size(); ++step) {
        slow_down(made, step, slower + of_step(random_) + (rank == straggler ? more_ : 0));
      }
      run.ranks.push_back(std::move(made));
    }
    meet();
    std::vector<DurationNs> offset(ranks / 8 + 1);
    for (DurationNs& one : offset) one = static_cast<DurationNs>(clock_ms(random_) * 1e6);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      for (SummaryCollective& event : run.ranks[rank].collectives) {
        event.start_ns += offset[rank / 8];
        event.end_ns += offset[rank / 8];
      }
    }
  }

  RunSummary run;
  std::size_t straggler = 0;

 private:
  // Idle and arrivals alike, relative to the step's start.
  static void slow_down(RankSummary& rank, std::size_t at, double by) {
    SummaryStep& step = rank.steps[at];
    const auto more = static_cast<DurationNs>(by * static_cast<double>(step.duration_ns));
    step.duration_ns += more;
    step.idle_ns[static_cast<std::size_t>(HostLabel::kPython)] += more;
    for (SummaryCollective& event : rank.collectives) {
      if (event.step != at) continue;
      const double share = static_cast<double>(event.start_ns - step.start_ns) / static_cast<double>(step.duration_ns);
      event.start_ns += static_cast<DurationNs>(by * share * static_cast<double>(step.duration_ns));
    }
  }

  // All ranks end a collective when the last has come and its bytes have moved; who came earlier waits, exposed.
  void meet() {
    const std::size_t count = run.ranks[0].collectives.size();
    for (std::size_t i = 0; i < count; ++i) {
      TimeNs last = 0;
      for (const RankSummary& rank : run.ranks) last = std::max(last, rank.collectives[i].start_ns);
      const TimeNs end = last + 300'000;
      for (RankSummary& rank : run.ranks) rank.collectives[i].end_ns = end;
    }
    // Only the last collective of a step is exposed: compute hides the others. Steps end together.
    for (std::size_t step = 0; step < run.ranks[0].steps.size(); ++step) {
      DurationNs longest = 0;
      for (const RankSummary& rank : run.ranks) longest = std::max(longest, rank.steps[step].duration_ns);
      for (RankSummary& rank : run.ranks) {
        const DurationNs wait = longest - rank.steps[step].duration_ns;
        rank.steps[step].duration_ns = longest;
        rank.steps[step].gpu_busy_ns += wait;
        rank.steps[step].exposed_communication_ns += wait;
        SummaryCollective* last = nullptr;
        for (SummaryCollective& event : rank.collectives) {
          if (event.step != step) continue;
          event.exposed_ns = 0;
          if (last == nullptr || event.start_ns > last->start_ns) last = &event;
        }
        last->exposed_ns = wait + 300'000;
      }
    }
  }

  std::mt19937 random_;
  double more_ = 0;
};

class PlantedFleets : public testing::TestWithParam<std::uint32_t> {};

TEST_P(PlantedFleets, the_straggler_of_64_ranks_is_found) {
  const MadeRun20 made(summary_of("h200/ddp_rank0"), GetParam(), 64);
  const Judged run = judge(made.run);
  ASSERT_EQ(run.facts.stragglers.size(), 1U);
  EXPECT_EQ(run.facts.ranks[run.facts.stragglers[0]].rank, static_cast<std::int64_t>(made.straggler));
  EXPECT_EQ(run.facts.matched_count, 30);
  EXPECT_TRUE(run.facts.clocks.corrected);
  ASSERT_NE(run.find("straggler"), nullptr);
  EXPECT_TRUE(has_evidence(*run.find("straggler"), "Python"));
}

// The same with as many ranks as the issue asks for; half a second each, so not in every run of the tests:
// recorded_test --gtest_also_run_disabled_tests --gtest_filter='*thousand*'. Results: docs/performance.md.
TEST_P(PlantedFleets, DISABLED_the_straggler_of_a_thousand_ranks_is_found) {
  const MadeRun20 made(summary_of("h200/ddp_rank0"), GetParam(), 1024);
  const Judged run = judge(made.run);
  ASSERT_EQ(run.facts.stragglers.size(), 1U);
  EXPECT_EQ(run.facts.ranks[run.facts.stragglers[0]].rank, static_cast<std::int64_t>(made.straggler));
}

TEST_P(PlantedFleets, DISABLED_nobody_is_named_where_nobody_of_a_thousand_was_slowed) {
  const MadeRun20 made(summary_of("h200/ddp_rank0"), GetParam(), 1024, false);
  EXPECT_TRUE(judge(made.run).facts.stragglers.empty());
}

TEST_P(PlantedFleets, nobody_is_named_where_nobody_was_slowed) {
  const MadeRun20 made(summary_of("h200/ddp_rank0"), GetParam(), 64, false);
  const Judged run = judge(made.run);
  EXPECT_TRUE(run.facts.stragglers.empty());
  EXPECT_EQ(run.find("straggler"), nullptr);
  EXPECT_EQ(run.find("rank-imbalance"), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Seeds, PlantedFleets, testing::Range(1U, 21U));

}  // namespace
}  // namespace stepscope
