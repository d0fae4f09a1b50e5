// The answer in one line, then what was compared, then what makes it say less than it seems to.
//
// The first line is never wrapped: scripts and logs take it as it is.
#include <fmt/format.h>

#include <algorithm>

#include "report/gate_report.h"
#include "report/numbers.h"
#include "report/text.h"

namespace stepscope {
namespace {

constexpr std::size_t kNameColumn = 2, kValueColumn = 18, kDifferenceColumn = 40, kLimitColumn = 62;

Ink ink_of(GateOutcome outcome) {
  switch (outcome) {
    case GateOutcome::kPassed:
    case GateOutcome::kNoBase:
      return Ink::kGreen;
    case GateOutcome::kFailed:
      return Ink::kRed;
    default:
      return Ink::kMagenta;
  }
}

std::string files_words(const std::vector<std::string>& files) {
  if (files.empty()) return "";
  std::string text = files.front() == "-" ? "standard input" : clean_text(files.front());
  if (files.size() > 1) text += fmt::format(" and {} more", files.size() - 1);
  return text;
}

void add_side(const char* name, const GateSide& side, const std::vector<std::string>& files, Page& page) {
  constexpr std::size_t kColumn = 8;
  const std::size_t room = page.style().width > kColumn ? page.style().width - kColumn : 1;
  page.add(page.line()
               .pad_to(kNameColumn)
               .add(name, Ink::kDim)
               .pad_to(kColumn)
               .add(shorten_end(gate_side_words(side), room)));
  page.add(page.line().pad_to(kColumn).add(shorten_middle(files_words(files), room), Ink::kDim));
}

void add_check(const GateCheck& check, Page& page) {
  Line line = page.line();
  line.pad_to(kNameColumn).add(gate_quantity_words(check.quantity));
  // What a narrow screen has no room for stands below.
  const auto add = [&](std::size_t column, const std::string& words, Ink ink) {
    if (std::max(column, line.width() + 1) + display_width(words) > page.style().width && !words.empty()) {
      page.add(line);
      line = page.line();
      column = kValueColumn;
    }
    line.pad_to(column).add(words, ink);
  };
  add(kValueColumn, gate_values_words(check), Ink::kBold);
  add(kDifferenceColumn, gate_difference_words(check), Ink::kPlain);
  add(kLimitColumn, check.limit ? "limit " + gate_limit_words(check) : gate_limit_words(check), Ink::kDim);
  page.add(line);
}

}  // namespace

std::string write_gate_text(const GateReport& report, const Style& style) {
  Page page(style);
  Page head(style);
  head.add(head.line().add(gate_sentence(report), ink_of(gate_outcome(report))));
  page.blank();
  if (report.has_base) {
    add_side("base", report.base, report.base_files, page);
    add_side("new", report.other, report.other_files, page);
    page.blank();
    for (const GateCheck& check : report.result.checks) add_check(check, page);
  } else {
    add_side("new", report.other, report.other_files, page);
  }
  const std::vector<std::string> remarks = gate_remarks(report);
  if (!remarks.empty()) page.blank();
  for (const std::string& remark : remarks) page.paragraph(remark, 2);
  if (report.has_base && !report.update.empty()) {
    page.blank();
    page.paragraph(clean_text(report.update), 2);
  }
  return head.text() + page.text();
}

}  // namespace stepscope
