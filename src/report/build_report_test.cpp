// From a drawn trace to a report: nothing is lost on the way, and the excerpt shows what was drawn.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/json.h"
#include "report/report.h"
#include "report/step_table.h"
#include "report/terminal.h"
#include "rules/rules.h"
#include "support/trace_from_text.h"

namespace stepscope {
namespace {

// Two steps of 300 us; in each the host prepares data for 100 us before it launches.
Trace drawn() {
  return trace_from_text(R"(
    step      [4                           ][5                           ]
    span       [data    ]                    [data    ]
    op                   [mm  ]                        [mm  ]
    call                  [L1]                          [L2]
    gpu/7                     [K1==========]                [K2==========]
    where
      mm = aten::mm ext 1
      L1 = cudaLaunchKernel corr 1 ext 1
      K1 = gemm_kernel corr 1 ext 1
      L2 = cudaLaunchKernel corr 2 ext 1
      K2 = gemm_kernel corr 2 ext 1
  )");
}

struct Built {
  Trace trace = drawn();
  Facts facts = compute_facts(trace, {});
};

Report build(const Built& built, const ReportOptions& options, std::vector<Finding> findings = {}) {
  return build_report(built.trace, built.facts, std::move(findings), "A verdict.", options);
}

TEST(BuildReport, TakesTheFactsOver) {
  const Built built;
  ReportOptions options;
  options.top_count = 5;
  const Report report = build(built, options);
  EXPECT_EQ(report.status, ReportStatus::kComplete);
  ASSERT_EQ(report.devices.size(), 1U);
  EXPECT_TRUE(report.devices[0].is_main);
  EXPECT_EQ(report.devices[0].busy.gpu_busy_ns + report.devices[0].busy.idle_ns, report.devices[0].busy.window_ns);
  EXPECT_TRUE(report.devices[0].busy.busy.empty());  // the intervals themselves stay behind
  EXPECT_EQ(report.step_divisor(), 2);
  EXPECT_EQ(report.verdict, "A verdict.");
  ASSERT_TRUE(report.tables.has_value());
  EXPECT_EQ(report.tables->kernels[0].name, "gemm_kernel");
  EXPECT_EQ(report.tables->kernels[0].count, 2);
  EXPECT_FALSE(report.shown_finding.has_value());
}

TEST(BuildReport, TablesAndLaunchesAreOfTheDeviceThatIsShown) {
  const Trace trace = trace_from_text(R"(
    step      [4                           ][5                           ]
    op         [mm  ]   [add ]               [mm  ]   [add ]
    call        [L1]     [L2]                 [L3]     [L4]
    gpu/7           [K1=========]                 [K3=========]
    gpu1/7                   [K2====]                      [K4====]
    where
      mm = aten::mm ext 1
      add = aten::add ext 2
      L1 = cudaLaunchKernel corr 1 ext 1
      K1 = gemm_kernel corr 1 ext 1
      L2 = cudaLaunchKernel corr 2 ext 2
      K2 = add_kernel corr 2 ext 2
      L3 = cudaLaunchKernel corr 3 ext 1
      K3 = gemm_kernel corr 3 ext 1
      L4 = cudaLaunchKernel corr 4 ext 2
      K4 = add_kernel corr 4 ext 2
  )");
  ReportOptions options;
  options.top_count = 5;
  for (const std::int64_t number : {0, 1}) {
    FactOptions facts_options;
    facts_options.device_number = number;
    const Facts facts = compute_facts(trace, facts_options);
    const Report report = build_report(trace, facts, {}, "", options);
    ASSERT_EQ(report.devices.size(), 2U);
    ASSERT_TRUE(report.tables);
    EXPECT_EQ(report.main_device()->number, number);
    ASSERT_EQ(report.tables->kernels.size(), 1U);
    EXPECT_EQ(report.tables->kernels[0].name, number == 0 ? "gemm_kernel" : "add_kernel");
    // No more than the device was busy.
    EXPECT_EQ(report.tables->kernel_total_ns, report.main_device()->busy.gpu_busy_ns);
    ASSERT_EQ(report.tables->operators_by_device.size(), 1U);
    EXPECT_EQ(report.tables->operators_by_device[0].name, number == 0 ? "aten::mm" : "aten::add");
    EXPECT_EQ(report.tables->operator_device_total_ns, report.tables->kernel_total_ns);
    EXPECT_EQ(report.tables->operators_by_cpu.size(), report.tables->operator_count);
    EXPECT_EQ(report.launches.kernel_count, 2);
    EXPECT_EQ(report.launches.latency_count, 2);
    EXPECT_EQ(report.launches.median_kernel_ns, report.main_device()->busy.gpu_busy_ns / 2);
    EXPECT_EQ(nlohmann::json::parse(write_json(report))["launches"]["device"], number);
    const std::string text = write_terminal(report, {});
    const std::string name = std::to_string(number);
    EXPECT_NE(text.find("Kernels of device " + name + " by time per step"), std::string::npos) << text;
    EXPECT_NE(text.find("Operators by own time on device " + name + " per step"), std::string::npos) << text;
  }
  const Report alone = build(Built(), options);
  EXPECT_EQ(write_terminal(alone, {}).find("of device"), std::string::npos);
  EXPECT_TRUE(nlohmann::json::parse(write_json(alone))["launches"]["device"].is_null());
}

// Step 5 was recorded but for its span: what it did is in no sum, or the steps would seem to do half as much more.
// One process drives two devices, as DataParallel does: half of the calls gave each of them work.
TEST(BuildReport, AnOperatorHasTheCallsThatGaveTheShownDeviceWork) {
  const Trace trace = trace_from_text(R"(
    step      [4                           ][5                           ]
    op         [mm  ]   [nn  ]               [oo  ]   [pp  ]
    call        [L1]     [L2]                 [L3]     [L4]
    gpu/7           [K1=========]                 [K3=========]
    gpu1/7                   [K2====]                      [K4====]
    where
      mm = aten::mm ext 1
      nn = aten::mm ext 2
      oo = aten::mm ext 3
      pp = aten::mm ext 4
      L1 = cudaLaunchKernel corr 1 ext 1
      K1 = gemm_kernel corr 1 ext 1
      L2 = cudaLaunchKernel corr 2 ext 2
      K2 = gemm_kernel corr 2 ext 2
      L3 = cudaLaunchKernel corr 3 ext 3
      K3 = gemm_kernel corr 3 ext 3
      L4 = cudaLaunchKernel corr 4 ext 4
      K4 = gemm_kernel corr 4 ext 4
  )");
  ReportOptions options;
  options.top_count = 5;
  const Report report = build_report(trace, compute_facts(trace, {}), {}, "", options);
  ASSERT_EQ(report.devices.size(), 2U);
  ASSERT_EQ(report.tables->operators_by_device.size(), 1U);
  EXPECT_EQ(report.tables->operators_by_device[0].count, 2);
  const auto by_cpu = std::find_if(report.tables->operators_by_cpu.begin(), report.tables->operators_by_cpu.end(),
                                   [](const OperatorRow& row) { return row.name == "aten::mm"; });
  ASSERT_NE(by_cpu, report.tables->operators_by_cpu.end());
  EXPECT_EQ(by_cpu->count, 4);
}

TEST(BuildReport, AStepThatIsMissingIsInNoSum) {
  Built built{trace_from_text(R"(
    step      [4                ]                  [6                ]
    op         [mm  ]             [mm  ]             [mm  ]
    call        [L1]               [L2]               [L3]
    gpu/7           [K1=======]        [K2=======]        [K3=======]
    where
      mm = aten::mm
      L1 = cudaLaunchKernel corr 1
      K1 = gemm_kernel corr 1
      L2 = cudaLaunchKernel corr 2
      K2 = gemm_kernel corr 2
      L3 = cudaLaunchKernel corr 3
      K3 = gemm_kernel corr 3
  )"),
              {}};
  built.facts = compute_facts(built.trace, {});
  ReportOptions options;
  options.top_count = 5;
  const Report report = build(built, options);
  ASSERT_EQ(report.step_divisor(), 2);
  EXPECT_EQ(report.steps.missing, (std::vector<MissingSteps>{{5, 5}}));
  DurationNs steps_ns = 0;
  for (const Step& step : report.steps.steps) steps_ns += step.duration_ns();
  EXPECT_EQ(report.devices[0].busy.window_ns, steps_ns);
  EXPECT_EQ(report.tables->kernels[0].count, 2);
  ASSERT_EQ(report.tables->operators_by_cpu.size(), 3U);
  for (const OperatorRow& row : report.tables->operators_by_cpu) EXPECT_EQ(row.count, 2) << row.name;
  EXPECT_NE(write_steps_text(build_step_table(built.facts, built.trace), {}).find("step #5 is missing"),
            std::string::npos);
}

TEST(BuildReport, StepsHaveNoMedianWhereTheReportHasNone) {
  Built built;
  built.facts.ledger.headline_withheld = "unsound";
  const StepTable table = build_step_table(built.facts, built.trace);
  EXPECT_FALSE(table.median_ns || table.p10_ns || table.p90_ns);
  EXPECT_EQ(table.rows.size(), 2U);
}

TEST(BuildReport, MakesNoTablesUnlessAskedFor) { EXPECT_FALSE(build(Built(), {}).tables.has_value()); }

TEST(BuildReport, DrawsTheEvidenceOfTheFindingAskedFor) {
  const Built built;
  Finding finding;
  finding.id = "data-loader-stall";
  finding.title = "escape \x1b[31m sequences";
  const Interval data{built.trace.spans.start_ns[SpanId(std::size_t{1})],
                      built.trace.spans.end_ns[SpanId(std::size_t{1})]};
  finding.evidence = {{"the span", data}, {"no place", std::nullopt}};
  ReportOptions options;
  options.finding = 0;
  options.excerpt_cell_count = 40;
  const Report report = build(built, options, {finding});
  EXPECT_EQ(report.findings[0].title.find('\x1b'), std::string::npos);
  ASSERT_EQ(report.excerpts.size(), 1U);
  const Excerpt& excerpt = report.excerpts[0];
  EXPECT_EQ(excerpt.evidence, data);
  EXPECT_LT(excerpt.shown.start_ns, data.start_ns);
  EXPECT_GT(excerpt.shown.end_ns, data.end_ns);
  bool has_box = false, has_stream = false;
  for (const ExcerptRow& row : excerpt.rows) {
    for (const ExcerptBox& box : row.boxes) has_box = has_box || box.name == "data";
    if (row.kind == ExcerptRowKind::kStream) {
      has_stream = true;
      EXPECT_EQ(row.cells.size(), 40U);
    }
    for (const ExcerptCell& cell : row.cells) EXPECT_LE(cell.filled_ratio, 1.0F);
  }
  EXPECT_TRUE(has_box);
  EXPECT_TRUE(has_stream);
}

TEST(BuildReport, AFindingThatIsNotThereIsNotShown) {
  ReportOptions options;
  options.finding = 7;
  EXPECT_FALSE(build(Built(), options).shown_finding.has_value());
}

TEST(BuildReport, AnEmptyTraceGivesAReport) {
  const Trace trace;
  const Facts facts = compute_facts(trace, {});
  const Report report = build_report(trace, facts, {}, "", {});
  EXPECT_TRUE(report.devices.empty());
  EXPECT_EQ(report.main_device(), nullptr);
  EXPECT_EQ(report.step_divisor(), 1);
}

TEST(StepTable, BusyAndIdleMakeTheStep) {
  const Built built;
  const StepTable table = build_step_table(built.facts, built.trace);
  ASSERT_EQ(table.rows.size(), 2U);
  for (const StepRow& row : table.rows) {
    EXPECT_EQ(row.gpu_busy_ns.value_or(0) + row.idle_ns.value_or(0), row.duration_ns);
  }
  EXPECT_EQ(table.rows[0].number, 4);
  EXPECT_FALSE(table.rows[0].allocated_peak_bytes.has_value());
}

}  // namespace
}  // namespace stepscope
