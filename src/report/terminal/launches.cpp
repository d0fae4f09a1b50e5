// How the host hands work to the GPU: how long a launch takes to arrive, how short kernels are, how deep the queue is.
#include <fmt/format.h>

#include "report/numbers.h"
#include "report/terminal/sections.h"

namespace stepscope {
namespace {

std::string latency_words(const Launches& launches) {
  if (!launches.median_latency_ns) return "";
  const auto format = DurationFormat::pick(*launches.median_latency_ns);
  std::string text = fmt::format("from launch call to GPU start: median {}", format.text(*launches.median_latency_ns));
  if (launches.p90_latency_ns) text += fmt::format(", p90 {}", show_duration(*launches.p90_latency_ns));
  if (launches.plain_latency_ns) {
    text += fmt::format(", {} into an empty stream", show_duration(*launches.plain_latency_ns));
  }
  if (launches.negative_latency_count > 0) {
    text += fmt::format("; {} of {} negative (clock skew)", show_count(launches.negative_latency_count),
                        show_count(launches.latency_count));
  }
  return text;
}

std::string kernel_words(const Launches& launches) {
  if (launches.kernel_count == 0 || !launches.median_kernel_ns) return "";
  std::string text = fmt::format(
      "{}, median {}, {} of them under 10 us (about one launch)", show_counted(launches.kernel_count, "kernel"),
      show_duration(*launches.median_kernel_ns),
      show_percent(static_cast<double>(launches.short_kernel_count) / static_cast<double>(launches.kernel_count)));
  if (launches.graph_launch_count > 0) {
    text += fmt::format("; {} started {}", show_counted(launches.graph_launch_count, "graph launch", "graph launches"),
                        show_counted(launches.graph_event_count, "GPU event"));
  }
  return text;
}

}  // namespace

void add_launches(const Report& report, Page& page) {
  const std::string latency = latency_words(report.launches), kernels = kernel_words(report.launches);
  if (latency.empty() && kernels.empty()) return;
  page.blank();
  page.add(page.line().add("Launches", Ink::kBold));
  if (!kernels.empty()) page.paragraph(kernels, kLabelColumn, Ink::kPlain, 2);
  if (!latency.empty()) page.paragraph(latency, kLabelColumn, Ink::kPlain, 2);
  if (report.launches.mean_queue_depth) {
    page.paragraph(fmt::format("work queued and not yet done: {} on average, at most {}",
                               show_decimal(*report.launches.mean_queue_depth, 1),
                               show_count(report.launches.max_queue_depth_count)),
                   kLabelColumn, Ink::kPlain, 2);
  }
}

}  // namespace stepscope
