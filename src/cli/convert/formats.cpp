// Each writer hides behind the same call; what one of them cannot write it says as an Error.
#include "cli/convert/formats.h"

#include <algorithm>
#include <array>

#include "analyze/averages.h"
#include "analyze/facts.h"
#include "analyze/recording_words.h"
#include "export/capture_trace.h"
#include "export/chrome_trace.h"
#include "export/csv_tables.h"
#include "export/folded.h"
#include "export/perfetto_trace.h"
#include "export/speedscope.h"
#include "report/memory_timeline.h"
#include "report/ops_table.h"
#include "report/step_table.h"

namespace stepscope {
namespace {

Status write_timeline(const Trace& trace, const ConvertRequest& request, TimelineShape shape, const TextSink& sink) {
  const MemoryTimeline timeline = compute_memory_timeline(trace, request.device);
  if (!timeline.device_number) {
    return Error{ErrorCode::kNotFound,
                 fit_recording_words(trace, "no memory events of a GPU; record with profile_memory=True"),
                 request.source};
  }
  return write_memory_timeline(timeline, shape, request.source, sink);
}

constexpr std::array<ConvertFormat, 10> kFormats = {{
    {"chrome", ".json", "Chrome trace JSON as PyTorch writes it: Perfetto, HTA, TensorBoard",
     [](const Trace& trace, const ConvertRequest&, const TextSink& sink) { return write_chrome_trace(trace, sink); }},
    {"capture", ".stepscope", "our own: smallest, read fastest, keeps everything",
     [](const Trace& trace, const ConvertRequest&, const TextSink& sink) { return write_capture(trace, sink); }},
    {"perfetto", ".pftrace .perfetto-trace", "Perfetto protobuf: opens faster than JSON",
     [](const Trace& trace, const ConvertRequest&, const TextSink& sink) { return write_perfetto_trace(trace, sink); }},
    {"speedscope", ".speedscope.json", "speedscope.app: a profile a thread and a stream",
     [](const Trace& trace, const ConvertRequest& request, const TextSink& sink) {
       return write_speedscope(trace, request.source, sink);
     }},
    {"folded-cpu", ".folded .cpu.folded", "folded stacks by CPU time",
     [](const Trace& trace, const ConvertRequest&, const TextSink& sink) {
       return write_folded(trace, FoldedTime::kCpu, sink);
     }},
    {"folded-gpu", ".gpu.folded", "folded stacks by GPU time",
     [](const Trace& trace, const ConvertRequest&, const TextSink& sink) {
       return write_folded(trace, FoldedTime::kGpu, sink);
     }},
    {"csv", ".csv", "one table (--table); a folder (DIR/) gets all",
     [](const Trace&, const ConvertRequest&, const TextSink&) -> Status { return Done{}; }},
    {"memory-timeline", ".memory.json", "levels by category, as torch's export_memory_timeline",
     [](const Trace& trace, const ConvertRequest& request, const TextSink& sink) {
       return write_timeline(trace, request, TimelineShape::kLevels, sink);
     }},
    {"memory-rows", ".memory.raw.json", "each allocation and free, as torch's .raw.json.gz",
     [](const Trace& trace, const ConvertRequest& request, const TextSink& sink) {
       return write_timeline(trace, request, TimelineShape::kRows, sink);
     }},
    {"memory-page", ".memory.html", "the same as a page to look at",
     [](const Trace& trace, const ConvertRequest& request, const TextSink& sink) {
       return write_timeline(trace, request, TimelineShape::kPage, sink);
     }},
}};

std::string averages_csv(const Trace& trace, bool kernels) {
  const Averages averages = compute_averages(trace, {});
  const std::string_view sort = kernels || !trace.gpu_events.empty() ? "self_device_time_total" : "self_cpu_time_total";
  OpsTable table{averages, {}, GroupBy::kName, std::string(sort)};
  for (const std::size_t row : sorted_rows(averages, sort).value_or(std::vector<std::size_t>{})) {
    const bool is_device_row = averages.rows[row].device_type != "DeviceType.CPU";
    if (is_device_row == kernels && !(is_device_row && averages.rows[row].is_user_annotation))
      table.rows.push_back(row);
  }
  return write_ops_csv(table);
}

}  // namespace

std::span<const ConvertFormat> convert_formats() { return kFormats; }

const ConvertFormat* find_format(std::string_view name) {
  const auto at = std::find_if(kFormats.begin(), kFormats.end(), [&](const auto& one) { return one.name == name; });
  return at == kFormats.end() ? nullptr : &*at;
}

const ConvertFormat* format_of_path(std::string_view path) {
  if (path.ends_with(".gz")) path.remove_suffix(3);
  const ConvertFormat* best = nullptr;
  std::size_t best_size = 0;
  for (const ConvertFormat& format : kFormats) {
    for (std::string_view rest = format.endings; !rest.empty();) {
      const std::string_view ending = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(ending.size() + 1, rest.size()));
      if (ending.size() > best_size && path.ends_with(ending)) {
        best = &format;
        best_size = ending.size();
      }
    }
  }
  return best;
}

std::vector<std::string_view> csv_tables() {
  std::vector<std::string_view> names = {"operators", "kernels", "steps"};
  for (const std::string_view name : csv_table_names()) names.push_back(name);
  return names;
}

Status write_csv(const Trace& trace, std::string_view table, const ConvertRequest& request, const TextSink& sink) {
  if (table == "operators" || table == "kernels") return sink(averages_csv(trace, table == "kernels"));
  if (table != "steps") return write_csv_table(trace, table, sink);
  FactOptions options;
  options.steps.span_name = request.steps_name;
  options.device_number = request.device;
  return sink(write_steps_csv(build_step_table(compute_facts(trace, options), trace)));
}

}  // namespace stepscope
