// The answer as data, as text and as JSON: which rows there are, what the first one means, what is refused.
#include "report/mfu_report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "report/text.h"

namespace stepscope {
namespace {

using nlohmann::json;

MfuInput seven_billion() {
  MfuInput input;
  input.model = MfuModel{.shape = {.params = 7e9}, .tokens_per_step = 2e6};
  input.step_s = 9;
  input.gpus = {64, "given"};
  input.peak = {989e12, "given", "", "", ""};
  return input;
}

// The numbers of the recorded GPT, rounded.
MfuInput recorded_gpt() {
  MfuInput input;
  input.peak = {989e12, "NVIDIA H200 data sheet, 2024", "NVIDIA H200", "bf16", "trace"};
  input.gpus = {1, "trace_devices"};
  MfuTrace trace;
  trace.path = "solid.json";
  trace.step_count = 3;
  trace.step_times = {{MfuStepSource::kRecorded, 0.0451}, {MfuStepSource::kUnprofiled, 0.0433}};
  trace.operator_flops = 12.93e12;
  trace.operator_flops_causal_halved = 11.85e12;
  input.trace = trace;
  return input;
}

MfuReport build(const MfuInput& input) {
  auto report = build_mfu_report(input);
  EXPECT_TRUE(report.has_value()) << (report ? "" : report.error().message);
  return report ? *report : MfuReport{};
}

bool says(const std::string& text, std::string_view words) { return text.find(words) != std::string::npos; }

TEST(MfuReport, TheFormulaIsTheAnswer) {
  const MfuReport report = build(seven_billion());
  ASSERT_EQ(report.rows.size(), 1U);
  EXPECT_EQ(report.rows[0].count, MfuCount::kFormula);
  EXPECT_NEAR(*report.rows[0].mfu_ratio[0], 0.1475, 0.00005);
  EXPECT_FALSE(report.rows[0].hfu_ratio[0]);
  const std::string text = write_mfu_text(report, {});
  for (const char* words : {"MFU 14.75%", "6 x 7,000,000,000 parameters", "42 GFLOP x 2,000,000 tokens",
                            "64 GPUs x 989 TFLOP/s x 9 s", "84 PFLOP / 569.7 PFLOP", "given by --peak"}) {
    EXPECT_TRUE(says(text, words)) << words << '\n' << text;
  }
  EXPECT_FALSE(says(text, "HFU 1"));
}

TEST(MfuReport, RecomputationGivesHfu) {
  MfuInput input = seven_billion();
  input.recompute = Recompute::kFull;
  MfuReport report = build(input);
  EXPECT_DOUBLE_EQ(*report.rows[0].hfu_ratio[0] / *report.rows[0].mfu_ratio[0], 4.0 / 3);
  EXPECT_TRUE(says(write_mfu_text(report, {}), "HFU 19.66%"));
  input.recompute = Recompute::kNone;
  report = build(input);
  EXPECT_EQ(report.rows[0].hfu_ratio[0], report.rows[0].mfu_ratio[0]);
  input.recompute = Recompute::kGiven;
  input.recomputed_flops = 10e15;  // of all GPUs
  report = build(input);
  EXPECT_NEAR(*report.rows[0].hfu_ratio[0], 94e15 / (64 * 989e12 * 9), 1e-12);
}

TEST(MfuReport, TheEmbeddingIsShownApart) {
  MfuInput input = seven_billion();
  input.model->vocab = 32000;
  input.model->embedding_params = 32000 * 4096.0;
  const MfuReport report = build(input);
  ASSERT_EQ(report.rows.size(), 2U);
  EXPECT_NEAR(*report.rows[1].mfu_ratio[0] / *report.rows[0].mfu_ratio[0], 1 - 32000 * 4096 / 7e9, 1e-12);
  EXPECT_TRUE(says(write_mfu_text(report, {}), "32,000 x 4,096 = 131,072,000 parameters, 1.87% of all"));
  input.model->embedding_params = 7e9;
  EXPECT_FALSE(build_mfu_report(input));
}

TEST(MfuReport, ATraceHasOperatorsAndItsOwnTimes) {
  MfuInput input = recorded_gpt();
  MfuReport report = build(input);
  ASSERT_EQ(report.rows.size(), 2U);
  EXPECT_EQ(report.rows[0].count, MfuCount::kOperators);
  ASSERT_EQ(report.rows[0].mfu_ratio.size(), 2U);
  EXPECT_NEAR(*report.rows[0].mfu_ratio[1], 12.93e12 / 0.0433 / 989e12, 1e-12);
  // A time and a model that are given come first.
  input.step_s = 0.0435;
  input.model = MfuModel{.shape = {137353728, 12, 768, 1024}, .tokens_per_step = 16384};
  report = build(input);
  EXPECT_EQ(report.rows[0].count, MfuCount::kFormula);
  EXPECT_EQ(report.step_times[0].source, MfuStepSource::kGiven);
  EXPECT_NEAR(*report.rows[0].mfu_ratio[0], 0.357, 0.0005);
  EXPECT_NEAR(*report.rows[1].mfu_ratio[0], 0.301, 0.0006);
  EXPECT_NEAR(*report.rows[2].mfu_ratio[0], 0.275, 0.0006);
}

TEST(MfuReport, OneTraceOfManyGpusIsComparedByGpu) {
  MfuInput input = recorded_gpt();
  input.gpus = {4, "trace_world_size"};
  input.model = MfuModel{.shape = {137353728, 12, 768, 1024}, .tokens_per_step = 4 * 16384};
  const MfuReport report = build(input);
  EXPECT_NEAR(report.rows[0].flops, 15.358e12, 0.001e12);
  EXPECT_EQ(report.rows[1].flops, 12.93e12);
}

TEST(MfuReport, AHundredPercentIsADataError) {
  MfuInput input = seven_billion();
  input.gpus.count = 1;
  auto refused = build_mfu_report(input);
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(says(refused.error().message, "data error: MFU comes out as 943.7%")) << refused.error().message;
  input = seven_billion();
  input.recompute = Recompute::kGiven;
  input.recomputed_flops = 1e18;
  refused = build_mfu_report(input);
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(says(refused.error().message, "HFU comes out as"));
  // Beside the headline it is one empty cell.
  input = recorded_gpt();
  input.trace->step_times.push_back({MfuStepSource::kWindow, 0.001});
  const MfuReport report = build(input);
  EXPECT_FALSE(report.rows[0].mfu_ratio[2]);
  EXPECT_TRUE(says(write_mfu_text(report, {}), ">= 100%"));
  EXPECT_TRUE(json::parse(write_mfu_json(report))["counts"][0]["mfu_ratio"][2].is_null());
}

TEST(MfuReport, NothingToDivideIsAnError) {
  MfuInput input = recorded_gpt();
  input.trace->operator_flops = 0;
  input.trace->operators_not_available = "no shapes";
  const auto no_flops = build_mfu_report(input);
  ASSERT_FALSE(no_flops.has_value());
  EXPECT_TRUE(says(no_flops.error().message, "no shapes"));
  input = recorded_gpt();
  input.trace->step_times.clear();
  EXPECT_FALSE(build_mfu_report(input));
  EXPECT_FALSE(build_mfu_report({}));
}

TEST(MfuReport, TheDocumentHoldsTheSameNumbers) {
  MfuInput input = recorded_gpt();
  input.trace->path = "bad \xff name";
  input.trace->recomputed_flops = 1e12;
  const MfuReport report = build(input);
  const json out = json::parse(write_mfu_json(report));
  EXPECT_EQ(out["schema_version"], 1);
  EXPECT_EQ(out["status"], "complete");
  EXPECT_EQ(out["mfu_ratio"].get<double>(), *report.rows[0].mfu_ratio[0]);
  EXPECT_EQ(out["hfu_ratio"].get<double>(), *report.rows[0].hfu_ratio[0]);
  EXPECT_GT(out["hfu_ratio"], out["mfu_ratio"]);
  EXPECT_EQ(out["step_times"][1]["source"], "trace_unprofiled_estimate");
  EXPECT_EQ(out["step_times"][1]["step_ns"], 43'300'000);
  EXPECT_EQ(out["counts"][1]["flops"], "operators_causal_halved");
  EXPECT_TRUE(out["model"].is_null());
  EXPECT_TRUE(out["recompute"].is_null());
  EXPECT_EQ(out["peak"]["device_name"], "NVIDIA H200");
  const json plain = json::parse(write_mfu_json(build(seven_billion())));
  EXPECT_TRUE(plain["trace"].is_null());
  EXPECT_EQ(plain["model"]["params"], 7e9);
  EXPECT_TRUE(plain["model"]["layers"].is_null());
  EXPECT_EQ(plain["counts"][0]["attention"], "ignored");
}

TEST(MfuReport, LinesFitTheScreen) {
  MfuInput input = recorded_gpt();
  input.model = MfuModel{.shape = {137353728, 12, 768, 1024}, .tokens_per_step = 16384};
  input.model->vocab = 32000;
  input.model->embedding_params = 32000 * 768;
  input.recompute = Recompute::kFull;
  input.trace->operators_without_formula = {"aten::_grouped_mm", "custom::attention"};
  for (const std::size_t width : {80, 120}) {
    Style style;
    style.width = width;
    const std::string text = write_mfu_text(build(input), style);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      EXPECT_LE(display_width(text.substr(at, end - at)), width) << text.substr(at, end - at);
      at = end + 1;
    }
  }
}

}  // namespace
}  // namespace stepscope
