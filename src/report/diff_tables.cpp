// Below the first screen: every row that differs, and what the parts were judged against.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "report/diff_sections.h"
#include "report/diff_words.h"
#include "report/numbers.h"
#include "report/terminal/sections.h"
#include "report/text.h"

namespace stepscope {
namespace {

constexpr std::size_t kChangeEdge = 10, kBeforeEdge = 20, kAfterEdge = 30, kNameColumn = 32;

void add_title(std::string_view title, Page& page) {
  page.blank();
  page.add(page.line().add(shorten_end(title, page.style().width), Ink::kBold));
}

std::string ms(DurationNs ns, int decimals) { return fmt::format("{:.{}f}", static_cast<double>(ns) / 1e6, decimals); }

void add_change_head(std::string_view last, Page& page) {
  page.add(page.line()
               .add_right(kChangeEdge, "change", Ink::kDim)
               .add_right(kBeforeEdge, "A, ms", Ink::kDim)
               .add_right(kAfterEdge, "B, ms", Ink::kDim)
               .pad_to(kNameColumn)
               .add(shorten_end(last, page.style().width - kNameColumn), Ink::kDim));
}

void add_change(const PartChange& change, int decimals, std::string_view name, Page& page) {
  const Ink ink = change.is_told ? Ink::kPlain : Ink::kDim;
  Line line = page.line();
  line.add_right(kChangeEdge, signed_ms(change.difference_ns(), decimals), change.is_told ? Ink::kBold : Ink::kDim)
      .add_right(kBeforeEdge, ms(change.before_ns, decimals), ink)
      .add_right(kAfterEdge, ms(change.after_ns, decimals), ink)
      .pad_to(kNameColumn);
  const std::size_t width = page.style().width;
  const std::size_t room = width > kNameColumn ? width - kNameColumn : 1;
  page.add(line.add(shorten_end(name, room), ink));
}

// Told rows first; each group keeps its order, largest first.
template <class Row, class Part>
std::vector<const Row*> told_first(const std::vector<Row>& rows, Part part) {
  std::vector<const Row*> order;
  for (const bool told : {true, false}) {
    for (const Row& row : rows) {
      if (part(row).is_told == told) order.push_back(&row);
    }
  }
  return order;
}

// What the table leaves out, so that what is shown and this sum to the whole.
void add_rest(PartChange rest, std::size_t count, int decimals, Page& page) {
  if (count == 0) return;
  rest.is_told = false;
  add_change(rest, decimals, fmt::format("{} more", show_count(static_cast<std::int64_t>(count))), page);
}

// Of a row that is noise only what it is.
std::string work_text(const WorkDifference& row, std::size_t room) {
  std::string words;
  if (row.match != WorkMatch::kRest && (row.busy.is_told || row.match != WorkMatch::kSame)) {
    words = ": " + work_change_words(row);
  }
  if (row.busy.noise_ns && !row.busy.is_told) words += "  (noise)";
  constexpr std::size_t kLeastName = 10;
  const std::size_t used = display_width(words);
  return work_name(shown_identity(row), room > used + kLeastName ? room - used : kLeastName) + words;
}

std::string rank_words(const std::optional<std::int64_t>& rank) { return rank ? std::to_string(*rank) : "-"; }

std::string peak_words(const std::optional<std::int64_t>& before, const std::optional<std::int64_t>& after) {
  if (!before && !after) return "not recorded";
  if (!before || !after) return fmt::format("recorded in {} only", before ? "A" : "B");
  std::string words = fmt::format("{} -> {}", show_bytes(*before), show_bytes(*after));
  if (*before > 0 && *before != *after) {
    const double ratio = static_cast<double>(*after) / static_cast<double>(*before) - 1;
    const std::string percent = show_percent(std::abs(ratio));
    const bool is_tiny = percent.starts_with('<');
    words += is_tiny ? fmt::format("  ({} {})", percent, ratio < 0 ? "less" : "more")
                     : fmt::format("  ({}{})", ratio < 0 ? "-" : "+", percent);
  }
  return words;
}

}  // namespace

void add_diff_doubts(const DiffReport& report, Page& page) {
  const RunDifference& difference = report.difference;
  constexpr std::size_t kShownAbove = 1;
  if (difference.doubts.size() <= kShownAbove && difference.unreadable.empty()) return;
  add_title("What makes the comparison doubtful", page);
  for (const std::string& doubt : difference.doubts) page.paragraph(clean_text(doubt), 2, Ink::kPlain, 2);
  for (const UnreadableRank& rank : difference.unreadable) {
    page.paragraph(fmt::format("not read: {}: {}", clean_text(rank.source), clean_text(rank.reason)), 2, Ink::kPlain,
                   2);
  }
}

void add_diff_ranks(const DiffReport& report, Page& page) {
  const RunDifference& difference = report.difference;
  if (difference.ranks.size() < 2) return;
  add_title("Ranks, by the step without exposed communication", page);
  constexpr std::size_t kRankEdge = 7, kStepEdge = 30, kOwnEdge = 54, kPeakColumn = 57;
  page.add(page.line()
               .add_right(kRankEdge, "rank", Ink::kDim)
               .add_right(kStepEdge, "step, ms", Ink::kDim)
               .add_right(kOwnEdge, "without, ms", Ink::kDim)
               .pad_to(kPeakColumn)
               .add(shorten_end("peak memory", page.style().width > kPeakColumn ? page.style().width - kPeakColumn : 1),
                    Ink::kDim));
  std::vector<const RankChange*> order;
  for (const RankChange& rank : difference.ranks) order.push_back(&rank);
  std::stable_sort(order.begin(), order.end(), [](const RankChange* a, const RankChange* b) {
    return std::abs(a->after_own_ns - a->before_own_ns) > std::abs(b->after_own_ns - b->before_own_ns);
  });
  const int decimals = ms_decimals(difference.typical_rank.mean_step);
  const auto change = [&](DurationNs before, DurationNs after) {
    return fmt::format("{} -> {}", ms(before, decimals), ms(after, decimals));
  };
  const std::size_t shown = std::min(order.size(), report.table_row_count);
  for (std::size_t i = 0; i < shown; ++i) {
    const RankChange& rank = *order[i];
    Line line = page.line();
    line.add_right(kRankEdge, rank_words(rank.rank))
        .add_right(kStepEdge, change(rank.before_step_ns, rank.after_step_ns))
        .add_right(kOwnEdge, change(rank.before_own_ns, rank.after_own_ns))
        .pad_to(kPeakColumn);
    if (rank.before_allocated_peak_bytes && rank.after_allocated_peak_bytes) {
      const std::size_t room = page.style().width > kPeakColumn ? page.style().width - kPeakColumn : 1;
      line.add(shorten_end(peak_words(rank.before_allocated_peak_bytes, rank.after_allocated_peak_bytes), room));
    }
    page.add(line);
  }
  if (shown < order.size()) {
    page.add(page.line().pad_to(2).add(
        fmt::format("{} more", show_count(static_cast<std::int64_t>(order.size() - shown))), Ink::kDim));
  }
}

void add_diff_work(const DiffReport& report, Page& page) {
  const RankDifference& rank = report.difference.explaining();
  if (rank.work.empty()) return;
  const int decimals = ms_decimals(rank.mean_step);
  add_title("GPU work, ms a step (its share of busy time; dim: no more than noise)", page);
  add_change_head("operator, kernel: what changed", page);
  const auto order = told_first(rank.work, [](const WorkDifference& row) -> const PartChange& { return row.busy; });
  const std::size_t room = page.style().width > kNameColumn ? page.style().width - kNameColumn : 1;
  PartChange rest = rank.gpu_busy;
  const std::size_t shown = std::min(order.size(), report.table_row_count);
  for (std::size_t i = 0; i < shown; ++i) {
    const WorkDifference& row = *order[i];
    rest.before_ns -= row.busy.before_ns;
    rest.after_ns -= row.busy.after_ns;
    add_change(row.busy, decimals, work_text(row, room), page);
    if (row.match == WorkMatch::kRenamed) {
      const std::string before =
          work_name({{}, {}, row.before.kernel, {}, row.before.kernel_class}, room > 11 ? room - 10 : 1);
      page.add(page.line().pad_to(kNameColumn + 2).add("before: " + before, Ink::kDim));
    }
  }
  add_rest(rest, order.size() - shown, decimals, page);
  add_change(rank.gpu_busy, decimals, "GPU busy", page);
}

void add_diff_idle(const DiffReport& report, Page& page) {
  const RankDifference& rank = report.difference.explaining();
  if (rank.causes.empty()) return;
  const int decimals = ms_decimals(rank.mean_step);
  add_title("Why the GPU was idle, ms a step", page);
  add_change_head("cause", page);
  for (const IdleDifference* row :
       told_first(rank.causes, [](const IdleDifference& each) -> const PartChange& { return each.idle; })) {
    std::string name(host_label_words(row->cause));
    if (row->idle.noise_ns) name += fmt::format("  (noise: {} ms)", ms(*row->idle.noise_ns, decimals));
    add_change(row->idle, decimals, name, page);
  }
  add_change(rank.idle, decimals, "GPU idle", page);
}

void add_diff_operators(const DiffReport& report, Page& page) {
  const RankDifference& rank = report.difference.explaining();
  if (rank.operators.empty()) return;
  const int decimals = ms_decimals(rank.mean_step);
  add_title("Host time of operators and calls, ms a step (self; with the profiler's cost)", page);
  add_change_head("operator: calls", page);
  const auto order =
      told_first(rank.operators, [](const OperatorDifference& row) -> const PartChange& { return row.self_cpu; });
  for (std::size_t i = 0; i < std::min(order.size(), report.table_row_count); ++i) {
    const OperatorDifference& row = *order[i];
    std::string name = row.name.empty() ? "small operators, together" : clean_text(row.name);
    const auto count = [](double value) {
      if (std::abs(value - std::round(value)) < 0.005) return show_count(std::llround(value));
      return value < 1 ? fmt::format("{:.2g}", value) : fmt::format("{:.1f}", value);
    };
    name += row.before_call_count == row.after_call_count
                ? fmt::format(": {} {}", count(row.after_call_count), row.after_call_count == 1 ? "call" : "calls")
                : fmt::format(": calls {} -> {}", count(row.before_call_count), count(row.after_call_count));
    if (!row.self_cpu.is_told) name += "  (noise)";
    add_change(row.self_cpu, decimals, name, page);
  }
}

void add_all_diff_findings(const DiffReport& report, Page& page) {
  const std::vector<FindingDifference>& findings = report.difference.explaining().findings;
  if (findings.empty()) return;
  add_title("Findings", page);
  for (const FindingDifference& finding : findings) {
    const auto saving = [](const std::optional<SummaryFinding>& side) {
      if (!side) return std::string("none");
      return side->saving && side->saving->mid_ns > 0 ? show_duration(side->saving->mid_ns) : std::string("yes");
    };
    const std::string costs = fmt::format("{} -> {}", saving(finding.before), saving(finding.after));
    constexpr std::size_t kCostColumn = 32;
    page.add(page.line()
                 .pad_to(2)
                 .add(clean_text(finding.id))
                 .pad_to(kCostColumn)
                 .add(costs, finding.change == FindingChange::kAppeared ? Ink::kRed
                             : finding.change == FindingChange::kGone   ? Ink::kGreen
                                                                        : Ink::kPlain));
  }
}

void add_diff_memory(const DiffReport& report, Page& page) {
  const MemoryDifference& memory = report.difference.explaining().memory;
  if (!memory.before_allocated_peak_bytes && !memory.after_allocated_peak_bytes) return;
  add_title("Peak memory of the steps", page);
  constexpr std::size_t kValueColumn = 14;
  page.add(page.line()
               .pad_to(2)
               .add("allocated")
               .pad_to(kValueColumn)
               .add(peak_words(memory.before_allocated_peak_bytes, memory.after_allocated_peak_bytes)));
  page.add(page.line()
               .pad_to(2)
               .add("reserved")
               .pad_to(kValueColumn)
               .add(peak_words(memory.before_reserved_peak_bytes, memory.after_reserved_peak_bytes)));
}

}  // namespace stepscope
