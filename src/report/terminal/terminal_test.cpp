// What the screen must say and must not, whatever the report holds.
#include "report/terminal.h"

#include <gtest/gtest.h>

#include <sstream>

#include "analyze/step_marks.h"
#include "report/sample_report.h"
#include "report/text.h"

namespace stepscope {
namespace {

void expect_width(const std::string& text, std::size_t width) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), width) << line;
}

bool says(const std::string& text, std::string_view words) { return text.find(words) != std::string::npos; }

TEST(Terminal, AnswersInTheOrderOfQuestions) {
  const std::string text = write_terminal(sample_report(), Style());
  std::size_t at = 0;
  for (const char* words : {"NVIDIA H200, 3 steps (#4 to #6)",
                            "data complete: 300",
                            "100.0 ms",
                            "GPU busy  40 %",
                            "MFU 15.7 % of 989 TFLOP/s",
                            "40-60 %",
                            "The GPU waits for data",
                            "busy 40.0",
                            "idle 60.0",
                            "data-loader-stall",
                            "-50.0 ms (50 %)",
                            "fault",
                            "Try: num_workers=4",
                            "--finding 1",
                            "Kernels by time",
                            "gemm_kernel_a",
                            "Operators by own GPU time",
                            "Memory",
                            "Steps",
                            "Data"}) {
    const std::size_t found = text.find(words, at);
    EXPECT_NE(found, std::string::npos) << words << " in\n" << text;
    if (found != std::string::npos) at = found;
  }
}

// Half of the step is the profiler's: so is half of the time that the FLOPs are held against.
TEST(Terminal, MfuWithoutTheProfilerWhereThatDiffers) {
  Report report = sample_report();
  WhatIf unchanged;
  unchanged.step_unprofiled = {45'000'000, 50'000'000, 55'000'000};
  report.what_ifs.results = {unchanged};
  EXPECT_FALSE(says(write_terminal(report, Style()), "31.4 %"));
  report.findings.push_back(sample_finding());
  report.findings.back().id = "profiler-distortion";
  EXPECT_TRUE(says(write_terminal(report, Style()), "MFU 15.7 % (about 31.4 % without the profiler) of 989 TFLOP/s"));
}

TEST(Terminal, KeepsItsWidth) {
  Report report = sample_report();
  report.info.source = "/a/very/long/path/" + std::string(300, 'x') + "/训练数据 it's.json";
  report.findings[0].title = std::string(500, 'T');
  report.verdict = std::string(300, 'V') + " and more words";
  report.devices[0].name = std::string(200, 'D');
  report.tables->kernels[0].name = "void f<" + std::string(300, 'k') + ">(int)";
  report.notes = {{NoteKind::kDamagedEvent, NoteSeverity::kLost, 3, 12345, std::string(120, '!')}};
  for (const std::size_t width : {60U, 80U, 120U, 400U}) {
    Style style;
    style.width = width;
    expect_width(write_terminal(report, style), width);
    report.shown_finding = 0;
    expect_width(write_terminal_finding(report, style), width);
  }
}

TEST(Terminal, SaysWhatIsUnknown) {
  Report report = sample_report();
  report.steps = Steps();
  report.verdict.clear();
  const std::string text = write_terminal(report, Style());
  EXPECT_TRUE(says(text, "unknown"));
  EXPECT_TRUE(says(text, "prof.step()"));
  EXPECT_TRUE(says(text, "window"));
}

TEST(Terminal, AnEmptyReportHasNoNumbers) {
  const std::string text = write_terminal(Report(), Style());
  EXPECT_TRUE(says(text, "no GPU activity recorded"));
  EXPECT_FALSE(says(text, "0 %")) << text;
  EXPECT_FALSE(says(text, "nan"));
}

TEST(Terminal, AProgramWithoutAGpuGetsItsStepTime) {
  Report report = sample_report();
  report.devices.clear();
  report.findings.clear();
  report.ledger = Ledger();
  report.ledger.is_host_only = true;
  report.steps.host_span_median_ns = 60'000'000;
  report.steps.host_lead_ns = 160'000'000;
  const std::string text = write_terminal(report, Style());
  EXPECT_TRUE(says(text, "data complete: CPU only"));
  EXPECT_TRUE(says(text, "step "));
  EXPECT_TRUE(says(text, "stepscope ops FILE"));
  EXPECT_FALSE(says(text, "on the GPU"));
  EXPECT_FALSE(says(text, "GPU busy"));
  EXPECT_FALSE(says(text, "unknown"));
}

TEST(Terminal, ACommandNamesNoFileWhereThereIsNone) {
  Report report = sample_report();
  report.info.source = "t.json";
  EXPECT_TRUE(says(write_terminal(report, Style()), "stepscope report t.json"));
  for (const char* const source : {"standard input", "this process"}) {
    report.info.source = source;
    EXPECT_TRUE(says(write_terminal(report, Style()), "stepscope report FILE")) << source;
  }
}

TEST(Terminal, AWithheldHeadlineIsNotShown) {
  Report report = sample_report();
  report.ledger.headline_withheld = "30 of 32 launches have no kernel";
  report.verdict = "This recording cannot carry a verdict: 30 of 32 launches have no kernel";
  const std::string text = write_terminal(report, Style());
  EXPECT_TRUE(says(text, "cannot carry a verdict"));
  EXPECT_FALSE(says(text, "GPU busy"));
  EXPECT_FALSE(says(text, "MFU"));
  EXPECT_FALSE(says(text, "mean step"));
}

TEST(Terminal, AHostThatRunsAheadIsSaid) {
  Report report = sample_report();
  report.steps.host_span_median_ns = 60'000'000;
  report.steps.host_lead_ns = 160'000'000;
  const std::string text = write_terminal(report, Style());
  EXPECT_TRUE(says(text, "1.6 steps"));
  EXPECT_TRUE(says(text, "a clock around the step would have said"));
}

TEST(Terminal, BlockingLaunchesHaveNoEstimateAndNoCauses) {
  Report report = sample_report();
  report.what_ifs.self_check.refused.reset();
  report.findings.front().id = "launch-blocking";
  const std::string text = write_terminal(report, Style());
  EXPECT_TRUE(says(text, "idle 60.0: every launch waited for its kernel"));
  EXPECT_FALSE(says(text, "without the profiler "));
  EXPECT_FALSE(says(text, "Why the GPU was idle"));
}

TEST(Terminal, ARefusedEstimateIsSaid) {
  Report report = sample_report();
  report.what_ifs.self_check.refused = "the replay is off by 20 %";
  EXPECT_TRUE(says(write_terminal(report, Style()), "without the profiler: no estimate, see Data below"));
}

TEST(Terminal, OneStepsEndIsSaidWithWhatToDo) {
  Report report = sample_report();
  report.steps = Steps();
  EXPECT_TRUE(says(write_terminal(report, Style()), "unknown: nothing marks or repeats a step"));
  report.steps.source_detail = kOneStepsEnd;
  const std::string text = write_terminal(report, Style());
  EXPECT_TRUE(says(text, "unknown: only one step's end was recorded"));
  EXPECT_TRUE(says(text, "record two steps or more"));
  EXPECT_FALSE(says(text, "--steps NAME")) << "no span that could be named would help";
}

// Of a long run some steps are replayed: which, and what their answers are scaled by.
TEST(Terminal, SaysWhichStepsAreReplayedAndTheirScale) {
  Report report = sample_report();
  const auto said = [&report] {
    std::istringstream lines(write_terminal(report, Style()));
    std::string text;
    for (std::string word; lines >> word;) text += word + " ";
    return text;
  };
  EXPECT_TRUE(says(said(), "Predictions replay 3 steps and meet the recorded step within 0.1 %;"));
  report.what_ifs.self_check.first_step = 1;
  report.what_ifs.self_check.step_count = 2;
  EXPECT_TRUE(says(said(), "Predictions replay 2 steps (#5 to #6) and meet the recorded step within 0.1 %;"));
  report.what_ifs.self_check.scale = 1.2;
  EXPECT_TRUE(says(said(), "Predictions replay 2 steps (#5 to #6), scaled by 1.20 to the median of all, and meet"));
  report.what_ifs.self_check.first_step = 2;
  report.what_ifs.self_check.step_count = 1;
  EXPECT_TRUE(says(said(), "Predictions replay 1 step (#6), scaled by 1.20 to the median of all, and meet"));
}

TEST(Terminal, SynchronizationsNameOperatorAndLine) {
  Report report = sample_report();
  SynchronizationRow row;
  row.count = row.blocked_count = row.hidden_count = 36;
  row.blocked_ns = 9'000'000;
  row.operators = "aten::item > aten::_local_scalar_dense";
  row.python_line = "train.py(52): hook";
  SynchronizationRow at_the_end = row;
  at_the_end.hidden_count = 0;
  at_the_end.blocked_ns = 1000;
  at_the_end.operators = "aten::cheap";
  report.synchronizations = {row, at_the_end};
  const std::string text = write_terminal(report, Style());
  EXPECT_TRUE(says(text, "Synchronizations, per step"));
  EXPECT_TRUE(says(text, "3.00     12       12   aten::item > aten::_local_scalar_dense at"));
  EXPECT_TRUE(says(text, "train.py(52): hook"));
  EXPECT_FALSE(says(text, "aten::cheap"));
}

TEST(Terminal, ACutFileIsSaidFirst) {
  Report report = sample_report();
  report.notes = {{NoteKind::kFileCut, NoteSeverity::kLost, 1, 4639, "cut"}};
  const std::string text = write_terminal(report, Style());
  EXPECT_LT(text.find("The file is cut at byte 4639: copy it again"), text.find("GPU busy"));
}

TEST(Terminal, CommandsCanBePasted) {
  Report report = sample_report();
  report.info.source = "my trace's.json";
  Style style;
  style.width = 120;
  EXPECT_TRUE(says(write_terminal(report, style), R"(stepscope report 'my trace'\''s.json' --finding 1)"));
}

TEST(Terminal, AFindingShowsItsEvidence) {
  Report report = sample_report();
  report.shown_finding = 0;
  Excerpt excerpt;
  excerpt.shown = {90'000'000, 160'000'000};
  excerpt.evidence = {100'000'000, 151'000'000};
  excerpt.origin_ns = 100'000'000;
  excerpt.origin_name = "step 5";
  ExcerptRow boxes;
  boxes.label = "main thread";
  boxes.boxes = {{100'000'000, 151'000'000, "data"}};
  ExcerptRow stream;
  stream.kind = ExcerptRowKind::kStream;
  stream.label = "stream 7";
  stream.cells.assign(60, {static_cast<std::uint8_t>(KernelClass::kMatmul), 0.0F});
  stream.cells[59].filled_ratio = 1.0F;
  excerpt.rows = {boxes, stream};
  report.excerpts = {excerpt};
  report.first_event_ns = 40'000'000;
  const std::string text = write_terminal_finding(report, Style());
  for (const char* words : {"1 of 1", "The longest call took 51 ms.", "from the start of step 5", "^^^^", "[data",
                            ".M\n", "M matmul", "60.000 ms after the first event (Perfetto), ts 100000.000 us",
                            "No place.", "- num_workers=4", "docs/findings/data-loader-stall.md"}) {
    EXPECT_TRUE(says(text, words)) << words << " in\n" << text;
  }
}

TEST(Terminal, SeveralRecordingsAreRows) {
  Report first = sample_report(), second = sample_report();
  first.info.source = "a.json";
  second.info.source = "b.json";
  second.findings.clear();
  std::vector<Report> reports;
  reports.push_back(second);
  reports.push_back(first);
  const RankReports ranks =
      join_reports(std::move(reports), {{"c.json", {ErrorCode::kEmpty, "file is empty", "c.json"}}});
  EXPECT_EQ(ranks.status, ReportStatus::kPartial);
  const std::string text = write_terminal(ranks, Style());
  EXPECT_LT(text.find("a.json"), text.find("b.json"));
  EXPECT_TRUE(says(text, "c.json: file is empty"));
  expect_width(text, 80);
}

}  // namespace
}  // namespace stepscope
