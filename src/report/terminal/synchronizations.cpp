// Where the host waited for the GPU, by operator and Python line: the waits in mid-step and those that took long.
#include <fmt/format.h>

#include <algorithm>

#include "report/numbers.h"
#include "report/terminal/sections.h"
#include "report/text.h"

namespace stepscope {
namespace {

constexpr std::size_t kTimeEdge = 10, kCountEdge = 17, kHiddenEdge = 26, kPlaceColumn = 29;

// A wait at a step's end is how most loops are made; one that costs a hundredth of the time is worth a line.
bool is_worth_a_line(const Report& report, const SynchronizationRow& row) {
  const DurationNs window_ns = report.steps.window.length_ns();
  return row.hidden_count > 0 || (row.blocked_ns > 0 && row.blocked_ns >= window_ns / 100);
}

std::string per_step(std::int64_t count, std::int64_t divisor) {
  if (count % divisor == 0) return show_count(count / divisor);
  return show_decimal(static_cast<double>(count) / static_cast<double>(divisor), 1);
}

std::string place_words(const SynchronizationRow& row) {
  std::string text = row.operators.empty() ? std::string(wait_kind_name(row.kind)) + " wait" : row.operators;
  if (!row.python_line.empty()) text += " at " + row.python_line;
  if (!row.spans.empty()) text += " in " + row.spans;
  return text;
}

void add_row(const SynchronizationRow& row, std::int64_t divisor, const DurationFormat& format, Page& page) {
  constexpr std::size_t kMostLines = 4;  // a path of operators can be long
  std::vector<std::string> pieces = wrap_text(place_words(row), page.style().width - kPlaceColumn);
  if (pieces.size() > kMostLines) {
    pieces.resize(kMostLines);
    pieces.back() = shorten_end(pieces.back(), page.style().width - kPlaceColumn - 1) + "…";
  }
  Line line = page.line();
  line.add_right(kTimeEdge, format.number(row.blocked_ns / divisor));
  line.add_right(kCountEdge, per_step(row.count, divisor)).add_right(kHiddenEdge, per_step(row.hidden_count, divisor));
  page.add(line.pad_to(kPlaceColumn).add(pieces.front()));
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    Line next = page.line();
    page.add(next.pad_to(kPlaceColumn).add(pieces[i]));
  }
}

}  // namespace

void add_synchronizations(const Report& report, std::size_t row_count, Page& page) {
  if (!report.has_headline() || report.was_launch_blocking()) return;
  std::vector<SynchronizationRow> rows;
  for (const SynchronizationRow& row : report.synchronizations) {
    if (rows.size() < row_count && is_worth_a_line(report, row)) rows.push_back(row);
  }
  if (rows.empty()) return;
  const std::int64_t divisor = report.step_divisor();
  const auto format = DurationFormat::pick(std::max<DurationNs>(1, rows.front().blocked_ns / divisor));
  page.blank();
  Line title = page.line();
  page.add(title.add("Synchronizations", Ink::kBold).add(report.is_per_step() ? ", per step" : "", Ink::kBold));
  Line head = page.line();
  head.add_right(kTimeEdge, format.unit, Ink::kDim).add_right(kCountEdge, "waits", Ink::kDim);
  head.add_right(kHiddenEdge, "mid-step", Ink::kDim);
  page.add(head.pad_to(kPlaceColumn).add("where", Ink::kDim));
  for (const SynchronizationRow& row : rows) add_row(row, divisor, format, page);
}

}  // namespace stepscope
