// Words for people behind the snake_case of the data, and commands that can be pasted into a shell.
#include <fmt/format.h>

#include "report/numbers.h"
#include "report/terminal/sections.h"
#include "report/text.h"

namespace stepscope {
namespace {

bool needs_quotes(std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=+,:@%";
  return text.empty() || text.find_first_not_of(kPlain) != std::string_view::npos;
}

// The options that chose this recording: without them the numbers of another would come.
std::string asked_words(const Asked& asked) {
  std::string text;
  if (asked.rank) text += fmt::format(" --rank {}", *asked.rank);
  if (asked.device_number) text += fmt::format(" --device {}", *asked.device_number);
  if (!asked.steps_name.empty()) text += " --steps " + shell_quoted(asked.steps_name);
  if (asked.whole_file_window) text += " --window all";
  return text;
}

}  // namespace

std::string shell_quoted(std::string_view text) {
  if (!needs_quotes(text)) return std::string(text);
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string_view host_label_words(HostLabel label) {
  switch (label) {
    case HostLabel::kDataLoader:
      return "data loader";
    case HostLabel::kCheckpoint:
      return "checkpoint";
    case HostLabel::kAllocator:
      return "allocator";
    case HostLabel::kSynchronization:
      return "synchronization";
    case HostLabel::kBlockingCopy:
      return "blocking copy";
    case HostLabel::kOptimizer:
      return "optimizer";
    case HostLabel::kOperator:
      return "operators";
    case HostLabel::kPython:
      return "Python";
    case HostLabel::kLaunch:
      return "launch calls";
    case HostLabel::kOtherApi:
      return "other calls";
    case HostLabel::kProfiler:
      return "profiler";
    case HostLabel::kNoEvent:
      return "unnamed host work";
    case HostLabel::kLaunchLatency:
      return "launch latency";
    case HostLabel::kKernelGap:
      return "kernel gap";
    case HostLabel::kUnlinked:
      return "launch not known";
  }
  return "";
}

std::string saving_words(const Finding& finding) {
  if (!finding.saving || finding.saving->mid_ns <= 0) return "";
  std::string words = fmt::format("-{}", show_duration(finding.saving->mid_ns));
  if (finding.saving_ratio) words += fmt::format(" ({})", show_percent(*finding.saving_ratio));
  return words;
}

std::string more_command(const Report& report, const Style& style, std::string_view options, std::size_t width) {
  // What stepscope.torch captured has no file either, unless its user exports one.
  const std::string& source = report.info.source;
  const bool has_file = source != "standard input" && source != "-" && source != "this process";
  const std::string rest = asked_words(report.asked) + (options.empty() ? "" : " ") + std::string(options);
  std::string command = fmt::format("$ {} report {}{}", style.program, has_file ? shell_quoted(source) : "FILE", rest);
  if (display_width(command) <= width) return command;
  command = fmt::format("$ {} report FILE{}", style.program, rest);
  return display_width(command) <= width ? command : fmt::format("$ {} report FILE {}", style.program, options);
}

Ink severity_ink(Severity severity) {
  switch (severity) {
    case Severity::kFault:
      return Ink::kRed;
    case Severity::kNote:
      return Ink::kMagenta;
    case Severity::kInformation:
      return Ink::kCyan;
  }
  return Ink::kPlain;
}

}  // namespace stepscope
