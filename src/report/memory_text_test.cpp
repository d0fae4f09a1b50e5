// The text of a report made by hand: what stands where at 60, 80 and 160 columns, and what is not said when it is not
// known.
#include "report/memory_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "report/text.h"

namespace stepscope {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

MemoryReport made_report() {
  MemoryReport report;
  report.info.source = "a long folder/with blanks/snapshot of the run.pickle";
  report.info.format = "pickle";
  report.settings = "expandable_segments:True,max_split_size_mb:128,garbage_collection_threshold:0.8";
  MemoryDeviceReport device;
  device.is_main = device.has_history = true;
  device.entry_count = 1'234'567;
  device.history_ns = 12'345'678'901;
  device.segment_count = 3;
  device.fragmentation = Fragmentation{10 * kMiB, 6 * kMiB, 2};
  for (MemoryLevelReport& level : device.levels) {
    level = {0, 3000 * kMiB, 2000 * kMiB, {1'000'000, 1'700'000'000'000'000, 11'000'000'000, 41}};
  }
  MemoryOomReport oom;
  oom.place.event = 1'234'566;
  oom.line = "/home/someone/projects/training/runs/model.py:120 forward";
  oom.facts.request_bytes = 12 * kMiB;
  oom.facts.fragmentation = OomFragmentation{{20 * kMiB, 8 * kMiB, 3}, 0, 0, 0, 0};
  oom.facts.is_fragmentation = true;
  device.ooms.push_back(oom);
  report.devices.push_back(device);
  report.shown = 0;
  LiveReport live;
  live.at = "peak";
  for (int i = 0; i < 30; ++i) {
    live.groups.push_back(
        {"/home/someone/projects/training/runs/model.py:" + std::to_string(i) + " forward", (100 - i) * kMiB, 12});
    live.bytes += live.groups.back().bytes;
    live.count += 12;
  }
  report.live = live;
  report.categories = {{MemoryCategory::kActivation, false, live.bytes - 500 * kMiB, live.groups[0].name, 100 * kMiB},
                       {MemoryCategory::kParameter, false, 500 * kMiB, "/a/b.py:1 c", 400 * kMiB}};
  report.table_row_count = 10;
  MemoryFinding finding;
  finding.id = "memory-growth";
  finding.severity = Severity::kFault;
  finding.saving_bytes = 48 * kMiB;
  finding.title = "Allocated memory grows by 12.0 MiB a step and is not given back";
  finding.advice = {"Look for what keeps the tensors of loop.py:66 log_loss: a list of losses, a cache, a hook"};
  report.findings = {finding, finding, finding};
  return report;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

Style style_of(std::size_t width) {
  Style style;
  style.width = width;
  return style;
}

TEST(MemoryText, FitsItsWidth) {
  for (const std::size_t width : {60U, 80U, 160U}) {
    for (const std::string& line : lines_of(write_memory_text(made_report(), style_of(width)))) {
      EXPECT_LE(display_width(line), width) << line;
    }
  }
}

TEST(MemoryText, TheFirstScreenHolds24Lines) {
  const auto lines = lines_of(write_memory_text(made_report(), style_of(80)));
  const auto details = std::find(lines.begin(), lines.end(), "Findings, with evidence");
  ASSERT_NE(details, lines.end());
  EXPECT_LE(details - lines.begin() - 1, 24);
}

TEST(MemoryText, TheAnswerNamesCategoryAndLine) {
  const std::string text = write_memory_text(made_report(), style_of(160));
  EXPECT_NE(text.find("are activations"), std::string::npos);
  EXPECT_NE(text.find("most by model.py:0 forward"), std::string::npos);
  EXPECT_NE(text.find("12 MiB refused at #1234566"), std::string::npos);
  EXPECT_NE(text.find("fragmentation"), std::string::npos);
}

TEST(MemoryText, AnInferredCategoryIsCalledSo) {
  MemoryReport report = made_report();
  const auto says = [&](const char* words) {
    return write_memory_text(report, style_of(160)).find(words) != std::string::npos;
  };
  EXPECT_FALSE(says("inferred"));
  report.categories = {{MemoryCategory::kActivation, false, 500 * kMiB, report.live->groups[0].name, 100 * kMiB, true}};
  report.are_categories_inferred = true;
  EXPECT_TRUE(says("are activations (500 MiB, inferred)"));  // one category draws no bar
  report.live->by = LiveGrouping::kCategory;
  EXPECT_TRUE(says("category (inferred)"));
}

TEST(MemoryText, ByDeviceTheSentenceIsOfTheShownOne) {
  MemoryReport report = made_report();
  report.live->by = LiveGrouping::kDevice;
  report.live->groups = {{"cuda:0", 1000 * kMiB, 10}, {"cuda:1", 3000 * kMiB, 30}};
  report.live->bytes = 4000 * kMiB;
  report.categories = {{MemoryCategory::kActivation, false, 800 * kMiB, "", 0},
                       {MemoryCategory::kParameter, false, 200 * kMiB, "", 0}};
  const std::string text = write_memory_text(report, style_of(160));
  EXPECT_NE(text.find("80 % of what GPU 0 holds are activations (800 MiB)"), std::string::npos) << text;
}

TEST(MemoryText, TheSettingOfThePanelIsTheOneAdvised) {
  MemoryReport report = made_report();
  report.what_if = MemoryWhatIfReport{};
  const auto add = [&](const char* conf, bool fails) {
    AllocatorWhatIf result{conf, *parse_allocator_config(conf), {}, std::nullopt};
    if (fails) result.run.oom = SimulatedOom{};
    report.what_if->rows.push_back({conf, result, std::nullopt});
  };
  const auto says = [&](const char* words) {
    return write_memory_text(report, style_of(160)).find(words) != std::string::npos;
  };
  add("max_split_size_mb:64", true);
  add("no_caching", true);
  EXPECT_TRUE(says("avoided by none of 1 setting tried")) << "no_caching is no setting to train with";
  report.what_if->rows.back().result->run.oom.reset();
  EXPECT_TRUE(says("avoided by none of 1 setting tried, only without caching"));
  add("expandable_segments:True,roundup_power2_divisions:8", false);
  add("expandable_segments:True", false);
  report.what_if->best = "expandable_segments:True";
  EXPECT_TRUE(says("avoided by expandable_segments:True and 1 more"));
}

TEST(MemoryText, WithoutHistoryNoPeakIsShown) {
  MemoryReport report = made_report();
  report.devices[0].has_history = false;
  report.devices[0].ooms.clear();
  report.findings.clear();
  for (MemoryLevelReport& level : report.devices[0].levels) level = {{}, {}, 7 * kMiB, {}};
  report.live->at = "end";
  const std::string text = write_memory_text(report, style_of(80));
  EXPECT_NE(text.find("history was not recorded: no timeline, no peak"), std::string::npos) << text;
  EXPECT_NE(text.find("_record_memory_history"), std::string::npos);
  EXPECT_EQ(text.find("peak 0"), std::string::npos);
  EXPECT_EQ(text.find("--what-if"), std::string::npos);
}

TEST(MemoryText, AWithheldReportShowsNoNumber) {
  MemoryReport report = made_report();
  report.withheld = "The file is cut at byte 700: copy it again.";
  report.live.reset();
  report.findings.clear();
  report.devices[0].ooms.clear();
  for (MemoryLevelReport& level : report.devices[0].levels) level = {};
  report.devices[0].fragmentation.reset();
  const std::string text = write_memory_text(report, style_of(80));
  EXPECT_NE(text.find("cannot carry an answer"), std::string::npos);
  EXPECT_EQ(text.find("MiB at the end"), std::string::npos) << text;
}

TEST(MemoryText, AWithheldWhatIfShowsNoRow) {
  MemoryReport report = made_report();
  report.is_what_if_asked = true;
  report.what_if = MemoryWhatIfReport{};
  report.what_if->withheld = "one address differs";
  report.what_if->proof.matched = 17;
  report.what_if->proof.total = 18;
  report.what_if->rows = {{"expandable_segments:True", std::nullopt, std::nullopt}};
  const std::string text = write_memory_text(report, style_of(80));
  EXPECT_NE(text.find("Withheld: one address differs"), std::string::npos);
  EXPECT_NE(text.find("17 of 18"), std::string::npos);
  EXPECT_EQ(text.find("all served"), std::string::npos);
}

TEST(MemoryText, LongLinesKeepTheirEnd) {
  EXPECT_EQ(fit_line("/home/u/train/model.py:120 forward", 80), "/home/u/train/model.py:120 forward");
  EXPECT_EQ(fit_line("/home/u/train/model.py:120 forward", 29), "…/train/model.py:120 forward");
  EXPECT_EQ(fit_line("/home/u/train/model.py:120 forward", 23), "…/model.py:120 forward");
  EXPECT_EQ(display_width(fit_line("/home/u/train/model.py:120 forward", 12)), 12U);
  EXPECT_EQ(short_line("/home/u/a.py:3 f"), "a.py:3 f");
}

TEST(MemoryText, PlacesSayWhatIsKnown) {
  EXPECT_EQ(place_words({}), "at the start");
  EXPECT_EQ(place_words({7, {}, {}, {}}), "after #7");
  EXPECT_EQ(place_words({7, {}, 0, {}}), "after #7 (0 s)");
  EXPECT_EQ(place_words({7, {}, 5'490'000'000, 3}), "after #7 (5.49 s, step 3)");
}

TEST(MemoryJson, WhatIsNotKnownIsNull) {
  MemoryReport report = made_report();
  report.devices[0].has_history = false;
  for (MemoryLevelReport& level : report.devices[0].levels) level = {{}, {}, 7 * kMiB, {}};
  const std::string json = write_memory_json(report);
  EXPECT_NE(json.find("\"peak_bytes\": null"), std::string::npos);
  EXPECT_NE(json.find("\"live_at_peak\": null"), std::string::npos);
  EXPECT_NE(json.find("\"oom_count\": null"), std::string::npos);
}

}  // namespace
}  // namespace stepscope
