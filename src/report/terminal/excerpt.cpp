// A piece of the timeline as text: host threads above, streams below, the evidence marked in the ruler.
//
//   ms from the start of step 5
//                 0         10        20
//                 |         |         |
//                      ^^^^^^^^^^^^^^^                evidence
//   main thread   [data               ][forward
//                 DDDDDDDDDDDDDDDDDDDDDoolloollo
//   stream 7      ......................MMmMMaaa
//
// A letter says what filled most of a cell; a small one, less than half of it. Letters and not shades, because a pipe
// into a file or a chat keeps them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/numbers.h"
#include "report/terminal.h"
#include "report/terminal/sections.h"
#include "report/text.h"

namespace stepscope {
namespace {

constexpr std::size_t kLabelWidth = 14;

char kernel_letter(KernelClass kind) {
  constexpr std::string_view kLetters = "MACNERGOXKSU";
  return kLetters[static_cast<std::size_t>(kind)];
}

char host_letter(HostLabel label) {
  constexpr std::string_view kLetters = "DHTWBZOYLCP.---";
  return kLetters[static_cast<std::size_t>(label)];
}

std::string_view kernel_words(KernelClass kind) { return kernel_class_name(kind); }

// Legends are collected while drawing: only letters that occur are explained.
using Legend = std::map<char, std::string_view>;

std::string draw_cells(const ExcerptRow& row, Legend& legend) {
  // An eighth of a cell: less is dust that would hide that the row is idle.
  constexpr float kLeastShown = 0.125F;
  std::string text;
  for (const ExcerptCell& cell : row.cells) {
    if (cell.filled_ratio < kLeastShown) {
      text += '.';
      continue;
    }
    const bool is_stream = row.kind == ExcerptRowKind::kStream;
    const char letter =
        is_stream ? kernel_letter(static_cast<KernelClass>(cell.what)) : host_letter(static_cast<HostLabel>(cell.what));
    legend.emplace(letter, is_stream ? kernel_words(static_cast<KernelClass>(cell.what))
                                     : host_label_words(static_cast<HostLabel>(cell.what)));
    text += cell.filled_ratio >= 0.5F ? letter : static_cast<char>(std::tolower(letter));
  }
  return text;
}

std::size_t column_of(const Excerpt& excerpt, TimeNs time_ns, std::size_t cell_count) {
  const double at = static_cast<double>(time_ns - excerpt.shown.start_ns) /
                    static_cast<double>(std::max<DurationNs>(1, excerpt.shown.length_ns())) *
                    static_cast<double>(cell_count);
  return static_cast<std::size_t>(std::clamp(at + 0.5, 0.0, static_cast<double>(cell_count)));
}

// Boxes are drawn into a row of blanks, each inside its own columns.
std::string draw_boxes(const Excerpt& excerpt, const ExcerptRow& row, std::size_t cell_count) {
  std::string text;
  std::size_t used = 0;
  for (const ExcerptBox& box : row.boxes) {
    const bool cut_left = box.start_ns<excerpt.shown.start_ns, cut_right = box.end_ns> excerpt.shown.end_ns;
    const std::size_t from = std::max(used, column_of(excerpt, box.start_ns, cell_count));
    const std::size_t to = column_of(excerpt, box.end_ns, cell_count);
    if (to < from + 3) continue;
    text.append(from - used, ' ');
    text += cut_left ? '<' : '[';
    text += pad_right(shorten_middle(box.name, to - from - 2), to - from - 2);
    text += cut_right ? '>' : ']';
    used = to;
  }
  return text;
}

DurationNs round_tick_ns(DurationNs length_ns) {
  // 4 to 8 ticks fit 60 cells without touching.
  const double rough = static_cast<double>(length_ns) / 5;
  const double power = std::pow(10.0, std::floor(std::log10(std::max(rough, 1.0))));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return static_cast<DurationNs>(factor * power);
  }
  return static_cast<DurationNs>(10 * power);
}

void add_ruler(const Excerpt& excerpt, std::size_t cell_count, Page& page) {
  const DurationNs tick_ns = std::max<DurationNs>(1, round_tick_ns(excerpt.shown.length_ns()));
  auto format = DurationFormat::pick(std::max(excerpt.shown.length_ns(), tick_ns));
  const double tick = static_cast<double>(tick_ns) / format.ns_per_unit;
  format.decimals = tick >= 1 ? 0 : static_cast<int>(std::ceil(-std::log10(tick) - 1e-9));
  std::string numbers, marks;
  // Ticks at multiples of tick_ns from the origin.
  DurationNs at_ns = (excerpt.shown.start_ns - excerpt.origin_ns) / tick_ns * tick_ns;
  for (; at_ns + excerpt.origin_ns <= excerpt.shown.end_ns; at_ns += tick_ns) {
    const TimeNs time_ns = excerpt.origin_ns + at_ns;
    if (time_ns < excerpt.shown.start_ns) continue;
    const std::size_t column = column_of(excerpt, time_ns, cell_count);
    const std::string number = format.number(at_ns);
    if (column >= cell_count || column < numbers.size() || column + number.size() > cell_count) continue;
    numbers = fmt::format("{}{} ", pad_right(numbers, column), number);
    marks = fmt::format("{}|", pad_right(marks, column));
  }
  page.paragraph(fmt::format("{} from the start of {}", format.unit, excerpt.origin_name), kIndentOfExcerpt, Ink::kDim);
  for (const std::string& text : {numbers, marks}) {
    Line line = page.line();
    page.add(line.pad_to(kIndentOfExcerpt + kLabelWidth).add(text, Ink::kDim));
  }
}

void add_evidence_mark(const Excerpt& excerpt, std::size_t cell_count, Page& page) {
  const std::size_t from = std::min(column_of(excerpt, excerpt.evidence.start_ns, cell_count), cell_count - 1);
  const std::size_t to = std::max(from + 1, column_of(excerpt, excerpt.evidence.end_ns, cell_count));
  Line line = page.line();
  line.pad_to(kIndentOfExcerpt).add("here").pad_to(kIndentOfExcerpt + kLabelWidth + from);
  page.add(line.add(std::string(to - from, '^'), Ink::kMagenta));
}

void add_legend(std::string_view of, const Legend& legend, Page& page) {
  if (legend.empty()) return;
  std::string text = fmt::format("{}:", of);
  for (const auto& [letter, words] : legend) {
    text += fmt::format("{} {} {}", letter == legend.begin()->first ? "" : ",", letter, words);
  }
  page.paragraph(text, kIndentOfExcerpt, Ink::kDim, 6);
}

}  // namespace

std::size_t excerpt_cell_count(const Style& style) {
  return style.width - std::min(style.width - 10, kIndentOfExcerpt + kLabelWidth);
}

void add_excerpt(const Excerpt& excerpt, Page& page) {
  std::size_t cell_count = excerpt_cell_count(page.style());
  for (const ExcerptRow& row : excerpt.rows) {
    if (!row.cells.empty()) cell_count = row.cells.size();
  }
  add_ruler(excerpt, cell_count, page);
  add_evidence_mark(excerpt, cell_count, page);
  Legend host_legend, stream_legend;
  for (const ExcerptRow& row : excerpt.rows) {
    Line line = page.line();
    line.pad_to(kIndentOfExcerpt).add(shorten_end(row.label, kLabelWidth - 1));
    line.pad_to(kIndentOfExcerpt + kLabelWidth);
    if (row.kind == ExcerptRowKind::kBoxes) {
      line.add(draw_boxes(excerpt, row, cell_count), Ink::kCyan);
    } else if (row.kind == ExcerptRowKind::kHost) {
      line.add(draw_cells(row, host_legend));
    } else {
      line.add(draw_cells(row, stream_legend), Ink::kGreen);
    }
    page.add(line);
  }
  page.blank();
  add_legend("host", host_legend, page);
  add_legend("GPU", stream_legend, page);
  page.paragraph("a letter fills its cell, a small one less than half of it; a dot: nothing", kIndentOfExcerpt,
                 Ink::kDim);
}

}  // namespace stepscope
