// From a drawn trace to a report: nothing is lost on the way, and the excerpt shows what was drawn.
#include <gtest/gtest.h>

#include "report/report.h"
#include "report/step_table.h"
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
