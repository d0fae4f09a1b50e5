// The sections of the terminal report, in the order in which the reader asks: how long, can I believe it, how good,
// what is wrong, what do I do, what would it bring, how do you know.
#pragma once

#include "report/page.h"
#include "report/ranks.h"
#include "report/report.h"

namespace stepscope {

// Columns in which the first screen's labels and texts begin.
inline constexpr std::size_t kLabelColumn = 2;
inline constexpr std::size_t kTextColumn = 12;

// `brief` takes fewer lines, for a first screen that would be too long.
void add_headline(const Report& report, Page& page);  // what was recorded, step time, busy, MFU
void add_withheld(const Report& report, Page& page);  // instead of it, when the data cannot carry one
void add_verdict(const Report& report, Page& page);
void add_step_bar(const Report& report, bool brief, Page& page);
// As many findings in full as `line_budget` allows, at least one; of the others the names. Returns how many in full.
std::size_t add_findings(const Report& report, std::size_t line_budget, Page& page);
void add_more_findings(const Report& report, std::size_t first, Page& page);  // the others in full

// At most `row_count` rows.
void add_idle(const Report& report, std::size_t row_count, Page& page);
void add_synchronizations(const Report& report, std::size_t row_count, Page& page);  // those in mid-step or costly
void add_tables(const Report& report, Page& page);
void add_launches(const Report& report, Page& page);
void add_memory(const Report& report, Page& page);
void add_steps(const Report& report, Page& page);
void add_devices(const Report& report, Page& page);  // when there are several
void add_completeness(const Report& report, Page& page);

// Many ranks of one run; RankReports::fleet is set. A whole document.
[[nodiscard]] std::string write_fleet(const RankReports& ranks, const Style& style);

// As a shell takes it as one word; unchanged where it needs no quotes.
[[nodiscard]] std::string shell_quoted(std::string_view text);
// "$ stepscope report FILE OPTIONS" with the file's name quoted for a shell and what was asked of it (rank, device,
// steps) repeated. A name that does not fit `width` becomes FILE.
[[nodiscard]] std::string more_command(const Report& report, const Style& style, std::string_view options,
                                       std::size_t width);

[[nodiscard]] Ink severity_ink(Severity severity);

// "-49.1 ms (52 %)"; empty for a finding that saves nothing.
[[nodiscard]] std::string saving_words(const Finding& finding);

// Words of the labels, for people: "data loader" for kDataLoader.
[[nodiscard]] std::string_view host_label_words(HostLabel label);

inline constexpr std::size_t kIndentOfExcerpt = 2;
void add_excerpt(const Excerpt& excerpt, Page& page);

}  // namespace stepscope
