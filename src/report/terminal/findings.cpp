// Findings by cost. The first ones in full, as many as the screen holds; then a line each; then how to see the proof.
#include <fmt/format.h>

#include <algorithm>

#include "report/numbers.h"
#include "report/terminal/sections.h"
#include "report/text.h"

namespace stepscope {
namespace {

constexpr std::size_t kIndent = 5;  // under the finding's id

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
  constexpr std::size_t kSavingColumn = 29;
  Line line = page.line();
  line.pad_to(kLabelColumn).add(std::to_string(index + 1)).pad_to(kIndent).add(finding.id, Ink::kBold);
  const std::string saving = saving_words(finding);
  if (!saving.empty()) line.pad_to(kSavingColumn).add(saving);
  return line.add_right(page.style().width, severity_name(finding.severity), ink_of(finding.severity));
}

std::string join(const std::vector<std::string>& pieces, std::string_view separator) {
  std::string text;
  for (const std::string& piece : pieces) {
    if (!text.empty()) text += separator;
    text += piece;
  }
  return text;
}

std::size_t full_line_count(const Finding& finding, const Page& page) {
  const std::size_t room = page.style().width - kIndent;
  std::size_t count = 1 + std::min<std::size_t>(2, wrap_text(finding.title, room).size());
  if (!finding.advice.empty()) {
    count += std::min<std::size_t>(2, wrap_text("Try: " + join(finding.advice, "; "), room - kIndent).size());
  }
  return count;
}

void add_full(std::size_t index, const Finding& finding, Page& page) {
  page.add(head_line(index, finding, page));
  page.paragraph_cut(finding.title, kIndent, 2);
  if (!finding.advice.empty()) page.paragraph_cut("Try: " + join(finding.advice, "; "), kIndent, 2, 5);
}

void add_brief(std::size_t index, const Finding& finding, Page& page) { page.add(head_line(index, finding, page)); }

std::string closing_words(const Report& report) {
  const bool any_fault = std::any_of(report.findings.begin(), report.findings.end(),
                                     [](const Finding& f) { return f.severity == Severity::kFault; });
  if (report.findings.empty()) return "No findings: nothing that the rules know costs more than 1 % of the step.";
  return any_fault ? "" : "No faults.";
}

}  // namespace

void add_findings(const Report& report, std::size_t line_budget, Page& page) {
  const auto& findings = report.findings;
  const std::string closing = closing_words(report);
  const std::size_t end = page.line_count() + line_budget;
  // Always left free for: the blank before the command, the command, and one line for each finding shown in brief.
  const std::size_t closing_lines = (closing.empty() ? 0 : 1) + (findings.empty() ? 0 : 2);
  page.blank();
  bool brief = false;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const std::size_t after = findings.size() - i - 1;
    const std::size_t wanted = full_line_count(findings[i], page) + after + closing_lines;
    brief = brief || (i > 0 && page.line_count() + wanted > end);
    if (brief) {
      add_brief(i, findings[i], page);
    } else {
      add_full(i, findings[i], page);
    }
  }
  if (!closing.empty()) page.paragraph(closing, kLabelColumn);
  if (findings.empty()) return;
  page.blank();
  const std::string which = findings.size() == 1 ? "--finding 1" : "--finding N";
  page.paragraph("The proof, on the timeline: " + more_command(report, page.style(), which), kLabelColumn, Ink::kDim,
                 2);
}

}  // namespace stepscope
