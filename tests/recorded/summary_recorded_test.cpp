// Summaries of recorded files: parts add up, numbers are those of the facts, and two ranks number the same collectives
// alike.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "analyze/facts.h"
#include "fleet/summarize.h"
#include "recorded/recorded_trace.h"
#include "rules/rules.h"

namespace stepscope {
namespace {

RankSummary summarize(const Trace& trace) {
  const Facts facts = compute_facts(trace, {});
  const RuleInput input{trace, facts};
  const std::vector<Finding> findings = find_all(input);
  return summarize_trace(trace, facts, findings, write_verdict(input, findings));
}

// Those of the cases that hold no event at all cannot be read.
constexpr const char* kUnreadable[] = {"cases/A23_metadata_only.json", "cases/A24_empty_events.json",
                                       "cases/A25_zero_bytes.json"};

std::vector<std::string> recorded_names() {
  std::vector<std::string> names;
  for (const char* folder : {"h200", "jax", "cases", "capture"}) {
    const auto inside = std::filesystem::path(STEPSCOPE_TESTS_DIR) / "data" / folder;
    for (const auto& entry : std::filesystem::directory_iterator(inside)) {
      if (!entry.is_regular_file()) continue;
      const std::string name = std::string(folder) + "/" + entry.path().filename().string();
      if (std::find(std::begin(kUnreadable), std::end(kUnreadable), name) == std::end(kUnreadable))
        names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string without_ending(std::string name) {
  constexpr std::string_view kEnding = ".pt.trace.json.gz";
  if (name.ends_with(kEnding)) name.resize(name.size() - kEnding.size());
  return name;
}

class SummaryOfRecorded : public testing::TestWithParam<std::string> {};

TEST_P(SummaryOfRecorded, PartsAddUpAndNumbersAreThoseOfTheFacts) {
  const Trace& trace = recorded_trace(without_ending(GetParam()));
  const Facts facts = compute_facts(trace, {});
  const RankSummary summary = summarize(trace);
  ASSERT_EQ(summary.steps.size(), std::max<std::size_t>(1, facts.steps.steps.size()));
  for (std::size_t i = 0; i < summary.steps.size(); ++i) {
    const SummaryStep& step = summary.steps[i];
    DurationNs idle = 0, work = 0;
    for (const DurationNs part : step.idle_ns) idle += part;
    for (const SummaryWork& row : summary.work) work += row.busy_by_step_ns.at(i);
    EXPECT_EQ(work, step.gpu_busy_ns) << "step " << step.number;
    if (facts.main_busy() == nullptr) continue;
    EXPECT_EQ(step.gpu_busy_ns + idle, step.duration_ns) << "step " << step.number;
    if (facts.steps.steps.empty()) continue;
    EXPECT_EQ(step.duration_ns, facts.steps.steps[i].duration_ns());
    EXPECT_EQ(step.gpu_busy_ns, facts.main_busy()->busy_by_step_ns[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, SummaryOfRecorded, testing::ValuesIn(recorded_names()), [](const auto& each) {
  std::string name = without_ending(each.param);
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
});

TEST(SummaryOfRecordedRanks, BothRanksNumberTheSameCollectivesAlike) {
  for (const std::string run : {"h200/ddp", "h200/straggler"}) {
    const RankSummary first = summarize(recorded_trace(run + "_rank0"));
    const RankSummary second = summarize(recorded_trace(run + "_rank1"));
    EXPECT_EQ(first.rank, 0);
    EXPECT_EQ(second.rank, 1);
    EXPECT_TRUE(first.has_clock && second.has_clock);
    ASSERT_EQ(first.groups.size(), 1U);
    EXPECT_EQ(first.groups[0].ranks, (std::vector<std::int64_t>{0, 1}));
    ASSERT_EQ(first.collectives.size(), second.collectives.size());
    ASSERT_FALSE(first.collectives.empty());
    for (std::size_t i = 0; i < first.collectives.size(); ++i) {
      EXPECT_EQ(first.collectives[i].step, second.collectives[i].step);
      EXPECT_EQ(first.collectives[i].sequence, second.collectives[i].sequence);
      EXPECT_EQ(first.collectives[i].bytes, second.collectives[i].bytes);
      EXPECT_LE(first.collectives[i].exposed_ns, first.collectives[i].end_ns - first.collectives[i].start_ns);
    }
  }
}

}  // namespace
}  // namespace stepscope
