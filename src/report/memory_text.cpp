// The screens as tables of contents, and the words that several sections share.
#include "report/memory_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "memory/trace_snapshot.h"
#include "report/numbers.h"
#include "report/terminal/sections.h"
#include "report/text.h"

namespace stepscope {
namespace {

// A terminal of 24 lines shows the answer without scrolling.
constexpr std::size_t kFirstScreenLines = 24;

// What of it may be left out, so that the rest fits; everything stands further down.
struct ScreenPlan {
  std::size_t table_rows = 5;
  bool has_bar = true, has_all_commands = true;
};
constexpr ScreenPlan kPlans[] = {{5, true, true},  {4, true, true},  {3, true, true},  {3, true, false},
                                 {2, true, false}, {3, false, true}, {2, false, true}, {2, false, false}};

// How many findings stand in it in full.
std::size_t add_first_screen(const MemoryReport& report, const ScreenPlan& plan, Page& page) {
  add_memory_head(report, page);
  add_memory_levels(report, page);
  add_memory_answer(report, page);
  add_memory_oom(report, page);
  if (plan.has_bar) add_memory_bar(report, page);
  add_live_table(report, plan.table_rows, page);
  // The commands and the blank before them.
  const std::size_t used = page.line_count() + (plan.has_all_commands ? 3 : 2);
  const std::size_t in_full =
      add_memory_findings(report, used < kFirstScreenLines ? kFirstScreenLines - used : 0, page);
  add_memory_commands(report, plan.has_all_commands, page);
  return in_full;
}

// Memory of nobody's line is the second question of everyone who reads the table.
void add_note_on_frames(const MemoryReport& report, Page& page) {
  const LiveReport& live = *report.live;
  if (live.by != LiveGrouping::kLine || live.groups.size() < 2 || report.info.format == kTraceSnapshotFormat) return;
  const auto is_nobodys = [](const LiveGroup& group) { return group.name == kNoFramesRecorded; };
  if (std::none_of(live.groups.begin(), live.groups.end(), is_nobodys)) return;
  page.paragraph(
      fmt::format("{}: of threads without Python, mostly the autograd engine; its operators are named when the "
                  "history is recorded with stacks=\"all\".",
                  kNoFramesRecorded),
      kMemoryLabelColumn, Ink::kDim, 2);
}

void add_details(const MemoryReport& report, std::size_t findings_in_full, bool is_table_whole, Page& page) {
  add_more_memory_findings(report, findings_in_full, page);
  if (!is_table_whole && report.live) {
    page.blank();
    page.add(page.line().add(
        fmt::format("Held {}, by {}", at_words(report.live->at), live_grouping_name(report.live->by)), Ink::kBold));
    add_live_table(report, report.table_row_count, page);
    add_note_on_frames(report, page);
  }
  add_all_levels(report, page);
  add_what_if_table(report, page);
  add_memory_steps(report, page);
  add_memory_growth(report, page);
  add_free_memory(report, page);
  add_other_devices(report, page);
  add_memory_data(report, page);
}

}  // namespace

std::string moment_words(DurationNs since_first_ns) {
  constexpr DurationNs kSecond = 1'000'000'000;
  if (since_first_ns == 0) return "0 s";
  if (since_first_ns < kSecond) return show_duration(since_first_ns);
  return DurationFormat{1e9, "s", since_first_ns < 100 * kSecond ? 2 : 0}.text(since_first_ns);
}

std::string place_words(const MemoryPlace& place) {
  if (!place.event) return "at the start";
  std::string inside;
  if (place.since_first_ns) inside = moment_words(*place.since_first_ns);
  if (place.step) inside += fmt::format("{}step {}", inside.empty() ? "" : ", ", *place.step);
  return fmt::format("after #{}{}", *place.event, inside.empty() ? "" : fmt::format(" ({})", inside));
}

std::string at_words(std::string_view at) {
  if (at == "peak" || at == "end" || at == "start") return fmt::format("at the {}", at);
  if (at == "oom") return "when memory ran out";
  return fmt::format("at {}", clean_text(at));
}

std::string fit_line(std::string_view line, std::size_t width) {
  if (display_width(line) <= width) return std::string(line);
  // What tells lines apart is their end. Folders go first, one by one.
  const std::size_t end = std::min(line.find(':'), line.size());
  for (std::size_t slash = line.find('/', 1); slash < end; slash = line.find('/', slash + 1)) {
    const std::string shorter = "…" + std::string(line.substr(slash));
    if (display_width(shorter) <= width) return shorter;
  }
  const std::size_t last = line.rfind('/', end);
  return shorten_end(last == std::string_view::npos ? line : line.substr(last + 1), width);
}

std::string short_line(std::string_view line) {
  const std::size_t slash = line.rfind('/', line.find(':'));
  return fit_line(slash == std::string_view::npos ? line : line.substr(slash + 1), 60);
}

void add_fitting(std::string_view text, Line& line, const Style& style, Ink ink) {
  if (line.width() < style.width) line.add(shorten_end(text, style.width - line.width()), ink);
}

std::string memory_words(std::int64_t bytes) { return show_bytes(bytes); }

std::string count_or_dash(MaybeInt count) { return count.has_value() ? show_count(count.value()) : "-"; }

std::string memory_command(const MemoryReport& report, const Style& style, std::string_view options) {
  const bool is_stdin = report.info.source == "standard input" || report.info.source == "-";
  std::string rest;
  const MemoryDeviceReport* shown = report.shown_device();
  if (shown != nullptr && !shown->is_main) rest += fmt::format(" --device {}", shown->number);
  if (!options.empty()) rest += fmt::format(" {}", options);
  const std::string file = is_stdin ? "FILE" : shell_quoted(report.info.source);
  const std::string command = fmt::format("$ {} memory {}{}", style.program, file, rest);
  if (display_width(command) + kMemoryLabelColumn <= style.width) return command;
  return fmt::format("$ {} memory FILE{}", style.program, rest);
}

std::string write_memory_text(const MemoryReport& report, const Style& style) {
  Page page(style);
  if (report.diff) {
    add_memory_diff(report, page);
    add_memory_data(report, page);
    return page.text();
  }
  if (report.is_what_if_asked && report.what_if) {
    add_memory_head(report, page);
    add_memory_levels(report, page);
    add_what_if_table(report, page);
    add_memory_data(report, page);
    return page.text();
  }
  if (report.lifetimes) {
    add_memory_head(report, page);
    add_memory_levels(report, page);
    add_memory_lifetimes(report, page);
    add_memory_data(report, page);
    return page.text();
  }
  // Whoever asked for a set wants all rows that were asked for at once.
  const std::size_t all = report.table_row_count;
  ScreenPlan plan{report.is_live_asked ? all : std::min<std::size_t>(all, 5)};
  std::size_t in_full = add_first_screen(report, plan, page);
  for (const ScreenPlan& next : kPlans) {
    if (report.is_live_asked || page.line_count() <= kFirstScreenLines) break;
    page = Page(style);
    plan = next;
    plan.table_rows = std::min(plan.table_rows, all);
    in_full = add_first_screen(report, plan, page);
  }
  const std::size_t rows = plan.table_rows;
  const bool is_whole = !report.live || report.live->groups.size() <= rows || rows >= all;
  add_details(report, in_full, is_whole, page);
  return page.text();
}

}  // namespace stepscope
