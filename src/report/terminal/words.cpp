// Words for people behind the snake_case of the data, and commands that can be pasted into a shell.
#include <fmt/format.h>

#include "report/numbers.h"
#include "report/terminal/sections.h"

namespace stepscope {
namespace {

bool needs_quotes(std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=+,:@%";
  return text.empty() || text.find_first_not_of(kPlain) != std::string_view::npos;
}

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

}  // namespace

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
      return "host, no event";
    case HostLabel::kLaunchLatency:
      return "launch latency";
    case HostLabel::kKernelGap:
      return "between kernels";
    case HostLabel::kUnlinked:
      return "unlinked";
  }
  return "";
}

std::string saving_words(const Finding& finding) {
  if (!finding.saving || finding.saving->mid_ns <= 0) return "";
  std::string words = fmt::format("-{}", show_duration(finding.saving->mid_ns));
  if (finding.saving_ratio) words += fmt::format(" ({})", show_percent(*finding.saving_ratio));
  return words;
}

std::string more_command(const Report& report, const Style& style, std::string_view options) {
  const bool is_stdin = report.info.source == "standard input" || report.info.source == "-";
  return fmt::format("{} report {} {}", style.program, is_stdin ? "FILE" : shell_quoted(report.info.source), options);
}

}  // namespace stepscope
