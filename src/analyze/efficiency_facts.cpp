// MFU or the reason why there is none: each missing piece has a sentence that says how to supply it.
#include "analyze/efficiency_facts.h"

#include <algorithm>
#include <cstdio>

#include "analyze/framework.h"
#include "analyze/recording_words.h"
#include "stepscope/efficiency.h"

namespace stepscope {
namespace {

struct BusiestDevice {
  std::string name;
  std::size_t device_count = 0;  // devices with work: the peak is that of all of them
};

BusiestDevice find_busiest_device(const Trace& trace) {
  BusiestDevice out;
  std::size_t most = 0;
  for (const DeviceId device : trace.devices.ids().ids()) {
    const std::size_t events = trace.gpu_events_of_device[device].size();
    if (events == 0) continue;
    ++out.device_count;
    if (events <= most) continue;
    most = events;
    out.name = trace.text(trace.devices.name[device]);
  }
  return out;
}

std::optional<double> median_of(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::string find_missing_flops(const Trace& trace, const Flops& flops) {
  if (!flops.shapes_recorded && find_framework(trace) == Framework::kJax) {
    return "traces of JAX hold no operator shapes";
  }
  if (!flops.shapes_recorded && find_recording_tool(trace) == RecordingTool::kOther) {
    return "the file holds no operator shapes";
  }
  if (!flops.shapes_recorded) {
    return fit_recording_words(
        trace, "the trace has no operator shapes: record with torch.profiler.profile(record_shapes=True)");
  }
  if (flops.total > 0) return "";
  return "no operator of the steps has a FLOP formula (the operators of a replayed CUDA graph and of compiled kernels "
         "are not recorded)";
}

// Fills the peak, or says why there is none.
std::string find_peak(const Flops& flops, std::optional<double> peak_override, Efficiency& out) {
  out.peak_dtype = flops.dominant_dtype;
  if (peak_override) {
    out.peak_flops_per_s = *peak_override;
    out.peak_source = "given by the user";
    return *peak_override > 0 ? "" : "the peak FLOP/s must be a number above 0";
  }
  if (out.device_name.empty()) return "the trace does not name its GPU: give its peak with --peak-flops";
  if (out.peak_dtype.empty()) {
    return "the data type of the matrix products was not recorded: give the peak for it with --peak-flops";
  }
  const auto peak = find_device_peak(out.device_name, out.peak_dtype);
  if (!peak) {
    return "no " + out.peak_dtype + " peak is known for \"" + out.device_name + "\": give it with --peak-flops";
  }
  out.peak_flops_per_s = peak->flops_per_s;
  out.peak_source = peak->source;
  return "";
}

std::string over_peak_text(double ratio, double peak) {
  char text[200];
  std::snprintf(text, sizeof text,
                "data error: %.1f%% of the peak of %.4g FLOP/s; the peak or the recorded shapes and times are wrong",
                ratio * 100, peak);
  return text;
}

}  // namespace

Efficiency compute_efficiency(const Trace& trace, const Steps& steps, const Flops& flops,
                              std::optional<double> peak_override) {
  Efficiency out;
  const BusiestDevice busiest = find_busiest_device(trace);
  out.device_name = busiest.name;
  out.not_available = find_missing_flops(trace, flops);
  const std::string missing_peak = find_peak(flops, peak_override, out);
  if (!out.not_available.empty()) return out;

  out.flops_per_step = median_of(flops.by_step);
  const DurationNs window_ns = steps.recorded_ns();
  if (busiest.device_count == 0 || window_ns <= 0) {
    out.not_available = "the trace has no GPU work to divide by";
    return out;
  }
  const double window_s = static_cast<double>(window_ns) * 1e-9;
  out.achieved_flops_per_s = flops.total / window_s;
  out.not_available = missing_peak;
  if (!out.not_available.empty()) return out;

  const double peak = out.peak_flops_per_s.value_or(0) * static_cast<double>(busiest.device_count);
  const double hfu = flops.total / window_s / peak;
  if (hfu >= 1) {
    out.not_available = over_peak_text(hfu, peak);
    return out;
  }
  out.hfu_ratio = hfu;
  out.mfu_ratio = flops.model / window_s / peak;
  out.mfu_causal_halved_ratio = flops.model_causal_halved / window_s / peak;
  return out;
}

}  // namespace stepscope
