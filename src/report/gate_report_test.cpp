// The sentences and the escapes: names are hostile, formats are not forgiving.
#include "report/gate_report.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace stepscope {
namespace {

GateReport made_report(double base_ns, double new_ns, GateVerdict verdict) {
  GateReport report;
  report.base_files = {"base.sss"};
  report.other_files = {"new.json"};
  for (GateSide* side : {&report.base, &report.other}) {
    GateRun run;
    run.steps_ns.assign(100, base_ns);
    run.device_name = "NVIDIA H200";
    side->runs = {run};
  }
  GateCheck check;
  check.verdict = verdict;
  check.base = base_ns;
  check.other = new_ns;
  check.ratio = new_ns / base_ns;
  check.limit = GateLimit{0.03, std::nullopt};
  check.limit_ratio = 0.03;
  check.comparison.unit = CompareUnit::kSteps;
  check.comparison.interval = ConfidenceInterval{*check.ratio - 0.005, *check.ratio + 0.004};
  check.comparison.sees_noise_between_runs = true;
  report.result.checks = {check};
  report.result.verdict = verdict;
  return report;
}

TEST(GateReport, OneLineSaysWhatFailedAndWhy) {
  GateReport report = made_report(43.5e6, 45.4e6, GateVerdict::kFailed);
  EXPECT_EQ(gate_sentence(report), "gate failed: step 43.5 -> 45.4 ms, +4.4 % (3.9 to 4.8), limit 3 %");
  report.result.explanation = "mostly: matmul on the GPU +1.6 ms";
  EXPECT_EQ(gate_sentence(report),
            "gate failed: step 43.5 -> 45.4 ms, +4.4 % (3.9 to 4.8), limit 3 %; mostly: matmul on the GPU +1.6 ms");
  report.result.checks.front().limit = GateLimit{std::nullopt, 1'500'000};
  EXPECT_NE(gate_sentence(report).find("limit 1.50 ms;"), std::string::npos) << gate_sentence(report);
}

TEST(GateReport, WhatIsMissingIsNoNumber) {
  GateReport report = made_report(43.5e6, 43.6e6, GateVerdict::kCannotTell);
  GateCheck& check = report.result.checks.front();
  check.other.reset();
  check.ratio.reset();
  check.comparison.interval.reset();
  check.doubt = GateDoubt::kMissing;
  check.reason = "new has no steps";
  EXPECT_EQ(gate_sentence(report), "gate cannot tell: new has no steps");
  EXPECT_EQ(gate_values_words(check), "43.5 -> ? ms");
  const auto document = nlohmann::json::parse(write_gate_json(report));
  EXPECT_TRUE(document["checks"][0]["new_ns"].is_null());
  EXPECT_TRUE(document["checks"][0]["ratio"].is_null());
  EXPECT_EQ(document["status"], "partial");
}

TEST(GateReport, MemoryIsToldInBytes) {
  GateReport report = made_report(43.5e6, 43.6e6, GateVerdict::kPassed);
  GateCheck memory;
  memory.quantity = GateQuantity::kReservedPeak;
  memory.verdict = report.result.verdict = GateVerdict::kFailed;
  memory.base = 10.0 * (1 << 30);
  memory.other = 11.0 * (1 << 30);
  memory.ratio = 1.1;
  memory.limit = GateLimit{std::nullopt, 512 << 20};
  report.result.checks.push_back(memory);
  EXPECT_EQ(gate_sentence(report), "gate failed: reserved peak 10.0 GiB -> 11.0 GiB, +10.0 %, limit 512 MiB");
}

TEST(GateReport, XmlHoldsAnyName) {
  GateReport report = made_report(43.5e6, 43.6e6, GateVerdict::kCannotTell);
  report.result.checks.front().doubt = GateDoubt::kLost;
  report.result.losses = {"a<b>&\"c\"'d'\x01\n]]>\xEF\xBF\xBF\xEF\xBF\xBE\xFF.json"};
  report.other_files = {"x\"\t<y>\xC3.json"};
  const std::string xml = write_gate_junit(report);
  EXPECT_NE(xml.find("a&lt;b&gt;&amp;&quot;c&quot;&apos;d&apos;"), std::string::npos) << xml;
  EXPECT_NE(xml.find("]]&gt;\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD.json"), std::string::npos) << xml;
  EXPECT_NE(xml.find("value=\"x&quot; &lt;y&gt;\xEF\xBF\xBD.json\""), std::string::npos) << xml;
  EXPECT_EQ(xml.find('\x01'), std::string::npos);
}

TEST(GateReport, GithubTakesNoNameForACommand) {
  GateReport report = made_report(43.5e6, 45.4e6, GateVerdict::kFailed);
  report.result.explanation = "mostly: 100%0A::error::x\r\n::set-env y";
  const std::string text = "first\n::error::from a name\n";
  const std::string out = write_gate_github(report, text, "stepscope-1234");
  const std::string head = out.substr(0, out.find('\n'));
  EXPECT_TRUE(head.starts_with("::error title=Stepscope gate%3A failed::gate failed: step 43.5 -> 45.4 ms, +4.4 %25 "))
      << head;
  EXPECT_NE(head.find("100%250A::error::x"), std::string::npos) << head;
  EXPECT_TRUE(out.ends_with("\n::stop-commands::stepscope-1234\n" + text + "::stepscope-1234::\n")) << out;
}

TEST(GateReport, OutcomesHaveTheirLevels) {
  const auto level = [](const GateReport& report) {
    const std::string out = write_gate_github(report, "", "t");
    return out.substr(2, out.find(' ') - 2);
  };
  GateReport report = made_report(1e6, 1e6, GateVerdict::kPassed);
  EXPECT_EQ(level(report), "notice");
  report.result.verdict = report.result.checks.front().verdict = GateVerdict::kCannotTell;
  report.result.checks.front().doubt = GateDoubt::kTooFew;
  EXPECT_EQ(level(report), "error");
  report.allow_few = true;
  EXPECT_EQ(level(report), "warning");
  report.result.losses = {"something"};
  EXPECT_EQ(level(report), "error");
  report.has_base = false;
  EXPECT_EQ(level(report), "notice");
}

TEST(GateReport, ATailIsAWarningInEveryOutput) {
  GateReport report = made_report(1e6, 1e6, GateVerdict::kPassed);
  report.result.checks.front().tail = "the mean step is 360.0 % slower";
  report.result.warnings = {report.result.checks.front().tail};
  EXPECT_TRUE(write_gate_github(report, "", "t").starts_with("::warning title=Stepscope gate%3A passed::"));
  EXPECT_NE(write_gate_junit(report).find("<system-out>warning: step 1"), std::string::npos)
      << write_gate_junit(report);
  EXPECT_NE(write_gate_junit(report).find("Note: the mean step is 360.0 % slower"), std::string::npos);
  report.result.checks.front().verdict = report.result.verdict = GateVerdict::kCannotTell;
  report.result.checks.front().doubt = GateDoubt::kNotProven;
  EXPECT_TRUE(gate_sentence(report).starts_with("gate cannot tell: not shown to be within the limit: the mean step"));
}

TEST(GateReport, EachIsSaidOfEqualRunsOnly) {
  GateSide side;
  side.runs.resize(2);
  for (GateRun& run : side.runs) run.rank_count = 8;
  EXPECT_NE(gate_side_words(side).find("each the slowest of 8 ranks"), std::string::npos);
  side.runs.front().rank_count = 2;
  EXPECT_NE(gate_side_words(side).find(", the slowest of 2 to 8 ranks"), std::string::npos) << gate_side_words(side);
}

TEST(GateReport, NumbersThatAreNoneStayOutOfJson) {
  GateReport report = made_report(1e6, 1e6, GateVerdict::kPassed);
  report.result.checks.front().ratio = std::numeric_limits<double>::infinity();
  report.result.checks.front().other = 1e300;
  const auto document = nlohmann::json::parse(write_gate_json(report));
  EXPECT_TRUE(document["checks"][0]["ratio"].is_null());
  EXPECT_TRUE(document["checks"][0]["new_ns"].is_null());
}

}  // namespace
}  // namespace stepscope
