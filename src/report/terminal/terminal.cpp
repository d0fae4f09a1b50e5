// The screen as a table of contents.
#include "report/terminal.h"

#include "report/terminal/sections.h"

namespace stepscope {
namespace {

// A terminal of 24 lines shows the answer without scrolling.
constexpr std::size_t kFirstScreenLines = 24;

// How many findings stand in it in full.
std::size_t add_first_screen(const Report& report, bool brief, Page& page) {
  add_headline(report, page);
  if (report.has_headline()) {
    add_verdict(report, page);
    add_step_bar(report, brief, page);
  } else {
    add_withheld(report, page);
  }
  const std::size_t used = page.line_count();
  return add_findings(report, used < kFirstScreenLines ? kFirstScreenLines - used : 0, page);
}

}  // namespace

std::string write_terminal(const Report& report, const Style& style) {
  Page page(style);
  std::size_t in_full = add_first_screen(report, false, page);
  if (page.line_count() > kFirstScreenLines) {
    page = Page(style);
    in_full = add_first_screen(report, true, page);
  }
  add_more_findings(report, in_full, page);
  add_idle(report, report.table_row_count, page);
  add_synchronizations(report, report.table_row_count, page);
  add_tables(report, page);
  add_launches(report, page);
  add_memory(report, page);
  add_steps(report, page);
  add_devices(report, page);
  add_completeness(report, page);
  return page.text();
}

}  // namespace stepscope
