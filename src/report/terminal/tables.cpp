// Kernels and operators by their own time, a mean step at a time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/kernel_name.h"
#include "report/numbers.h"
#include "report/terminal/sections.h"
#include "report/text.h"

namespace stepscope {
namespace {

// Right edges of the number columns.
constexpr std::size_t kTimeEdge = 10, kShareEdge = 18, kCountEdge = 26, kMeanEdge = 36, kNameColumn = 38;

std::string per_step_words(const Report& report) { return !report.is_per_step() ? "in the window" : "per step"; }

// The tables sum durations as recorded, as torch does; where some cannot be true, that has to be said.
std::string recorded_words(const Report& report) {
  return report.ledger.swallowing_duration_count > 0 ? ", durations as recorded" : "";
}

// "48" or "0.3": calls a step, without a false ".0".
std::string per_step_count(std::int64_t count, std::int64_t divisor) {
  if (count % divisor == 0) return show_count(count / divisor);
  const double mean = static_cast<double>(count) / static_cast<double>(divisor);
  if (mean < 0.05) return "<0.1";
  return mean < 100 ? show_decimal(mean, 1) : show_count(std::llround(mean));
}

std::string mean_words(double mean_us) {
  return mean_us < 1000 ? show_decimal(mean_us, 1) : show_count(std::llround(mean_us));
}

double share(DurationNs part_ns, DurationNs total_ns) {
  return total_ns > 0 ? static_cast<double>(part_ns) / static_cast<double>(total_ns) : 0;
}

void add_header(std::string_view title, std::size_t shown, std::size_t all, Page& page) {
  page.blank();
  Line line = page.line();
  line.add(title, Ink::kBold);
  if (shown < all) {
    line.add(fmt::format(": {} of {} (--top N)", shown, show_count(static_cast<std::int64_t>(all))), Ink::kDim);
  }
  page.add(line);
}

std::string kind_words(const KernelRow& row) {
  std::string words(kernel_class_name(row.kind));
  if (row.tensor_cores == TensorCores::kUsed) words += " TC";
  return words;
}

// Only wide screens have room for the kind; the name tells it to who knows kernels.
std::size_t kind_width(const Page& page) { return page.style().width >= 100 ? 25 : 0; }

// "device 1", whose kernels these are, where there are others; else empty.
std::string device_words(const Report& report) {
  const DeviceReport* device = report.main_device();
  return device != nullptr && report.devices.size() > 1 ? fmt::format("device {}", device->number) : "";
}

void add_kernels(const Report& report, const Tables& tables, Page& page) {
  const std::string device = device_words(report);
  add_header("Kernels" + (device.empty() ? "" : " of " + device) + " by time " + per_step_words(report) +
                 recorded_words(report),
             tables.kernels.size(), tables.kernel_count, page);
  if (tables.kernels.empty()) return;
  const std::int64_t divisor = report.step_divisor();
  const auto format = DurationFormat::pick(tables.kernels.front().total_ns / divisor);
  Line head = page.line();
  head.add_right(kTimeEdge, format.unit, Ink::kDim).add_right(kShareEdge, "share", Ink::kDim);
  head.add_right(kCountEdge, "calls", Ink::kDim).add_right(kMeanEdge, "us each", Ink::kDim);
  head.pad_to(kNameColumn);
  if (kind_width(page) > 0) head.add(pad_right("kind (TC: tensor cores)", kind_width(page)), Ink::kDim);
  page.add(head.add("kernel", Ink::kDim));
  const std::size_t room = page.style().width - kNameColumn - kind_width(page);
  std::vector<std::string> names, shown;
  for (const KernelRow& row : tables.kernels) {
    names.push_back(row.name);
    shown.push_back(fold_kernel_name(row.name, room));
  }
  tell_apart(names, room, shown);
  for (std::size_t i = 0; i < tables.kernels.size(); ++i) {
    const KernelRow& row = tables.kernels[i];
    Line line = page.line();
    line.add_right(kTimeEdge, format.number(row.total_ns / divisor));
    line.add_right(kShareEdge, show_percent(share(row.total_ns, tables.kernel_total_ns)));
    line.add_right(kCountEdge, per_step_count(row.count, divisor));
    const double mean_us =
        static_cast<double>(row.total_ns) / static_cast<double>(std::max<std::int64_t>(1, row.count)) / 1e3;
    line.add_right(kMeanEdge, mean_words(mean_us)).pad_to(kNameColumn);
    const std::string kind = kind_words(row);
    const std::size_t kind_room = kind_width(page);
    if (kind_room > 0) line.add(pad_right(kind, kind_room), Ink::kCyan);
    page.add(line.add(shown[i]));
  }
}

void add_operator_rows(const Report& report, std::string_view title, const std::vector<OperatorRow>& rows,
                       const Tables& tables, DurationNs OperatorRow::*time_ns, DurationNs total_ns, Page& page) {
  add_header(title, rows.size(), tables.operator_count, page);
  if (rows.empty()) return;
  const std::int64_t divisor = report.step_divisor();
  const auto format = DurationFormat::pick(rows.front().*time_ns / divisor);
  Line head = page.line();
  head.add_right(kTimeEdge, format.unit, Ink::kDim).add_right(kShareEdge, "share", Ink::kDim);
  head.add_right(kCountEdge, "calls", Ink::kDim).add_right(kMeanEdge, "us each", Ink::kDim);
  page.add(head.pad_to(kNameColumn).add("operator, span or call", Ink::kDim));
  for (const OperatorRow& row : rows) {
    Line line = page.line();
    line.add_right(kTimeEdge, format.number(row.*time_ns / divisor));
    line.add_right(kShareEdge, show_percent(share(row.*time_ns, total_ns)));
    line.add_right(kCountEdge, per_step_count(row.count, divisor));
    const double mean_us =
        static_cast<double>(row.*time_ns) / static_cast<double>(std::max<std::int64_t>(1, row.count)) / 1e3;
    line.add_right(kMeanEdge, mean_words(mean_us)).pad_to(kNameColumn);
    page.add(line.add(shorten_middle(row.name, page.style().width - kNameColumn)));
  }
}

}  // namespace

void add_tables(const Report& report, Page& page) {
  if (!report.tables) return;
  const Tables& tables = *report.tables;
  const std::string per = per_step_words(report), device = device_words(report);
  if (!tables.kernels.empty()) add_kernels(report, tables, page);
  if (!tables.operators_by_device.empty()) {
    add_operator_rows(report,
                      device.empty() ? "Operators by own GPU time " + per
                                     : fmt::format("Operators by own time on {} {}", device, per),
                      tables.operators_by_device, tables, &OperatorRow::self_device_ns, tables.operator_device_total_ns,
                      page);
  }
  if (!tables.operators_by_cpu.empty()) {
    add_operator_rows(report, "Operators by own CPU time " + per, tables.operators_by_cpu, tables,
                      &OperatorRow::self_cpu_ns, tables.operator_cpu_total_ns, page);
  }
}

}  // namespace stepscope
