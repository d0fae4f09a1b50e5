// Findings by cost. The first ones in full, as many as the screen holds; the names of the others, which stand in full
// below; then how to see the proof.
#include <fmt/format.h>

#include <algorithm>

#include "report/numbers.h"
#include "report/terminal/sections.h"
#include "report/text.h"

namespace stepscope {
namespace {

constexpr std::size_t kIndent = 5;  // under the finding's id
constexpr std::size_t kSavingColumn = 29;

Line head_line(std::size_t index, const Finding& finding, const Page& page) {
  Line line = page.line();
  line.pad_to(kLabelColumn).add(std::to_string(index + 1)).pad_to(kIndent).add(finding.id, Ink::kBold);
  const std::string saving = saving_words(finding);
  if (!saving.empty()) line.pad_to(kSavingColumn).add(saving);
  return line;
}

void add_severity(const Finding& finding, Line& line, Page& page) {
  page.add(line.add_right(page.style().width, severity_name(finding.severity), severity_ink(finding.severity)));
}

// A page of its own, so that its height is known before it is placed. Nothing is cut: half a command is worse than
// none, so the first advice stands whole and the others are left to --finding N.
Page full_text(std::size_t index, const Finding& finding, const Style& style) {
  Page page(style);
  Line line = head_line(index, finding, page);
  add_severity(finding, line, page);
  page.paragraph(finding.title, kIndent);
  constexpr std::size_t kHanging = 5;
  if (!finding.advice.empty()) page.paragraph("Try: " + finding.advice.front(), kIndent, Ink::kPlain, kHanging);
  return page;
}

// "Further down: 2 host-overhead -509 us (63 %), 3 compute-bound": those that stand in full after the first screen.
void add_others(const Report& report, std::size_t first, Page& page) {
  if (first >= report.findings.size()) return;
  std::string text = "Further down: ";
  for (std::size_t i = first; i < report.findings.size(); ++i) {
    const std::string saving = saving_words(report.findings[i]);
    std::string entry = fmt::format("{} {}{}{}", i + 1, report.findings[i].id, saving.empty() ? "" : " ", saving);
    for (std::size_t at = entry.find(' '); at != std::string::npos; at = entry.find(' ', at)) {
      entry.replace(at, 1, "\xC2\xA0");
    }
    text += (i == first ? "" : ", ") + entry;
  }
  page.paragraph(text, kLabelColumn, Ink::kPlain, 3);
}

void add_proof_command(const Report& report, Page& page) {
  // The first that is about the program: that something is missing has no place on the timeline.
  const bool is_first_about_data = report.findings.size() > 1 && report.findings.front().id == "incomplete-data";
  const std::string which = is_first_about_data ? "--finding 2" : "--finding 1";
  Line line = page.line();
  line.pad_to(kLabelColumn).add(more_command(report, page.style(), which, page.style().width - kLabelColumn));
  for (const std::string_view words : {"   # the proof, on the timeline", "   # the proof"}) {
    if (line.width() + display_width(words) > page.style().width) continue;
    line.add(words, Ink::kDim);
    break;
  }
  page.add(line);
}

}  // namespace

std::size_t add_findings(const Report& report, std::size_t line_budget, Page& page) {
  const auto& findings = report.findings;
  const std::size_t end = page.line_count() + line_budget;
  page.blank();
  if (findings.empty()) {
    page.paragraph(
        report.ledger.is_host_only
            ? "No findings: without a GPU only the data loader and long pauses are judged. Where the CPU's time goes:"
        : report.steps.steps.empty() ? "No findings; most need to know where a step begins and ends."
                                     : "No findings: nothing that the rules know costs more than 1 % of the step.",
        kLabelColumn);
    if (report.ledger.is_host_only) {
      page.blank();
      page.add(page.line().pad_to(kLabelColumn).add("$ stepscope ops FILE"));
    }
    return 0;
  }
  constexpr std::size_t kClosingLines = 2;  // a blank and the command
  constexpr std::size_t kOthersLines = 1;
  std::size_t in_full = 0;
  for (; in_full < findings.size(); ++in_full) {
    const Page text = full_text(in_full, findings[in_full], page.style());
    const std::size_t after = findings.size() - in_full - 1;
    if (in_full > 0 && page.line_count() + text.line_count() + (after > 0 ? kOthersLines : 0) + kClosingLines > end)
      break;
    page.append(text);
  }
  add_others(report, in_full, page);
  page.blank();
  add_proof_command(report, page);
  return in_full;
}

void add_more_findings(const Report& report, std::size_t first, Page& page) {
  if (first >= report.findings.size()) return;
  page.blank();
  page.add(page.line().add("Findings, continued", Ink::kBold));
  for (std::size_t i = first; i < report.findings.size(); ++i) {
    page.append(full_text(i, report.findings[i], page.style()));
  }
}

}  // namespace stepscope
