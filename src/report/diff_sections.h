// The sections of `stepscope diff` as text, in the order in which the reader asks: slower or not, can I believe it,
// why, what do I type next; then the tables.
#pragma once

#include "report/diff_report.h"
#include "report/page.h"

namespace stepscope {

// How much of the first screen is shown, so that it fits.
struct DiffPlan {
  std::size_t part_count = 8;
  std::size_t reason_count = 8;  // parts with the largest row of their work below
  std::size_t finding_lines = 3;
  std::size_t doubt_lines = 3;
};

void add_diff_head(const DiffReport& report, const DiffPlan& plan, Page& page);
void add_diff_findings(const DiffReport& report, const DiffPlan& plan, Page& page);
void add_diff_parts(const DiffReport& report, const DiffPlan& plan, Page& page);
void add_diff_commands(const DiffReport& report, Page& page);

void add_diff_doubts(const DiffReport& report, Page& page);
void add_diff_ranks(const DiffReport& report, Page& page);
void add_diff_work(const DiffReport& report, Page& page);
void add_diff_idle(const DiffReport& report, Page& page);
void add_diff_operators(const DiffReport& report, Page& page);
void add_all_diff_findings(const DiffReport& report, Page& page);
void add_diff_memory(const DiffReport& report, Page& page);

}  // namespace stepscope
