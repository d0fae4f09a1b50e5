// Findings by cost. The first ones in full, as many as the screen holds; then a line each; then how to see the proof.
#include <fmt/format.h>

#include <algorithm>

#include "report/numbers.h"
#include "report/terminal/sections.h"
#include "report/text.h"

namespace stepscope {
namespace {

constexpr std::size_t kIndent = 5;  // under the finding's id
constexpr std::size_t kSavingColumn = 29;

Ink ink_of(Severity severity) {
  switch (severity) {
    case Severity::kFault:
      return Ink::kRed;
    case Severity::kNote:
      return Ink::kYellow;
    case Severity::kInformation:
      return Ink::kCyan;
  }
  return Ink::kPlain;
}

Line head_line(std::size_t index, const Finding& finding, const Page& page) {
  Line line = page.line();
  line.pad_to(kLabelColumn).add(std::to_string(index + 1)).pad_to(kIndent).add(finding.id, Ink::kBold);
  const std::string saving = saving_words(finding);
  if (!saving.empty()) line.pad_to(kSavingColumn).add(saving);
  return line;
}

void add_severity(const Finding& finding, Line& line, Page& page) {
  page.add(line.add_right(page.style().width, severity_name(finding.severity), ink_of(finding.severity)));
}

// As many whole pieces of advice as two lines hold, at least the first.
std::string advice_words(const Finding& finding, std::size_t room) {
  std::string text;
  for (const std::string& advice : finding.advice) {
    std::string longer = fmt::format("{}{}{}", text, text.empty() ? "Try: " : "; ", advice);
    if (!text.empty() && wrap_text(longer, room).size() > 2) break;
    text = std::move(longer);
  }
  return text;
}

// A page of its own, so that its height is known before it is placed.
Page full_text(std::size_t index, const Finding& finding, const Style& style) {
  Page page(style);
  Line line = head_line(index, finding, page);
  add_severity(finding, line, page);
  page.paragraph_cut(finding.title, kIndent, 2);
  constexpr std::size_t kHanging = 5;
  const std::string advice = advice_words(finding, style.width - kIndent - kHanging);
  if (!advice.empty()) page.paragraph_cut(advice, kIndent, 2, kHanging);
  return page;
}

// One line: what there is room for of the title.
void add_brief(std::size_t index, const Finding& finding, Page& page) {
  Line line = head_line(index, finding, page);
  constexpr std::size_t kSeverityWidth = 13, kLeastTitle = 16, kGap = 2;
  const std::size_t from = std::max(kSavingColumn, line.width() + kGap);
  if (from + kLeastTitle + kSeverityWidth < page.style().width) {
    line.pad_to(from).add(shorten_end(finding.title, page.style().width - kSeverityWidth - from), Ink::kDim);
  }
  add_severity(finding, line, page);
}

void add_proof_command(const Report& report, Page& page) {
  const std::string which = report.findings.size() == 1 ? "--finding 1" : "--finding N";
  std::string command = "$ " + more_command(report, page.style(), which);
  const std::size_t room = page.style().width - kLabelColumn;
  if (display_width(command) > room) command = "$ " + page.style().program + " report FILE " + which;
  Line line = page.line();
  line.pad_to(kLabelColumn).add(command);
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
    page.paragraph(report.steps.steps.empty()
                       ? "No findings; most need to know where a step begins and ends."
                       : "No findings: nothing that the rules know costs more than 1 % of the step.",
                   kLabelColumn);
    return 0;
  }
  constexpr std::size_t kClosingLines = 2;  // a blank and the command
  std::size_t in_full = 0;
  for (; in_full < findings.size(); ++in_full) {
    const Page text = full_text(in_full, findings[in_full], page.style());
    const std::size_t after = findings.size() - in_full - 1;
    if (in_full > 0 && page.line_count() + text.line_count() + after + kClosingLines > end) break;
    page.append(text);
  }
  for (std::size_t i = in_full; i < findings.size(); ++i) add_brief(i, findings[i], page);
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
