// The document's promises: always valid JSON, missing is null, withheld headlines are null.
#include "report/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "report/sample_report.h"

namespace stepscope {
namespace {

using nlohmann::json;

TEST(Json, HoldsTheAnswer) {
  const json out = json::parse(write_json(sample_report()));
  EXPECT_EQ(out["schema_version"], 1);
  EXPECT_EQ(out["status"], "complete");
  EXPECT_EQ(out["steps"]["count"], 3);
  EXPECT_EQ(out["steps"]["median_ns"], 100'000'000);
  EXPECT_EQ(out["devices"][0]["gpu_busy_ns"], 120'000'000);
  EXPECT_EQ(out["devices"][0]["idle_by_cause_ns"]["data_loader"], 150'000'000);
  EXPECT_EQ(out["findings"][0]["id"], "data-loader-stall");
  EXPECT_EQ(out["findings"][0]["saving_ns"]["mid"], 50'000'000);
  EXPECT_EQ(out["findings"][0]["evidence"][0]["at"]["start_ns"], 100'000'000);
  EXPECT_TRUE(out["findings"][0]["evidence"][1]["at"].is_null());
  EXPECT_TRUE(out["headline_withheld"].is_null());
}

TEST(Json, PartsOfIdleAddUp) {
  const json out = json::parse(write_json(sample_report()));
  for (const char* view : {"idle_by_cause_ns", "idle_by_cause_edges_ns"}) {
    std::int64_t sum = 0;
    for (const auto& [cause, ns] : out["devices"][0][view].items()) sum += ns.get<std::int64_t>();
    EXPECT_EQ(sum, out["devices"][0]["idle_ns"]);
  }
}

TEST(Json, WithheldHeadlinesAreNullAndTheRestStays) {
  Report report = sample_report();
  report.ledger.headline_withheld = "GPU data incomplete";
  report.status = ReportStatus::kPartial;
  const json out = json::parse(write_json(report));
  EXPECT_EQ(out["status"], "partial");
  EXPECT_EQ(out["headline_withheld"], "GPU data incomplete");
  EXPECT_TRUE(out["steps"]["median_ns"].is_null());
  EXPECT_TRUE(out["devices"][0]["gpu_busy_ns"].is_null());
  EXPECT_TRUE(out["devices"][0]["idle_by_cause_ns"].is_null());
  EXPECT_TRUE(out["efficiency"]["mfu_ratio"].is_null());
  EXPECT_EQ(out["devices"][0]["gpu_busy_raw_ns"], 120'000'000);
}

TEST(Json, BlockingLaunchesLeaveIdleTimeWithoutCauses) {
  Report report = sample_report();
  report.findings[0].id = "launch-blocking";
  const json device = json::parse(write_json(report))["devices"][0];
  EXPECT_EQ(device["idle_cause_withheld"], "every launch waited for its kernel");
  for (const char* key : {"idle_by_cause_ns", "idle_by_cause_edges_ns", "idle_details", "idle_drained_by_wait_ns"}) {
    EXPECT_TRUE(device.contains(key) && device[key].is_null()) << key;
  }
  EXPECT_EQ(device["idle_ns"], 180'000'000);
  EXPECT_TRUE(json::parse(write_json(sample_report()))["devices"][0]["idle_cause_withheld"].is_null());
}

TEST(Json, TheStepsThatAreReplayedAndTheirScaleStandWhereTheyAreNotTheFirst) {
  Report report = sample_report();
  json check = json::parse(write_json(report))["what_if"]["self_check"];
  EXPECT_FALSE(check.contains("first_step") || check.contains("scale")) << check;
  report.what_ifs.self_check.first_step = 1;
  report.what_ifs.self_check.scale = 1.2;
  check = json::parse(write_json(report))["what_if"]["self_check"];
  EXPECT_EQ(check["first_step"], 1);
  EXPECT_EQ(check["scale"], 1.2);
}

TEST(Json, NothingMakesItInvalid) {
  Report report = sample_report();
  report.info.source = "bad \xff\xfe \"quoted\" \x01 name";
  report.findings[0].title = std::string("nul \0 inside", 12);
  report.efficiency.mfu_ratio = std::nan("");
  report.flops.total = INFINITY;
  const json out = json::parse(write_json(report));
  EXPECT_TRUE(out["efficiency"]["mfu_ratio"].is_null());
  EXPECT_TRUE(out["efficiency"]["flops"].is_null());
}

TEST(Json, AnEmptyReportHasAllKeys) {
  const json empty = json::parse(write_json(Report()));
  const json full = json::parse(write_json(sample_report()));
  for (const auto& [key, value] : full.items()) {
    if (key != "tables") {
      EXPECT_TRUE(empty.contains(key)) << key;
    }
  }
  EXPECT_TRUE(empty["steps"]["median_ns"].is_null());
  EXPECT_EQ(empty["devices"].size(), 0U);
}

TEST(Json, AFileThatCannotBeReadStillGivesADocument) {
  const json out = json::parse(write_json(UnusableFile{"x.json", {ErrorCode::kEmpty, "file is empty", "x.json"}}));
  EXPECT_EQ(out["status"], "unusable");
  EXPECT_EQ(out["error"]["code"], "empty");
  EXPECT_TRUE(out["error"]["byte_offset"].is_null());
  const json no_path = json::parse(write_json(UnusableFile{"", {ErrorCode::kInvalidArgument, "wrong usage", ""}}));
  EXPECT_TRUE(no_path["source"]["path"].is_null());
  EXPECT_EQ(no_path["error"]["code"], "invalid_argument");
}

TEST(Json, RanksHaveOneListOfFindings) {
  Report first = sample_report(), second = sample_report();
  first.info.rank = 0;
  second.info.rank = 1;
  second.findings[0].saving_ratio = 0.6;
  std::vector<Report> reports;
  reports.push_back(first);
  reports.push_back(second);
  const json out = json::parse(write_json(join_reports(std::move(reports), {})));
  ASSERT_EQ(out["ranks"].size(), 2U);
  EXPECT_EQ(out["ranks"][0]["label"], "rank 1");  // worst first
  ASSERT_EQ(out["findings"].size(), 1U);
  EXPECT_EQ(out["findings"][0]["found_on"], json::array({"rank 1", "rank 0"}));
  EXPECT_EQ(out["findings"][0]["saving_ratio"], 0.6);
}

}  // namespace
}  // namespace stepscope
