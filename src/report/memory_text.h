// The sections of `stepscope memory` as text, in the order in which the reader asks: how much, can I believe it, by
// what, what failed, what do I do; then the details.
#pragma once

#include "report/memory_report.h"
#include "report/page.h"

namespace stepscope {

// Columns in which the labels and texts of the first screen begin, as in the report on a trace.
inline constexpr std::size_t kMemoryLabelColumn = 2;
inline constexpr std::size_t kMemoryTextColumn = 12;

// First screen.
void add_memory_head(const MemoryReport& report, Page& page);    // file, device, settings, how complete
void add_memory_levels(const MemoryReport& report, Page& page);  // allocated and reserved: peak, end
void add_memory_answer(const MemoryReport& report, Page& page);  // the sentence; or why there is none
void add_memory_oom(const MemoryReport& report, Page& page);
void add_memory_bar(const MemoryReport& report, Page& page);
void add_live_table(const MemoryReport& report, std::size_t row_count, Page& page);
// As many in full as `line_budget` allows, at least one; returns how many.
std::size_t add_memory_findings(const MemoryReport& report, std::size_t line_budget, Page& page);
void add_memory_commands(const MemoryReport& report, bool all, Page& page);  // or the first only

// Details, each with a title of its own; nothing where there is nothing to say.
void add_more_memory_findings(const MemoryReport& report, std::size_t first, Page& page);
void add_all_levels(const MemoryReport& report, Page& page);
void add_memory_steps(const MemoryReport& report, Page& page);
void add_free_memory(const MemoryReport& report, Page& page);
void add_what_if_table(const MemoryReport& report, Page& page);
void add_memory_growth(const MemoryReport& report, Page& page);
void add_memory_lifetimes(const MemoryReport& report, Page& page);
void add_other_devices(const MemoryReport& report, Page& page);
void add_memory_data(const MemoryReport& report, Page& page);
void add_memory_diff(const MemoryReport& report, Page& page);

// "after #1234 (2.31 s, step 5)"; "at the start".
[[nodiscard]] std::string place_words(const MemoryPlace& place);
// "at the peak", "at the end", "at the failure", "at #12".
[[nodiscard]] std::string at_words(std::string_view at);
// At most `width` columns of a group's name; of a path the end stays: "…/train/model.py:120 forward".
[[nodiscard]] std::string fit_line(std::string_view line, std::size_t width);
// "5.49 s", "43.5 ms": a place in a history, not a measurement.
[[nodiscard]] std::string moment_words(DurationNs since_first_ns);
// Without its folders, for sentences: "model.py:120 forward".
[[nodiscard]] std::string short_line(std::string_view line);
// What fits of it behind what stands there, cut at its end.
void add_fitting(std::string_view text, Line& line, const Style& style, Ink ink = Ink::kPlain);
// Three figures and no more: "2.70 GiB".
[[nodiscard]] std::string memory_words(std::int64_t bytes);
// "-" where it is not known.
[[nodiscard]] std::string count_or_dash(MaybeInt count);
// "$ stepscope memory FILE OPTIONS"; the file's name is FILE where it does not fit.
[[nodiscard]] std::string memory_command(const MemoryReport& report, const Style& style, std::string_view options);

}  // namespace stepscope
