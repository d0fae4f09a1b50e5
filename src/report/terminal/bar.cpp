// The mean step as a bar: busy by kind, idle by cause (blame view), in the step's own unit.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/numbers.h"
#include "report/terminal/sections.h"
#include "report/text.h"

namespace stepscope {
namespace {

struct Part {
  std::string_view words;
  DurationNs length_ns = 0;
};

std::string_view kernel_class_words(KernelClass kind) {
  if (kind == KernelClass::kCopy) return "copies";
  if (kind == KernelClass::kSet) return "sets";
  return kernel_class_name(kind);
}

std::vector<Part> sorted(std::vector<Part> parts) {
  std::erase_if(parts, [](const Part& part) { return part.length_ns <= 0; });
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.length_ns > b.length_ns; });
  return parts;
}

std::vector<Part> busy_parts(const DeviceReport& device, std::int64_t divisor) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < kKernelClassCount; ++i) {
    parts.push_back({kernel_class_words(static_cast<KernelClass>(i)), device.busy.busy_by_kind_ns[i] / divisor});
  }
  return sorted(std::move(parts));
}

std::vector<Part> idle_parts(const DeviceReport& device, std::int64_t divisor) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < kHostLabelCount; ++i) {
    parts.push_back({host_label_words(static_cast<HostLabel>(i)), device.idle_blame_ns[i] / divisor});
  }
  return sorted(std::move(parts));
}

// Parts until what remains is under a twentieth of the whole, at most so many; the remainder is the last part.
std::vector<Part> with_rest(std::vector<Part> parts, std::size_t most) {
  DurationNs rest_ns = 0;
  for (const Part& part : parts) rest_ns += part.length_ns;
  const DurationNs least_rest_ns = rest_ns / 20;
  std::size_t shown = 0;
  while (shown < parts.size() && shown < most && (shown == 0 || rest_ns > least_rest_ns)) {
    rest_ns -= parts[shown++].length_ns;
  }
  parts.resize(shown);
  if (rest_ns > 0) parts.push_back({"rest", rest_ns});
  return parts;
}

// "data loader 49.7" is not to be parted by a line's end.
std::string unbroken(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == ' ' ? std::string("\xC2\xA0") : std::string(1, c);
  return out;
}

// "busy 42.9: matmul 24.1, attention 7.9, rest 10.9"
std::string parts_text(std::string_view label, DurationNs total_ns, const std::vector<Part>& parts, std::size_t most,
                       const DurationFormat& format) {
  const std::string zero = format.number(0);
  std::string text;
  for (const Part& part : with_rest(parts, most)) {
    const std::string number = format.number(part.length_ns);
    if (number == zero) continue;
    text += fmt::format("{}{}", text.empty() ? ": " : ", ", unbroken(fmt::format("{} {}", part.words, number)));
  }
  return fmt::format("{} {}{}", label, format.number(total_ns), text);
}

void add_parts(std::string_view label, DurationNs total_ns, const std::vector<Part>& parts,
               const DurationFormat& format, bool brief, Page& page) {
  std::size_t most = 6;  // fit two lines; the kinds behind them hardly ever matter
  std::string text = parts_text(label, total_ns, parts, most, format);
  while (brief && most > 1 && display_width(text) > page.style().width - kTextColumn) {
    text = parts_text(label, total_ns, parts, --most, format);
  }
  page.paragraph(text, kTextColumn, Ink::kPlain, 5);
}

struct Segment {
  std::string_view glyph;
  Ink ink = Ink::kPlain;
  DurationNs length_ns = 0;
};

// Busy under compute, then what communication and copies add when nothing computes, then idle: the whole window.
std::vector<Segment> segments(const DeviceBusy& busy) {
  const DurationNs exposed_ns = busy.exposed_communication_ns + busy.exposed_copy_ns;
  return {{"█", Ink::kGreen, std::max<DurationNs>(0, busy.gpu_busy_ns - exposed_ns)},
          {"▓", Ink::kMagenta, busy.exposed_communication_ns},
          {"▒", Ink::kBlue, busy.exposed_copy_ns},
          {"░", Ink::kDim, busy.idle_ns}};
}

// Cells by the place of each segment's end, so that rounding never adds or loses one.
void add_bar(const DeviceBusy& busy, std::size_t cell_count, Line& line) {
  DurationNs total_ns = 0;
  for (const Segment& segment : segments(busy)) total_ns += segment.length_ns;
  DurationNs passed_ns = 0;
  long long drawn = 0;
  for (const Segment& segment : segments(busy)) {
    passed_ns += segment.length_ns;
    const double end = static_cast<double>(passed_ns) / static_cast<double>(std::max<DurationNs>(total_ns, 1));
    std::string cells;
    const long long until = std::llround(end * static_cast<double>(cell_count));
    for (; drawn < until; ++drawn) cells += segment.glyph;
    line.add(cells, segment.ink);
  }
}

// Named only where they would show in the bar (half a cell).
void add_exposed(const DeviceBusy& busy, std::int64_t divisor, const DurationFormat& format, Page& page) {
  std::string text;
  const DurationNs least_ns = busy.window_ns / 100;
  if (busy.exposed_communication_ns > least_ns) {
    text += fmt::format("▓ communication with no compute under it {}",
                        format.number(busy.exposed_communication_ns / divisor));
  }
  if (busy.exposed_copy_ns > least_ns) {
    text += fmt::format("{}▒ copies with no kernel under them {}", text.empty() ? "" : ", ",
                        format.number(busy.exposed_copy_ns / divisor));
  }
  if (!text.empty()) page.paragraph(text, kTextColumn);
}

}  // namespace

void add_step_bar(const Report& report, bool brief, Page& page) {
  const DeviceReport* device = report.main_device();
  if (device == nullptr || device->busy.window_ns <= 0) return;
  const DeviceBusy& busy = device->busy;
  const std::int64_t divisor = report.step_divisor();
  const DurationNs length_ns = busy.window_ns / divisor;
  const auto format = DurationFormat::pick(length_ns);
  page.blank();
  Line line = page.line();
  const std::string length = "  " + format.text(length_ns);
  line.pad_to(kLabelColumn).add(!report.is_per_step() ? "window" : "mean step").pad_to(kTextColumn);
  add_bar(busy, page.style().width - kTextColumn - display_width(length), line);
  page.add(line.add(length));
  add_parts("busy", busy.gpu_busy_ns / divisor, busy_parts(*device, divisor), format, brief, page);
  if (report.was_launch_blocking()) {
    page.paragraph(fmt::format("idle {}: {}", format.number(busy.idle_ns / divisor), kLaunchesBlocked), kTextColumn);
  } else {
    add_parts("idle", busy.idle_ns / divisor, idle_parts(*device, divisor), format, brief, page);
  }
  add_exposed(busy, divisor, format, page);
}

}  // namespace stepscope
