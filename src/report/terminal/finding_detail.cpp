// --finding N: everything known about one finding, so that a reader can check it or argue.
#include <fmt/format.h>

#include "report/numbers.h"
#include "report/terminal.h"
#include "report/terminal/sections.h"

namespace stepscope {
namespace {

std::string saving_sentence(const Finding& finding) {
  if (!finding.saving) return "";
  const auto format = DurationFormat::pick(finding.saving->mid_ns);
  std::string text = fmt::format("Would save {} a step ({} to {})", format.text(finding.saving->mid_ns),
                                 format.number(finding.saving->low_ns), format.number(finding.saving->high_ns));
  if (finding.saving_ratio) text += ", " + show_percent(*finding.saving_ratio);
  text += finding.saving_as_recorded ? ", as recorded." : ", estimated without the profiler.";
  return finding.gain.empty() ? text : text + " " + finding.gain;
}

std::string place_words(const Report& report, Interval at) {
  const auto format = DurationFormat::pick(at.length_ns());
  const TimeNs origin_ns = report.steps.window.start_ns;
  std::string text =
      fmt::format("at {} of the window, {} long", show_duration(at.start_ns - origin_ns), format.text(at.length_ns()));
  if (const auto step = report.steps.find_by_host_time(at.start_ns)) {
    text += fmt::format(", step {}", report.steps.steps[*step].number);
  }
  return text;
}

// Where to scroll to in chrome://tracing or Perfetto, and what to search the file for.
std::string viewer_words(const Report& report, Interval at) {
  std::string text;
  if (report.first_event_ns) {
    text = fmt::format("{:.3f} ms after the first event (Perfetto), ",
                       static_cast<double>(at.start_ns - *report.first_event_ns) / 1e6);
  }
  // Whole and broken part by themselves: a double has no room for 16 digits and a fraction.
  const bool is_negative = at.start_ns < 0;
  const auto start_ns = static_cast<std::uint64_t>(at.start_ns);
  const std::uint64_t magnitude = is_negative ? 0 - start_ns : start_ns;
  return text +
         fmt::format("ts\xC2\xA0{}{}.{:03}\xC2\xA0us", is_negative ? "-" : "", magnitude / 1000, magnitude % 1000);
}

void add_evidence(const Report& report, const Finding& finding, Page& page) {
  page.blank();
  page.add(page.line().pad_to(kLabelColumn).add("Evidence", Ink::kBold));
  std::size_t excerpt = 0;
  for (std::size_t i = 0; i < finding.evidence.size(); ++i) {
    const Evidence& evidence = finding.evidence[i];
    page.paragraph(fmt::format("{}. {}", i + 1, evidence.text), kLabelColumn, Ink::kPlain, 3);
    if (!evidence.at) continue;
    page.paragraph(place_words(report, *evidence.at), kLabelColumn + 3, Ink::kDim);
    page.paragraph(viewer_words(report, *evidence.at), kLabelColumn + 3, Ink::kDim);
    if (excerpt >= report.excerpts.size()) continue;
    page.blank();
    add_excerpt(report.excerpts[excerpt++], page);
    page.blank();
  }
  if (finding.evidence.empty()) page.paragraph("none recorded", kLabelColumn);
}

}  // namespace

std::string write_terminal_finding(const Report& report, const Style& style) {
  Page page(style);
  const std::size_t index = report.shown_finding.value_or(0);
  if (index >= report.findings.size()) return "";
  const Finding& finding = report.findings[index];
  Line head = page.line();
  head.add(fmt::format("{} of {}  ", index + 1, report.findings.size()), Ink::kDim).add(finding.id, Ink::kBold);
  page.add(head.add_right(style.width, severity_name(finding.severity), severity_ink(finding.severity)));
  page.blank();
  page.paragraph(finding.title, kLabelColumn, Ink::kBold);
  const std::string saving = saving_sentence(finding);
  if (!saving.empty()) page.paragraph(saving, kLabelColumn);
  add_evidence(report, finding, page);
  if (!finding.advice.empty()) {
    page.blank();
    page.add(page.line().pad_to(kLabelColumn).add("Try", Ink::kBold));
    for (const std::string& advice : finding.advice) page.paragraph("- " + advice, kLabelColumn, Ink::kPlain, 2);
  }
  page.blank();
  page.paragraph(
      fmt::format("What it means, thresholds, known false alarms: docs/findings/{}.md (installed: share/doc/stepscope)",
                  finding.id),
      kLabelColumn, Ink::kDim);
  return page.text();
}

}  // namespace stepscope
