// Findings of the case files: what a damaged or odd file may say, and that none of them breaks a rule.
#include <gtest/gtest.h>

#include <filesystem>

#include "recorded/recorded_trace.h"
#include "rules/rules.h"

namespace stepscope {
namespace {

std::vector<Finding> findings_of(const std::string& name, std::string* verdict = nullptr) {
  const Trace& trace = recorded_trace("cases/" + name);
  const Facts facts = compute_facts(trace, {});
  const RuleInput input{trace, facts};
  std::vector<Finding> findings = find_all(input);
  if (verdict != nullptr) *verdict = write_verdict(input, findings);
  return findings;
}

TEST(CaseFindings, lost_kernels_withhold_the_verdict) {
  std::string verdict;
  const auto findings = findings_of("A21b_events_only_in_two_steps.json", &verdict);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].id, "incomplete-data");
  EXPECT_EQ(findings[0].severity, Severity::kFault);
  EXPECT_NE(verdict.find("30 of 32 launches have no kernel"), std::string::npos) << verdict;
}

TEST(CaseFindings, two_writers_and_merged_ranks_withhold_it_too) {
  for (const char* name : {"A10_two_ranks_interleaved.json", "A35_merged_two_ranks.json"}) {
    const auto findings = findings_of(name);
    ASSERT_EQ(findings.size(), 1U) << name;
    EXPECT_EQ(findings[0].id, "incomplete-data") << name;
    EXPECT_EQ(findings[0].severity, Severity::kFault) << name;
  }
}

TEST(CaseFindings, none_rests_on_a_swallowing_duration) {
  const auto findings = findings_of("A21_dur_swallows_next.json");
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].id, "incomplete-data");
  EXPECT_EQ(findings[0].severity, Severity::kNote);
  for (const Finding& finding : findings) {
    EXPECT_NE(finding.severity, Severity::kFault) << finding.id;
    EXPECT_NE(finding.id, "compute-bound");
    EXPECT_EQ(finding.title.find("sticky_kernel"), std::string::npos);
    for (const Evidence& evidence : finding.evidence) {
      EXPECT_EQ(evidence.text.find("sticky_kernel"), std::string::npos) << evidence.text;
    }
  }
}

TEST(CaseFindings, the_control_has_no_word_about_its_data) {
  for (const Finding& finding : findings_of("A00_good.json")) EXPECT_NE(finding.id, "incomplete-data");
}

TEST(CaseFindings, without_steps_nothing_is_claimed_a_step) {
  std::string verdict;
  for (const Finding& finding : findings_of("A22_no_profiler_step.json", &verdict))
    EXPECT_FALSE(finding.saving) << finding.id;
  EXPECT_NE(verdict.find("No steps are marked"), std::string::npos) << verdict;
}

TEST(CaseFindings, every_case_file_is_survived) {
  const std::filesystem::path folder = std::filesystem::path(STEPSCOPE_TESTS_DIR) / "data" / "cases";
  int read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.find(".json") == std::string::npos) continue;
    // Files that hold nothing are refused by the importer, as its own tests say.
    if (name.starts_with("A23") || name.starts_with("A24") || name.starts_with("A25")) continue;
    std::string verdict;
    for (const Finding& finding : findings_of(name, &verdict)) {
      EXPECT_FALSE(finding.title.empty()) << name;
      EXPECT_FALSE(finding.advice.empty()) << name;
    }
    EXPECT_FALSE(verdict.empty()) << name;
    ++read;
  }
  EXPECT_GT(read, 30);
}

}  // namespace
}  // namespace stepscope
