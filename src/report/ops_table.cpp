// Three writers of the same rows.
#include "report/ops_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/csv.h"
#include "report/kernel_name.h"
#include "report/numbers.h"
#include "report/report.h"
#include "report/text.h"

namespace stepscope {
namespace {

using Json = nlohmann::ordered_json;

std::string_view group_name(GroupBy group_by) {
  switch (group_by) {
    case GroupBy::kName:
      return "name";
    case GroupBy::kShape:
      return "shape";
    case GroupBy::kStack:
      return "stack";
    case GroupBy::kModule:
      return "module";
  }
  return "";
}

double us(DurationNs ns) { return static_cast<double>(ns) / 1e3; }

Json row_json(const AverageRow& row) {
  return {{"key", row.key},
          {"count", row.count},
          {"cpu_time_total", us(row.cpu_time_total_ns)},
          {"self_cpu_time_total", us(row.self_cpu_time_total_ns)},
          {"device_time_total", us(row.device_time_total_ns)},
          {"self_device_time_total", us(row.self_device_time_total_ns)},
          {"cpu_memory_usage", row.cpu_memory_usage_bytes},
          {"self_cpu_memory_usage", row.self_cpu_memory_usage_bytes},
          {"device_memory_usage", row.device_memory_usage_bytes},
          {"self_device_memory_usage", row.self_device_memory_usage_bytes},
          {"flops", row.flops},
          {"is_async", row.is_async},
          {"is_user_annotation", row.is_user_annotation},
          {"input_shapes", row.input_shapes},
          {"stack", row.stack},
          {"device_type", row.device_type},
          {"record_count", row.record_count},
          {"inclusive_ns", row.inclusive_ns}};
}

std::string joined_stack(const AverageRow& row) {
  std::string text;
  for (const std::string& frame : row.stack) text += (text.empty() ? "" : ";") + frame;
  return text;
}

std::string us_text(DurationNs ns) { return fmt::format("{:.3f}", us(ns)); }

// The names of all rows in `width` columns; different names never look alike.
std::vector<std::string> shown_names(const OpsTable& table, std::size_t width) {
  std::vector<std::string> names, shown;
  for (const std::size_t at : table.rows) {
    const AverageRow& row = table.averages.rows[at];
    names.push_back(clean_text(row.key));
    const bool is_kernel = row.device_type != "DeviceType.CPU" && !row.is_user_annotation;
    shown.push_back(is_kernel ? fold_kernel_name(names.back(), width) : shorten_middle(names.back(), width));
  }
  tell_apart(names, width, shown);
  return shown;
}

// What rows of one name differ in, besides it.
std::string group_words(const AverageRow& row) {
  if (!row.stack.empty()) return clean_text(row.stack.front());
  return row.input_shapes == "[]" ? "" : clean_text(row.input_shapes);
}

// Beside the name where it fits, else whole under it: shapes cut in the middle tell nothing.
void add_group_words(const std::string& words, Line line, Page& page) {
  constexpr std::size_t kIndent = 16, kMostLines = 6;
  const bool fits = line.width() + 2 + display_width(words) <= page.style().width;
  if (!words.empty() && fits) line.pad_to(line.width() + 2).add(words, Ink::kCyan);
  page.add(line);
  if (!words.empty() && !fits) page.paragraph_cut(words, kIndent, kMostLines, 2);
}

struct TextColumn {
  const char* title;
  std::size_t width;
  std::string (*cell)(const AverageRow&, const Averages&);
};

std::string share_text(DurationNs part_ns, DurationNs total_ns) {
  return total_ns > 0 ? show_percent(static_cast<double>(part_ns) / static_cast<double>(total_ns)) : "-";
}

std::string ms_text(DurationNs ns) { return ns == 0 ? "0" : fmt::format("{:.3f}", static_cast<double>(ns) / 1e6); }

std::string bytes_text(std::int64_t bytes) { return bytes == 0 ? "0" : show_bytes(bytes); }

// The first five fit 80 columns beside a name; wider screens get more.
constexpr TextColumn kColumns[] = {
    {"GPU self ms", 12, [](const AverageRow& r, const Averages&) { return ms_text(r.self_device_time_total_ns); }},
    {"share", 8,
     [](const AverageRow& r, const Averages& a) {
       return r.is_user_annotation ? std::string("-")
                                   : share_text(r.self_device_time_total_ns, a.self_device_time_total_ns);
     }},
    {"CPU self ms", 12, [](const AverageRow& r, const Averages&) { return ms_text(r.self_cpu_time_total_ns); }},
    {"calls", 9, [](const AverageRow& r, const Averages&) { return show_count(r.count); }},
    {"GPU ms", 11, [](const AverageRow& r, const Averages&) { return ms_text(r.device_time_total_ns); }},
    {"CPU ms", 11, [](const AverageRow& r, const Averages&) { return ms_text(r.cpu_time_total_ns); }},
    {"GPU mem", 12, [](const AverageRow& r, const Averages&) { return bytes_text(r.self_device_memory_usage_bytes); }},
};

std::size_t column_count_for(std::size_t width) {
  constexpr std::size_t kLeastName = 37;
  std::size_t used = 0, count = 0;
  for (const TextColumn& column : kColumns) {
    used += column.width;
    if (used + kLeastName > width) break;
    ++count;
  }
  return std::max<std::size_t>(count, 4);
}

}  // namespace

std::string write_ops_text(const OpsTable& table, const Style& style) {
  Page page(style);
  const std::size_t columns = column_count_for(style.width);
  std::string title =
      fmt::format("{} of {} rows by {}", show_count(static_cast<std::int64_t>(table.rows.size())),
                  show_count(static_cast<std::int64_t>(table.averages.rows.size())), group_name(table.group_by));
  if (!table.sort_key.empty()) title += fmt::format(", sorted by {}", table.sort_key);
  page.paragraph(title, 0);
  page.paragraph("Of the whole file, as in torch; `stepscope report` has the operators of the steps.", 0, Ink::kDim);
  Line head = page.line();
  std::size_t edge = 0;
  for (std::size_t i = 0; i < columns; ++i) head.add_right(edge += kColumns[i].width, kColumns[i].title, Ink::kDim);
  const std::size_t name_column = edge + 2;
  page.add(head.pad_to(name_column).add("name", Ink::kDim));
  const std::size_t room = style.width - std::min(style.width - 8, name_column);
  const std::vector<std::string> names = shown_names(table, room);
  for (std::size_t at = 0; at < table.rows.size(); ++at) {
    const AverageRow& row = table.averages.rows[table.rows[at]];
    Line line = page.line();
    edge = 0;
    for (std::size_t i = 0; i < columns; ++i) {
      line.add_right(edge += kColumns[i].width, kColumns[i].cell(row, table.averages));
    }
    line.pad_to(name_column);
    // Long numbers push the name to the right.
    line.add(shorten_middle(names[at], style.width - std::min(style.width - 8, line.width())));
    add_group_words(group_words(row), line, page);
  }
  page.paragraph(
      fmt::format("self CPU time {} ms, self GPU time {} ms in all rows",
                  ms_text(table.averages.self_cpu_time_total_ns), ms_text(table.averages.self_device_time_total_ns)),
      0, Ink::kDim);
  const auto& rows = table.averages.rows;
  if (std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.device_type != "DeviceType.CPU"; })) {
    page.paragraph(
        "GPU time stands twice, as in torch: at the operator that launched it and at its kernel. A row without a share "
        "is a span, which holds what runs beneath it once more. Counted once in the sum.",
        0, Ink::kDim);
  }
  return page.text();
}

std::string write_ops_csv(const OpsTable& table) {
  std::string out =
      csv_row({"key", "input_shapes", "stack", "device_type", "is_async", "is_user_annotation", "count", "record_count",
               "cpu_time_total_us", "self_cpu_time_total_us", "device_time_total_us", "self_device_time_total_us",
               "inclusive_ns", "cpu_memory_usage_bytes", "self_cpu_memory_usage_bytes", "device_memory_usage_bytes",
               "self_device_memory_usage_bytes", "flops"});
  for (const std::size_t at : table.rows) {
    const AverageRow& row = table.averages.rows[at];
    out +=
        csv_row({row.key, row.input_shapes, joined_stack(row), row.device_type, row.is_async ? "true" : "false",
                 row.is_user_annotation ? "true" : "false", std::to_string(row.count), std::to_string(row.record_count),
                 us_text(row.cpu_time_total_ns), us_text(row.self_cpu_time_total_ns), us_text(row.device_time_total_ns),
                 us_text(row.self_device_time_total_ns), std::to_string(row.inclusive_ns),
                 std::to_string(row.cpu_memory_usage_bytes), std::to_string(row.self_cpu_memory_usage_bytes),
                 std::to_string(row.device_memory_usage_bytes), std::to_string(row.self_device_memory_usage_bytes),
                 std::to_string(row.flops)});
  }
  return out;
}

std::string write_ops_json(const OpsTable& table) {
  Json rows = Json::array();
  for (const std::size_t at : table.rows) rows.push_back(row_json(table.averages.rows[at]));
  const Json out = {{"schema_version", kReportSchemaVersion},
                    {"by", group_name(table.group_by)},
                    {"sort", table.sort_key.empty() ? Json(nullptr) : Json(table.sort_key)},
                    {"row_count", table.averages.rows.size()},
                    {"self_cpu_time_total_ns", table.averages.self_cpu_time_total_ns},
                    {"self_device_time_total_ns", table.averages.self_device_time_total_ns},
                    {"rows", std::move(rows)}};
  return out.dump(1, ' ', false, nlohmann::detail::error_handler_t::replace) + "\n";
}

}  // namespace stepscope
