// A table as text: cells first, then as many columns side by side as the width holds, the rest below.
//
// The colours and their limits (1 %, 10 %, 2 and 5 times) are torch.utils.benchmark's, so that a reader sees what they
// are used to. Its further rule, that all within 100 ns of the best is best too, is left out: it makes a 20 ns and a
// 110 ns function equal.
#include "stepscope/compare.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "timing/compare_table.h"
#include "timing/time_text.h"

namespace stepscope {
namespace {

constexpr double kBestRatio = 1.01;
constexpr double kGoodRatio = 1.1;
constexpr double kBadRatio = 2;
constexpr double kVeryBadRatio = 5;
constexpr const char* kBestColour = "\033[1;92m";
constexpr const char* kGoodColour = "\033[1;34m";
constexpr const char* kBadColour = "\033[2;91m";
constexpr const char* kVeryBadColour = "\033[1;31m";
constexpr const char* kColourEnd = "\033[0m";

constexpr std::string_view kBar = "  |  ";
// A heading longer than this is broken at its spaces: a column as wide as a sentence holds one number.
constexpr std::size_t kHeadingColumns = 24;
// Names are never broken narrower than this.
constexpr std::size_t kLeastNameColumns = 16;

struct Style {
  bool trim = false;
  bool warnings = false;
  std::optional<CompareWithin> mark;
  std::optional<CompareWithin> colour;
};

struct Column {
  std::vector<std::string> heading;
  std::vector<std::string> cells;    // one a row, all equally wide, "" where nothing was measured
  std::vector<const char*> colours;  // one a row; nullptr: none
  std::size_t width = 0;
};

std::string padded(std::string text, std::size_t width) {
  const std::size_t columns = text_columns(text);
  if (columns < width) text.append(width - columns, ' ');
  return text;
}

std::string centred(const std::string& text, std::size_t width) {
  const std::size_t columns = text_columns(text);
  return columns < width ? padded(std::string((width - columns) / 2, ' ') + text, width) : text;
}

double best_of(const Table& table, std::size_t row, std::size_t column, CompareWithin within) {
  double best_ns = std::numeric_limits<double>::infinity();
  const auto look = [&](const Measurement* cell) {
    if (cell != nullptr) best_ns = std::min(best_ns, cell->median_ns());
  };
  if (within == CompareWithin::kRow) {
    for (const Measurement* cell : table.rows[row].cells) look(cell);
  } else {
    for (const TableRow& other : table.rows) {
      if (other.num_threads == table.rows[row].num_threads) look(other.cells[column]);
    }
  }
  return best_ns;
}

const char* colour_of(double ns, double best_ns) {
  if (ns <= best_ns * kBestRatio) return kBestColour;
  if (ns <= best_ns * kGoodRatio) return kGoodColour;
  if (ns >= best_ns * kVeryBadRatio) return kVeryBadColour;
  if (ns >= best_ns * kBadRatio) return kBadColour;
  return nullptr;
}

// Decimals that every cell of the column can have: 1, or what the least certain one has when figures are trimmed.
int decimals_of(const Table& table, std::size_t column, bool trim) {
  if (!trim) return 1;
  int decimals = std::numeric_limits<int>::max();
  for (const TableRow& row : table.rows) {
    const Measurement* cell = row.cells[column];
    if (cell == nullptr) continue;
    const int before = digits_before_point(cell->median_ns() / table.unit.ns);
    decimals = std::min(decimals, std::max(0, cell->significant_figures() - before));
  }
  return decimals;
}

std::string warning_of(const Measurement& cell) {
  if (!cell.has_warnings()) return "";
  if (cell.meets_confidence() || cell.median_ns() <= 0) return " (!)";
  return " (! " + show_fixed(cell.iqr_ns() / cell.median_ns() * 100, 0) + " %)";
}

Column build_column(const Table& table, std::size_t index, const Style& style) {
  Column column;
  const std::string& name = table.columns[index];
  column.heading = wrap_words(name.empty() ? "time" : one_line(name), kHeadingColumns);
  const int decimals = decimals_of(table, index, style.trim);
  std::vector<std::string> numbers;
  std::vector<std::string> warnings;
  std::size_t number_width = 0;
  std::size_t warning_width = 0;
  for (const TableRow& row : table.rows) {
    const Measurement* cell = row.cells[index];
    numbers.emplace_back();
    warnings.emplace_back();
    if (cell == nullptr) continue;
    double value = cell->median_ns() / table.unit.ns;
    if (style.trim) value = round_to_figures(value, cell->significant_figures());
    numbers.back() = show_fixed(value, decimals);
    if (style.warnings) warnings.back() = warning_of(*cell);
    number_width = std::max(number_width, numbers.back().size());
    warning_width = std::max(warning_width, warnings.back().size());
  }
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const Measurement* cell = table.rows[row].cells[index];
    column.cells.emplace_back();
    column.colours.push_back(nullptr);
    if (cell == nullptr) continue;
    const double ns = cell->median_ns();
    std::string text = std::string(number_width - numbers[row].size(), ' ') + numbers[row];
    if (style.mark) text += ns <= best_of(table, row, index, *style.mark) * kBestRatio ? '*' : ' ';
    column.cells.back() = text + padded(warnings[row], warning_width);
    if (style.colour) column.colours.back() = colour_of(ns, best_of(table, row, index, *style.colour));
    column.width = std::max(column.width, column.cells.back().size());
  }
  for (const std::string& line : column.heading) column.width = std::max(column.width, text_columns(line));
  return column;
}

// The names of the rows, each as the lines that it takes.
std::vector<std::vector<std::string>> build_names(const Table& table, std::size_t width) {
  std::size_t env_width = 0;
  const auto env_of = [](const TableRow& row) {
    std::string text(1, '(');
    text += row.env.empty() ? "unspecified" : one_line(row.env);
    return text += ") ";
  };
  for (const TableRow& row : table.rows)
    env_width = std::max(env_width, table.has_envs ? text_columns(env_of(row)) : 0);
  std::vector<std::vector<std::string>> names;
  const TableRow* before = nullptr;
  for (const TableRow& row : table.rows) {
    const bool is_new = before == nullptr || before->env != row.env || before->num_threads != row.num_threads;
    const std::size_t room = width > env_width + 2 ? width - env_width - 2 : 1;
    std::vector<std::string> lines = wrap_words(one_line(row.name), room);
    for (std::size_t line = 0; line < lines.size(); ++line) {
      const std::string env = table.has_envs && is_new && line == 0 ? env_of(row) : "";
      lines[line] = "  " + padded(env, env_width) + lines[line];
    }
    names.push_back(std::move(lines));
    before = &row;
  }
  return names;
}

std::size_t width_of(const std::vector<std::vector<std::string>>& names) {
  std::size_t width = 0;
  for (const auto& lines : names) {
    for (const std::string& line : lines) width = std::max(width, text_columns(line));
  }
  return width;
}

std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// One part of a table: the names and the columns [from, to).
class Part {
 public:
  Part(const Table& table, const std::vector<std::vector<std::string>>& names, const std::vector<Column>& columns,
       std::size_t from, std::size_t to)
      : table_(table), names_(names), columns_(columns), from_(from), to_(to), name_width_(width_of(names)) {
    width_ = name_width_;
    for (std::size_t index = from; index < to; ++index) width_ += kBar.size() + columns[index].width;
  }

  [[nodiscard]] std::string text() const {
    std::string label = one_line(table_.label);
    if (from_ > 0) label += " (continued)";
    std::string out(1, '[');
    out += dashes(label, width_ > 2 ? width_ - 2 : 0);
    out += "]\n";
    out += headings();
    for (std::size_t row = 0; row < table_.rows.size(); ++row) {
      const int threads = table_.rows[row].num_threads;
      if (row == 0 || threads != table_.rows[row - 1].num_threads) out += thread_line(threads);
      out += row_lines(row);
    }
    return out;
  }

 private:
  static std::string dashes(std::string label, std::size_t width) {
    if (!label.empty()) label = " " + label + " ";
    const std::size_t columns = text_columns(label);
    if (columns >= width) return label;
    const std::size_t left = (width - columns) / 2;
    return std::string(left, '-') + label + std::string(width - columns - left, '-');
  }

  [[nodiscard]] std::string thread_line(int threads) const {
    std::string line = threads == 0 ? "threads as they were: "
                                    : show_counted(static_cast<std::size_t>(threads), "thread", "threads") + ": ";
    if (line.size() < width_) line.append(width_ - line.size(), '-');
    return without_trailing_spaces(line) + "\n";
  }

  [[nodiscard]] std::string headings() const {
    std::size_t lines = 0;
    for (std::size_t index = from_; index < to_; ++index) lines = std::max(lines, columns_[index].heading.size());
    std::string out;
    for (std::size_t line = 0; line < lines; ++line) {
      std::string text(name_width_, ' ');
      for (std::size_t index = from_; index < to_; ++index) {
        const Column& column = columns_[index];
        text += std::string(kBar) + centred(line < column.heading.size() ? column.heading[line] : "", column.width);
      }
      out += without_trailing_spaces(text) + "\n";
    }
    return out;
  }

  [[nodiscard]] std::string row_lines(std::size_t row) const {
    std::string out;
    for (std::size_t line = 0; line < names_[row].size(); ++line) {
      std::string text = padded(names_[row][line], name_width_);
      for (std::size_t index = from_; index < to_; ++index) {
        const Column& column = columns_[index];
        const std::string cell = centred(line == 0 ? column.cells[row] : "", column.width);
        const char* colour = line == 0 ? column.colours[row] : nullptr;
        text += std::string(kBar) + (colour != nullptr ? colour + cell + kColourEnd : cell);
      }
      out += without_trailing_spaces(text) + "\n";
    }
    return out;
  }

  const Table& table_;
  const std::vector<std::vector<std::string>>& names_;
  const std::vector<Column>& columns_;
  std::size_t from_;
  std::size_t to_;
  std::size_t name_width_;
  std::size_t width_ = 0;
};

// What the signs in the table mean.
std::string legend_of(const Table& table, const Style& style) {
  std::string out = "\nTimes are in " + std::string(table.unit.word) + " (" + table.unit.symbol + ").\n";
  if (style.mark) {
    out += "* the best of its " + std::string(*style.mark == CompareWithin::kRow ? "row" : "column and thread count") +
           ", or within 1 % of it.\n";
  }
  if (!style.warnings) return out;
  bool has_spread = false;
  std::vector<std::string> notes;
  for (const TableRow& row : table.rows) {
    for (const Measurement* cell : row.cells) {
      if (cell == nullptr) continue;
      has_spread = has_spread || !cell->meets_confidence();
      for (const std::string& note : cell->notes()) {
        if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
      }
    }
  }
  if (has_spread) out += "(! XX %) the IQR is XX % of the median: the time fluctuates.\n";
  if (!notes.empty()) out += "(!) has a warning:\n";
  for (const std::string& note : notes) out += show_warning(note);
  return out;
}

std::string show_table(const Table& table, const Style& style, std::size_t width) {
  std::vector<Column> columns;
  std::size_t widest = 0;
  for (std::size_t index = 0; index < table.columns.size(); ++index) {
    columns.push_back(build_column(table, index, style));
    widest = std::max(widest, columns.back().width);
  }
  const std::size_t beside = widest + kBar.size();
  const std::size_t name_room = width == 0 ? std::numeric_limits<std::size_t>::max()
                                           : std::max(kLeastNameColumns, width > beside ? width - beside : 0);
  const auto names = build_names(table, name_room);
  std::string out;
  for (std::size_t from = 0; from < columns.size();) {
    std::size_t used = width_of(names) + kBar.size() + columns[from].width;
    std::size_t to = from + 1;
    while (to < columns.size() && (width == 0 || used + kBar.size() + columns[to].width <= width)) {
      used += kBar.size() + columns[to++].width;
    }
    if (from > 0) out += '\n';
    out += Part(table, names, columns, from, to).text();
    from = to;
  }
  return out + legend_of(table, style);
}

}  // namespace

std::string Compare::to_string(std::size_t width) const {
  const std::vector<Measurement> merged = merge_measurements(measurements_);
  Style style{trim_, warnings_, std::nullopt, std::nullopt};
  if (mark_) style.mark = mark_within_;
  if (colour_) style.colour = colour_within_;
  std::string out;
  for (const Table& table : build_tables(merged)) {
    if (!out.empty()) out += '\n';
    out += show_table(table, style, width);
  }
  return out;
}

}  // namespace stepscope
