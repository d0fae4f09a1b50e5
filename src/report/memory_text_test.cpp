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
    live.count = add_counts(live.count, 12);
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

// Cells of a line: what two spaces or more part.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  for (std::size_t at = line.find_first_not_of(' '); at < line.size(); at = line.find_first_not_of(' ', at)) {
    const std::size_t end = std::min(line.find("  ", at), line.size());
    cells.emplace_back(line.substr(at, end - at));
    at = end;
  }
  return cells;
}

// The rows under a heading that begins with `first` have as many cells as it, and `more` before them.
void expect_table(const std::string& text, const std::string& first, std::size_t row_count, std::size_t more) {
  const auto lines = lines_of(text);
  const auto heading = std::find_if(lines.begin(), lines.end(), [&](const std::string& line) {
    const auto cells = cells_of(line);
    return !cells.empty() && cells[0] == first;
  });
  ASSERT_GT(lines.end() - heading, static_cast<std::ptrdiff_t>(row_count)) << first << "\n" << text;
  const std::size_t cell_count = cells_of(*heading).size();
  for (std::size_t i = 1; i <= row_count; ++i) {
    EXPECT_EQ(cells_of(heading[static_cast<std::ptrdiff_t>(i)]).size(), cell_count + more) << text;
  }
}

TEST(MemoryText, ColumnsStayApartWhateverTheValues) {
  for (int bits = 0; bits < 63; bits += 3) {
    const std::int64_t bytes = (std::int64_t{1} << bits) + (std::int64_t{1} << bits) / 3;
    for (const std::size_t width : {80U, 160U}) {
      MemoryReport report = made_report();
      for (MemoryLevelReport& level : report.devices[0].levels) level.start_bytes = level.end_bytes = bytes;
      for (MemoryLevelReport& level : report.devices[0].levels) level.peak_bytes = bytes;
      report.is_live_asked = true;
      report.live->groups = {{"a.py:1 f", bytes, bytes}, {"b.py:2 g", 1, MaybeInt{}}};
      report.devices[0].steps_name = "step";
      report.devices[0].steps = {{bytes, 0, bytes, bytes, {}}, {1, 0, 1, 1, {}}};
      report.what_if = MemoryWhatIfReport{};
      report.what_if->capacity_bytes = bytes;
      AllocatorWhatIf result{"no_caching", {}, {}, bytes};
      result.run.reserved_peak_bytes = result.run.retries = bytes;
      result.run.oom = SimulatedOom{};
      report.what_if->rows.push_back({"no_caching", result, static_cast<std::size_t>(bytes)});
      const std::string text = write_memory_text(report, style_of(width));
      expect_table(text, "start", kMemoryLevelKindCount, 1);
      expect_table(text, "requested", 2, 0);
      expect_table(text, "step", 2, 0);
      expect_table(text, "reserves", 1, 0);
      report.lifetimes = LifetimesReport{};
      report.lifetimes->has_times = true;
      report.lifetimes->made_count = 2;
      report.lifetimes->byte_time = {{"a.py:1 f", static_cast<double>(bytes) * 1e9, bytes, bytes},
                                     {"b.py:2 g", 0.1, 1, {}}};
      report.lifetimes->never_freed = {{"a.py:1 f", bytes, bytes}};
      expect_table(write_memory_text(report, style_of(width)), "requested", 2, 0);
      report.lifetimes->has_times = false;
      expect_table(write_memory_text(report, style_of(width)), "requested", 1, 0);
      report.diff = MemoryDiffReport{};
      report.diff->at = report.diff->other_at = "peak";
      report.diff->rows = {{"a.py:1 f", bytes, 0, bytes, 0}, {"b.py:2 g", 0, bytes, 0, {}}};
      expect_table(write_memory_text(report, style_of(width)), "difference", 2, 0);
    }
  }
}

TEST(MemoryText, ACountThatIsNotKnownIsADash) {
  MemoryReport report = made_report();
  report.devices[0].older_count = MaybeInt{};
  for (MemoryLevelReport& level : report.devices[0].levels) level.start_bytes = 500 * kMiB;
  report.is_live_asked = true;
  report.live->groups = {{"older than the history", 500 * kMiB, MaybeInt{}}, {"a.py:1 f", kMiB, 3}};
  report.live->count = MaybeInt{};
  const std::string text = write_memory_text(report, style_of(80));
  EXPECT_NE(text.find("500 MiB is older than the history; so may"), std::string::npos) << text;
  EXPECT_NE(text.find("  -  older than the history"), std::string::npos) << text;
  const std::string json = write_memory_json(report);
  EXPECT_NE(json.find("\"older_count\": null"), std::string::npos);
  EXPECT_NE(json.find("\"count\": null,\n    \"groups\""), std::string::npos) << json;
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
