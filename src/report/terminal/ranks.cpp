// Several files: a row each, worst first, then the findings over all of them.
#include <fmt/format.h>

#include <algorithm>

#include "report/numbers.h"
#include "report/terminal.h"
#include "report/terminal/sections.h"
#include "report/text.h"
#include "stats/quantiles.h"

namespace stepscope {
namespace {

// Of the median step, whose time stands beside it and which a summary of the same file has; of the window where there
// are no steps.
std::string share_words(const Report& report, std::vector<DurationNs> DeviceBusy::*by_step_ns,
                        DurationNs DeviceBusy::*window_total_ns) {
  const DeviceReport* device = report.main_device();
  if (!report.has_headline() || device == nullptr || device->busy.window_ns <= 0) return "-";
  const std::optional<DurationNs> part = median_ns(device->busy.*by_step_ns), step = report.steps.median_ns;
  if (part && step && *step > 0) return show_percent(static_cast<double>(*part) / static_cast<double>(*step));
  return show_percent(static_cast<double>(device->busy.*window_total_ns) / static_cast<double>(device->busy.window_ns));
}

std::string first_finding_words(const Report& report) {
  if (!report.has_headline()) return "data incomplete";
  if (report.findings.empty()) return "-";
  const Finding& finding = report.findings.front();
  std::string words = finding.id;
  if (finding.saving && finding.saving->mid_ns > 0) words += fmt::format(" -{}", show_duration(finding.saving->mid_ns));
  return words;
}

void add_row(const Page& page, Line& line, std::size_t label_width, const std::vector<std::string>& numbers,
             std::string_view last, Ink ink) {
  constexpr std::size_t kColumn = 10;
  std::size_t edge = kLabelColumn + label_width;
  for (const std::string& number : numbers) line.add_right(edge += kColumn, number, ink);
  const std::size_t room = page.style().width - std::min(page.style().width, line.width() + 3);
  line.pad_to(line.width() + 3).add(shorten_end(last, room), ink);
}

void add_rows(const RankReports& ranks, Page& page) {
  const std::vector<std::string> labels = report_labels(ranks.reports);
  std::size_t label_width = 4;
  for (const std::string& label : labels) label_width = std::max(label_width, display_width(clean_text(label)));
  label_width = std::min(label_width, page.style().width - 60);
  Line head = page.line();
  head.pad_to(kLabelColumn);
  add_row(page, head, label_width, {"ms a step", "GPU busy", "comm."}, "first finding", Ink::kDim);
  page.add(head);
  for (std::size_t i = 0; i < ranks.reports.size(); ++i) {
    const Report& report = ranks.reports[i];
    const bool known = report.has_headline() && report.steps.median_ns.has_value();
    Line line = page.line();
    line.pad_to(kLabelColumn).add(shorten_middle(clean_text(labels[i]), label_width), Ink::kBold);
    const std::string step = known ? show_decimal(static_cast<double>(*report.steps.median_ns) / 1e6, 2) : "-";
    add_row(page, line, label_width,
            {step, share_words(report, &DeviceBusy::busy_by_step_ns, &DeviceBusy::gpu_busy_ns),
             share_words(report, &DeviceBusy::exposed_communication_by_step_ns, &DeviceBusy::exposed_communication_ns)},
            first_finding_words(report), Ink::kPlain);
    page.add(line);
  }
}

std::string where_words(const SharedFinding& shared, std::size_t all) {
  if (shared.found_on.size() == all && all > 1) return "on all";
  std::string text = "on ";
  constexpr std::size_t kMostNamed = 6;
  for (std::size_t i = 0; i < std::min(kMostNamed, shared.found_on.size()); ++i) {
    text += (i > 0 ? ", " : "") + clean_text(shared.found_on[i]);
  }
  if (shared.found_on.size() > kMostNamed) text += fmt::format(" and {} more", shared.found_on.size() - kMostNamed);
  return text;
}

void add_shared_findings(const RankReports& ranks, Page& page) {
  for (std::size_t i = 0; i < ranks.findings.size(); ++i) {
    const Finding& finding = ranks.findings[i].finding;
    page.blank();
    Line line = page.line();
    line.pad_to(kLabelColumn).add(std::to_string(i + 1)).pad_to(5).add(finding.id, Ink::kBold);
    line.pad_to(29).add(saving_words(finding));
    page.add(line.add_right(page.style().width, severity_name(finding.severity), severity_ink(finding.severity)));
    page.paragraph(finding.title, 5);
    page.paragraph(where_words(ranks.findings[i], ranks.reports.size()), 5, Ink::kDim);
    if (!finding.advice.empty()) page.paragraph("Try: " + finding.advice.front(), 5, Ink::kPlain, 5);
  }
}

// The command for the worst; several recordings of one file differ by their rank.
void add_one_in_full(const RankReports& ranks, Page& page) {
  if (ranks.reports.empty()) return;
  Report worst;
  worst.info.source = ranks.reports.front().info.source;
  worst.asked = ranks.reports.front().asked;
  const auto same_file = std::count_if(ranks.reports.begin(), ranks.reports.end(),
                                       [&](const Report& report) { return report.info.source == worst.info.source; });
  if (same_file > 1) worst.asked.rank = ranks.reports.front().info.rank;
  Line line = page.line();
  line.pad_to(kLabelColumn).add(more_command(worst, page.style(), "", page.style().width - kLabelColumn));
  constexpr std::string_view kWords = "   # the first row in full";
  if (line.width() + display_width(kWords) <= page.style().width) line.add(kWords, Ink::kDim);
  page.add(line);
}

}  // namespace

std::string write_terminal(const RankReports& ranks, const Style& style) {
  if (ranks.fleet) return write_fleet(ranks, style);
  Page page(style);
  const std::size_t all = ranks.reports.size() + ranks.unusable.size();
  Line title = page.line();
  title.add(fmt::format("{}, worst first", show_counted(static_cast<std::int64_t>(all), "recording")), Ink::kBold);
  const bool complete = ranks.status == ReportStatus::kComplete;
  page.add(title.add_right(style.width, complete ? "data complete" : "not all read whole",
                           complete ? Ink::kGreen : Ink::kRed));
  page.blank();
  if (!ranks.reports.empty()) add_rows(ranks, page);
  for (const UnusableFile& file : ranks.unusable) {
    page.paragraph(clean_text(file.error.to_string()), kLabelColumn, Ink::kRed, 2);
  }
  page.blank();
  page.paragraph(ranks.verdict, kLabelColumn, Ink::kBold);
  add_shared_findings(ranks, page);
  page.blank();
  add_one_in_full(ranks, page);
  return page.text();
}

}  // namespace stepscope
