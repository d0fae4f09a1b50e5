// The screen as a table of contents.
#include "report/terminal.h"

#include "report/terminal/sections.h"

namespace stepscope {
namespace {

// A terminal of 24 lines shows the answer without scrolling.
constexpr std::size_t kFirstScreenLines = 24;

}  // namespace

std::string write_terminal(const Report& report, const Style& style) {
  Page page(style);
  add_headline(report, page);
  if (report.has_headline()) {
    add_verdict(report, page);
    add_step_bar(report, page);
  } else {
    add_withheld(report, page);
  }
  const std::size_t used = page.line_count();
  add_findings(report, used < kFirstScreenLines ? kFirstScreenLines - used : 0, page);
  add_tables(report, page);
  add_memory(report, page);
  add_steps(report, page);
  add_devices(report, page);
  add_completeness(report, page);
  return page.text();
}

}  // namespace stepscope
