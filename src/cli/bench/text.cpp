// The result for a terminal: which is faster first, then the numbers, then the shape of the samples, then doubts.
#include "report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "cli/bench/bench.h"
#include "report/numbers.h"

namespace stepscope {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kValueColumn = 11;

DurationFormat format_of(const CommandSummary& summary) {
  const DurationNs spread = summary.median_interval_ns
                                ? std::llround(summary.median_interval_ns->high - summary.median_interval_ns->low)
                                : *summary.p75_ns - *summary.p25_ns;
  return DurationFormat::pick(*summary.median_ns, spread);
}

std::string interval_words(const CommandSummary& summary, const DurationFormat& format) {
  if (!summary.median_interval_ns) return "not known";
  return fmt::format("{} to {}", format.number(std::llround(summary.median_interval_ns->low)),
                     format.number(std::llround(summary.median_interval_ns->high)));
}

std::string memory_words(const CommandSummary& summary, const BenchResult& result) {
  if (summary.max_rss_bytes) return show_bytes(*summary.max_rss_bytes);
  return "< " + show_bytes(result.hidden_rss_bytes);
}

// The kernel counts CPU time coarsely; 0 ns would sound as if it did not.
std::string cpu_words(DurationNs ns) { return ns == 0 ? "0" : show_duration(ns); }

void add_row(Page& page, std::string_view name, const std::string& value, const std::string& further = "",
             Ink ink = Ink::kPlain) {
  Line line = page.line();
  line.pad_to(kIndent).add(name, Ink::kDim).pad_to(kValueColumn).add(value, ink);
  if (!further.empty()) line.add("  ").add(further);
  page.add(line);
}

// "13.6 to 22.1 ms", or with a unit for each where they are far apart.
std::string range_words(DurationNs low, DurationNs high, const DurationFormat& format) {
  constexpr DurationNs kFar = 10;  // times: more than one digit longer
  if (high > low * kFar) return show_duration(low) + " to " + show_duration(high);
  return fmt::format("{} to {}", format.number(low), format.text(high));
}

void add_single(const CommandSummary& summary, const BenchResult& result, Page& page) {
  const DurationFormat format = format_of(summary);
  const std::string interval = summary.median_interval_ns
                                   ? fmt::format("({} with 95 % confidence)", interval_words(summary, format))
                                   : "(an interval needs 6 runs)";
  add_row(page, "median", format.text(*summary.median_ns), interval, Ink::kBold);
  add_row(page, "spread",
          fmt::format("{}, half of them {}", range_words(*summary.min_ns, *summary.max_ns, format),
                      range_words(*summary.p25_ns, *summary.p75_ns, format)));
  if (const auto& far = summary.checks.far_values; !far.places.empty()) {
    add_row(page, "far out", fmt::format("{} of the runs, which count too", show_count(std::ssize(far.places))));
  }
  add_row(page, "CPU", fmt::format("user {}, system {}", cpu_words(*summary.user_ns), cpu_words(*summary.system_ns)),
          summary.cores_used ? fmt::format("({} cores)", show_decimal(*summary.cores_used, 1)) : "");
  add_row(page, "memory", memory_words(summary, result), summary.max_rss_bytes ? "at its peak" : "");
}

// Right edges of the columns of the table of two; the narrow one does without two of them.
constexpr std::array<std::size_t, 6> kEdges = {14, 31, 46, 57, 68, 79};
constexpr std::array<std::size_t, 4> kNarrowEdges = {14, 32, 45, 58};

void add_table_line(Page& page, std::string_view label, const std::vector<std::string>& cells, Ink ink) {
  Line line = page.line();
  line.pad_to(kIndent).add(label, label.empty() ? Ink::kPlain : Ink::kBold);
  const bool narrow = cells.size() == kNarrowEdges.size();
  for (std::size_t i = 0; i < cells.size(); ++i) line.add_right(narrow ? kNarrowEdges[i] : kEdges.at(i), cells[i], ink);
  page.add(line);
}

std::vector<std::string> table_cells(const CommandSummary& summary, const BenchResult& result,
                                     const DurationFormat& format, bool narrow) {
  std::vector<std::string> cells = {format.text(*summary.median_ns), interval_words(summary, format)};
  if (narrow) {
    cells.push_back(cpu_words(*summary.user_ns + *summary.system_ns));
  } else {
    cells.push_back(fmt::format("{} to {}", format.number(*summary.p25_ns), format.number(*summary.p75_ns)));
    cells.push_back(cpu_words(*summary.user_ns));
    cells.push_back(cpu_words(*summary.system_ns));
  }
  cells.push_back(memory_words(summary, result));
  return cells;
}

void add_table(const BenchResult& result, Page& page) {
  const bool narrow = page.style().width < kEdges.back();
  const std::vector<std::string> titles =
      narrow ? std::vector<std::string>{"median", "95 % interval", "CPU", "memory"}
             : std::vector<std::string>{"median", "95 % interval", "middle half", "user", "system", "memory"};
  add_table_line(page, "", titles, Ink::kDim);
  // Both in the unit of the first where that is near, so that they compare at a glance.
  const DurationFormat common = format_of(result.commands.front());
  for (const CommandSummary& summary : result.commands) {
    DurationFormat format = format_of(summary);
    if (std::string_view(format.unit) == common.unit) format.decimals = std::max(common.decimals, format.decimals);
    add_table_line(page, summary.label, table_cells(summary, result, format, narrow), Ink::kPlain);
  }
}

// One scale for all; far values would squeeze the rest into a column, so it ends at the fences.
void add_histograms(const BenchResult& result, Page& page) {
  double low = HUGE_VAL, high = -HUGE_VAL;
  std::vector<std::vector<double>> samples;
  for (const CommandSummary& summary : result.commands) {
    samples.emplace_back();
    for (const CommandRun& each : summary.runs) {
      const auto wall = static_cast<double>(each.run.wall_ns);
      samples.back().push_back(wall);
      if (wall < summary.checks.far_values.low_fence || wall > summary.checks.far_values.high_fence) continue;
      low = std::min(low, wall);
      high = std::max(high, wall);
    }
  }
  constexpr std::size_t kFewest = 10;  // fewer dots have no shape
  if (samples.front().size() < kFewest || !(low < high)) return;
  const std::size_t columns = std::min<std::size_t>(page.style().width - kValueColumn - 2, 60);
  page.blank();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    Line line = page.line();
    line.pad_to(kIndent).add(samples.size() > 1 ? result.commands[i].label : "runs",
                             samples.size() > 1 ? Ink::kBold : Ink::kDim);
    line.pad_to(kValueColumn);
    // The line itself turns what is not ASCII into question marks, so it gets ASCII where that is all there is.
    page.add(line.add(draw_histogram(samples[i], low, high, columns, page.style().ascii), Ink::kCyan));
  }
  Line scale = page.line();
  const DurationFormat format = format_of(result.commands.front());
  scale.pad_to(kValueColumn).add(format.text(std::llround(low)), Ink::kDim);
  page.add(scale.add_right(kValueColumn + columns, format.text(std::llround(high)), Ink::kDim));
}

Ink verdict_ink(CompareVerdict verdict) {
  return verdict == CompareVerdict::kFaster ? Ink::kGreen : verdict == CompareVerdict::kSlower ? Ink::kRed : Ink::kBold;
}

std::string run_words(const BenchRequest& request, const BenchResult& result) {
  const auto count = static_cast<std::int64_t>(result.commands.front().runs.size());
  const bool two = result.commands.size() > 1;
  std::string text =
      two && count != 1 ? fmt::format("{} runs of each, in turns", show_count(count)) : show_counted(count, "run");
  if (request.plan.warm_up_count > 0) text += fmt::format(", {} warm-up", show_count(request.plan.warm_up_count));
  if (result.interrupted_by) text += ", interrupted";
  return text;
}

void add_title(const BenchRequest& request, const BenchResult& result, Page& page) {
  const std::string right = run_words(request, result);
  const std::size_t width = page.style().width;
  if (result.commands.size() == 1) {
    Line line = page.line();
    const std::size_t room = width - std::min(width - 20, display_width(right) + 2);
    page.add(line.add(shorten_end(result.commands.front().line, room), Ink::kBold).add_right(width, right, Ink::kDim));
    return;
  }
  for (const CommandSummary& summary : result.commands) {
    page.add(page.line().add(summary.label + "  ", Ink::kBold).add(shorten_end(summary.line, width - 3)));
  }
  page.blank();
  page.add(page.line().pad_to(kIndent).add(right, Ink::kDim));
}

}  // namespace

std::string write_bench_text(const BenchRequest& request, const BenchResult& result, const Style& style) {
  Page page(style);
  add_title(request, result, page);
  page.blank();
  if (const std::string sentence = comparison_sentence(result); !sentence.empty()) {
    const std::size_t colon = sentence.find(':');
    // The verdict in colour, the numbers plain; one paragraph when it does not fit a line.
    if (display_width(sentence) + kIndent <= style.width) {
      page.add(page.line()
                   .pad_to(kIndent)
                   .add(sentence.substr(0, colon), verdict_ink(result.comparison->verdict))
                   .add(sentence.substr(colon)));
    } else {
      page.paragraph(sentence, kIndent, verdict_ink(result.comparison->verdict));
    }
    page.blank();
  }
  if (result.commands.size() == 1) {
    add_single(result.commands.front(), result, page);
  } else {
    add_table(result, page);
  }
  add_histograms(result, page);
  if (!result.warnings.empty()) page.blank();
  const bool one = result.commands.size() == 1;
  for (const std::string& warning : result.warnings) {
    // With one command there is no need for its letter.
    std::string text = one && warning.starts_with("A: ") ? warning.substr(3) : warning;
    if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
    page.paragraph("note: " + text, kIndent, Ink::kPlain, 6);
  }
  return page.text();
}

}  // namespace stepscope
