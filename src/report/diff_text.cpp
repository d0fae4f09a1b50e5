// The first screen: 24 lines that answer; what does not fit is shown shorter, step by step.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "report/diff_sections.h"
#include "report/diff_words.h"
#include "report/kernel_name.h"
#include "report/numbers.h"
#include "report/terminal/sections.h"
#include "report/text.h"

namespace stepscope {
namespace {

constexpr std::size_t kFirstScreenLines = 24;
constexpr DiffPlan kPlans[] = {{8, 8, 3, 3}, {6, 3, 2, 2}, {6, 2, 2, 2}, {5, 1, 1, 2}, {4, 0, 1, 1}};

constexpr std::size_t kNumberEdge = 10, kBarColumn = 12, kBarCells = 14, kNameColumn = 28;

// A class of work or a cause of idle time, as one line of the explanation.
struct PartLine {
  std::string name;
  PartChange change;
  const ClassDifference* work = nullptr;
};

std::vector<PartLine> part_lines(const RankDifference& rank) {
  std::vector<PartLine> lines;
  for (const ClassDifference& row : rank.classes) {
    lines.push_back({std::string(kernel_class_name(row.kernel_class)), row.busy, &row});
  }
  for (const IdleDifference& row : rank.causes) {
    lines.push_back({"idle: " + std::string(host_label_words(row.cause)), row.idle, nullptr});
  }
  std::stable_sort(lines.begin(), lines.end(), [](const PartLine& a, const PartLine& b) {
    return std::abs(a.change.difference_ns()) > std::abs(b.change.difference_ns());
  });
  return lines;
}

Ink ink_of(DurationNs difference_ns) { return difference_ns > 0 ? Ink::kRed : Ink::kGreen; }

std::string bar(DurationNs part_ns, DurationNs largest_ns, const Style& style) {
  if (largest_ns <= 0) return "";
  const double share = static_cast<double>(std::abs(part_ns)) / static_cast<double>(largest_ns);
  const auto cells = static_cast<std::size_t>(std::lround(share * static_cast<double>(kBarCells)));
  std::string text;
  for (std::size_t i = 0; i < std::max<std::size_t>(cells, 1); ++i) text += style.ascii ? "#" : "█";
  return text;
}

// Told, and more than a thousandth of the step; or not told, but a tenth of what there is to explain, where something
// is: a difference that is certain has causes, and those of this size are the likeliest.
bool is_worth_a_line(const PartChange& part, const RankDifference& rank) {
  constexpr DurationNs kStepParts = 1000, kDifferenceParts = 10;
  const DurationNs step = std::max(rank.mean_step.before_ns, rank.mean_step.after_ns);
  const DurationNs size = std::abs(part.difference_ns());
  if (part.is_told) return size >= step / kStepParts;
  const DurationNs difference = rank.mean_step.difference_ns();
  constexpr DurationNs kUnjudgedParts = 20;  // where nothing can be judged, a twentieth of the step is worth a line
  if (rank.step.verdict == CompareVerdict::kTooFew) return size >= step / kUnjudgedParts;
  return rank.step.verdict != CompareVerdict::kNoDifference && (part.difference_ns() > 0) == (difference > 0) &&
         size >= std::abs(difference) / kDifferenceParts;
}

// "14.20 -> 15.96"
std::string from_to(const PartChange& change, int decimals) {
  return fmt::format("{:.{}f} -> {:.{}f}", static_cast<double>(change.before_ns) / 1e6, decimals,
                     static_cast<double>(change.after_ns) / 1e6, decimals);
}

void add_part(const PartLine& part, DurationNs largest_ns, int decimals, Page& page) {
  const DurationNs difference = part.change.difference_ns();
  const std::string values = from_to(part.change, decimals);
  Line line = page.line();
  line.add_right(kNumberEdge, signed_ms(difference, decimals), Ink::kBold)
      .pad_to(kBarColumn)
      .add(bar(difference, largest_ns, page.style()), part.change.is_told ? ink_of(difference) : Ink::kDim)
      .pad_to(kNameColumn)
      .add(part.name);
  const std::size_t edge = std::min<std::size_t>(page.style().width, 80);
  if (!part.change.is_told) {
    const std::string_view noise = " (may be noise)", shorter = " (noise?)";
    line.add(line.width() + noise.size() + 1 + display_width(values) <= edge ? noise : shorter, Ink::kDim);
  }
  if (line.width() + 1 + display_width(values) <= edge) line.add_right(edge, values);
  page.add(line);
}

void add_reason(const RankDifference& rank, const PartLine& part, Page& page) {
  const WorkDifference* row = part.work == nullptr ? nullptr : largest_row_of(rank, *part.work);
  if (row == nullptr || row->match == WorkMatch::kRest) return;
  const std::string words = ": " + work_change_words(*row);
  const std::size_t width = page.style().width, used = kBarColumn + display_width(words);
  constexpr std::size_t kLeastName = 8;
  if (used + kLeastName > width) return;
  page.add(page.line().pad_to(kBarColumn).add(work_name(shown_identity(*row), width - used) + words, Ink::kDim));
}

constexpr std::size_t kSideColumn = 5;

std::string side_times(const DifferenceSide& side) {
  const DurationFormat format = DurationFormat::pick(side.median_ns, side.greatest_ns - side.least_ns);
  const auto run_count = static_cast<std::int64_t>(side.sources.size());
  const std::string runs = run_count > 1 ? " of " + show_counted(run_count, "run") : std::string();
  // `report` gives the middle 80 % of ten steps and more, so that what is meant is said where it is another range.
  constexpr std::int64_t kFewSteps = 10;
  return fmt::format("{} ({}{} to {})  {}{}", format.text(side.median_ns),
                     side.step_count < kFewSteps ? "" : "all within ", format.number(side.least_ns),
                     format.number(side.greatest_ns), show_counted(side.step_count, "step"), runs);
}

std::string side_name(const DifferenceSide& side, const std::vector<std::string>& files, bool with_folders) {
  std::string name =
      files.size() == 1 ? clean_text(files.front()) : show_counted(static_cast<std::int64_t>(files.size()), "file");
  if (!with_folders && name.rfind('/') != std::string::npos) name = name.substr(name.rfind('/') + 1);
  return side.rank ? fmt::format("rank {}, {}", *side.rank, name) : name;
}

// Both sides with their folders, or, where these do not fit, both without.
void add_sides(const DiffReport& report, const RankDifference& rank, Page& page) {
  const std::size_t edge = std::min<std::size_t>(page.style().width, 80);
  const std::string times[] = {side_times(rank.before), side_times(rank.after)};
  const auto room = [&](std::size_t i) {
    const std::size_t used = kSideColumn + display_width(times[i]) + 2;
    return edge > used ? edge - used : 1;
  };
  std::string names[] = {side_name(rank.before, report.before_files, true),
                         side_name(rank.after, report.after_files, true)};
  if (display_width(names[0]) > room(0) || display_width(names[1]) > room(1)) {
    names[0] = side_name(rank.before, report.before_files, false);
    names[1] = side_name(rank.after, report.after_files, false);
  }
  for (const std::size_t i : {0U, 1U}) {
    Line line = page.line();
    line.pad_to(2).add(i == 0 ? "A" : "B", Ink::kBold).pad_to(kSideColumn);
    page.add(line.add(shorten_middle(names[i], room(i))).add_right(edge, times[i]));
  }
}

std::string range_words(const Estimate& estimate) {
  const DurationFormat format = DurationFormat::pick(estimate.mid_ns, estimate.high_ns - estimate.low_ns);
  return fmt::format("{} ({} to {})", format.text(estimate.mid_ns), format.number(estimate.low_ns),
                     format.number(estimate.high_ns));
}

std::string rank_note(const RunDifference& difference) {
  const RankChange& typical = difference.ranks[difference.typical];
  std::string words = show_counted(static_cast<std::int64_t>(difference.ranks.size()), "rank") + " on both sides";
  if (difference.ranks.size() == 2 && typical.rank) {
    return words + fmt::format("; times are of rank {}, the lower of the two", *typical.rank);
  }
  if (typical.rank) words += fmt::format("; times are of rank {}, whose change is the median", *typical.rank);
  return words;
}

std::string finding_line(const FindingDifference& finding) {
  const bool is_new = finding.change == FindingChange::kAppeared;
  const SummaryFinding& shown = is_new ? *finding.after : *finding.before;
  std::string words = fmt::format("{} {}", is_new ? "New in B:" : "Gone in B:", clean_text(shown.id));
  if (shown.saving && shown.saving->mid_ns > 0) {
    words += fmt::format(" ({}{} a step)", is_new ? "costs " : "cost ", show_duration(shown.saving->mid_ns));
  }
  return words + ". " + clean_text(shown.title);
}

}  // namespace

void add_diff_head(const DiffReport& report, const DiffPlan& plan, Page& page) {
  const RunDifference& difference = report.difference;
  const RankDifference& rank = difference.typical_rank;
  const Ink ink = difference.withheld                            ? Ink::kBold
                  : rank.step.verdict == CompareVerdict::kSlower ? Ink::kRed
                  : rank.step.verdict == CompareVerdict::kFaster ? Ink::kGreen
                                                                 : Ink::kBold;
  page.paragraph(diff_answer(difference), 0, ink);
  page.blank();
  add_sides(report, rank, page);
  if (difference.ranks.size() > 1) page.paragraph(rank_note(difference), 5, Ink::kDim);
  page.paragraph(noise_words(rank), 5, Ink::kDim);
  if (rank.before.unprofiled_step && rank.after.unprofiled_step) {
    page.paragraph(fmt::format("without the profiler A about {}, B {}", range_words(*rank.before.unprofiled_step),
                               range_words(*rank.after.unprofiled_step)),
                   5);
  }
  std::size_t shown = 0;
  for (const std::string& doubt : difference.doubts) {
    if (++shown > plan.doubt_lines) break;
    page.paragraph_cut("Doubtful: " + clean_text(doubt), 2, 2, 3);
  }
}

void add_diff_findings(const DiffReport& report, const DiffPlan& plan, Page& page) {
  std::size_t shown = 0;
  for (const FindingDifference& finding : report.difference.explaining().findings) {
    if (finding.change == FindingChange::kStayed || shown == plan.finding_lines) break;
    // What is no fault (compute-bound, ...) is in the table.
    if ((finding.after ? *finding.after : *finding.before).severity == severity_name(Severity::kInformation)) continue;
    if (shown++ == 0) page.blank();
    page.paragraph_cut(finding_line(finding), 2, shown == 1 ? 2 : 1, 3);
  }
}

void add_diff_parts(const DiffReport& report, const DiffPlan& plan, Page& page) {
  const RankDifference& rank = report.difference.explaining();
  const int decimals = ms_decimals(rank.mean_step);
  page.blank();
  Line head = page.line();
  head.pad_to(2).add("Mean step", Ink::kBold);
  if (report.difference.ranks.size() > 1 && rank.rank) {
    head.add(fmt::format(" of rank {}, which changed most", *rank.rank));
  }
  const std::string sum =
      fmt::format("{} ms, {} -> {}", signed_ms(rank.mean_step.difference_ns(), decimals),
                  fmt::format("{:.{}f}", static_cast<double>(rank.mean_step.before_ns) / 1e6, decimals),
                  fmt::format("{:.{}f}", static_cast<double>(rank.mean_step.after_ns) / 1e6, decimals));
  const std::size_t edge = std::min<std::size_t>(page.style().width, 80);
  if (head.width() + 1 + display_width(sum) > edge) {
    page.add(head);
    head = page.line();
  }
  page.add(head.add_right(edge, sum));
  if (rank.is_host_only) {
    page.paragraph("No GPU work is recorded, so the step has no parts; operators are below.", 2, Ink::kDim);
    return;
  }
  const std::vector<PartLine> lines = part_lines(rank);  // largest first
  DurationNs largest = 0;
  for (const PartLine& part : lines) {
    if (is_worth_a_line(part.change, rank)) largest = std::max(largest, std::abs(part.change.difference_ns()));
  }
  PartChange rest;
  std::size_t shown = 0, left = 0;
  bool is_rest_noise = true;
  for (const PartLine& part : lines) {
    if (is_worth_a_line(part.change, rank) && shown < plan.part_count) {
      ++shown;
      add_part(part, largest, decimals, page);
      if (shown <= plan.reason_count) add_reason(rank, part, page);
      continue;
    }
    ++left;
    is_rest_noise = is_rest_noise && !part.change.is_told;
    rest.before_ns += part.change.before_ns;
    rest.after_ns += part.change.after_ns;
  }
  if (left == 0) return;
  std::string name = show_counted(static_cast<std::int64_t>(left), "other part", "other parts");
  name += is_rest_noise ? (left == 1 ? ", within its noise" : ", each within its noise") : ", smaller or noise";
  if (rank.step.verdict == CompareVerdict::kTooFew)
    name = "other parts; too few steps to know their noise";
  else if (shown == 0)
    name = is_rest_noise ? "no part changed by more than its noise" : "no part changed much";
  const std::string values = from_to(rest, decimals);
  const std::size_t column = shown == 0 ? kBarColumn : kNameColumn;
  Line line = page.line();
  line.add_right(kNumberEdge, signed_ms(rest.difference_ns(), decimals), Ink::kDim)
      .pad_to(column)
      .add(shorten_end(name, page.style().width - column), Ink::kDim);
  if (line.width() + 1 + display_width(values) <= edge) line.add_right(edge, values, Ink::kDim);
  page.add(line);
}

void add_diff_commands(const DiffReport& report, Page& page) {
  page.blank();
  const std::string& program = page.style().program;
  const bool is_pair = report.before_files.size() == 1 && report.after_files.size() == 1;
  const auto fits = [&](const std::string& text) { return display_width(text) + 2 <= page.style().width; };
  std::string sides = is_pair ? fmt::format("{} {}", shell_quoted(clean_text(report.before_files.front())),
                                            shell_quoted(clean_text(report.after_files.front())))
                              : std::string("A... --vs B...");
  std::string command = fmt::format("$ {} diff {} --top 30   # every row", program, sides);
  if (!fits(command)) {
    sides = is_pair ? "A B" : sides;
    command = fmt::format("$ {} diff {} --top 30   # every row", program, sides);
  }
  page.add(page.line().pad_to(2).add(shorten_end(command, page.style().width - 2)));
  // The proof of what appeared is in the report of B.
  for (const FindingDifference& finding : report.difference.explaining().findings) {
    if (finding.change != FindingChange::kAppeared || !finding.after->saving) continue;
    const std::string& source = report.difference.explaining().after.sources.front();
    const std::string id = clean_text(finding.id);
    std::string proof = fmt::format("$ {} report {}   # {}", program, shell_quoted(clean_text(source)), id);
    if (!fits(proof)) proof = fmt::format("$ {} report B   # {}", program, id);
    page.add(page.line().pad_to(2).add(shorten_end(proof, page.style().width - 2)));
    break;
  }
}

std::string write_diff_text(const DiffReport& report, const Style& style) {
  Page page(style);
  for (const DiffPlan& plan : kPlans) {
    page = Page(style);
    add_diff_head(report, plan, page);
    if (report.difference.is_same_recording) return page.text();  // all else would be zeros
    add_diff_findings(report, plan, page);
    add_diff_parts(report, plan, page);
    add_diff_commands(report, page);
    if (page.line_count() <= kFirstScreenLines) break;
  }
  if (report.table_row_count > 0) {
    add_diff_doubts(report, page);
    add_all_diff_findings(report, page);
    add_diff_ranks(report, page);
    add_diff_work(report, page);
    add_diff_idle(report, page);
    add_diff_operators(report, page);
    add_diff_memory(report, page);
  }
  return page.text();
}

}  // namespace stepscope
