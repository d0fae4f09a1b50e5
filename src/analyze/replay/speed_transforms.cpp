// Factors come from the device's own peaks and from copies seen in the trace; what is assumed otherwise is said below.
#include "analyze/replay/speed_transforms.h"

#include <algorithm>

#include "analyze/aligned_matmuls.h"
#include "stepscope/efficiency.h"

namespace stepscope {
namespace {

// Well-tuned bf16 matrix products reach about 65% of the dense peak where fp32 ones reach nearly all of theirs.
constexpr double kTensorCoreEfficiency = 0.65;
// Devices whose peaks we do not know: fp32 to bf16 is 1/10 to 1/16 on the data-centre parts since 2020, at 65% of it.
constexpr double kUnknownShare = 0.15;
// In bf16 the other kernels of forward and backward move half of the bytes: the lower end of the range, where nothing
// in the run uses tensor cores yet.
constexpr double kHalvedShare = 0.5;
// The upper end: a third less gain, as casts stay and small products do not fill the tensor cores.
constexpr double kCautiousFactor = 1.5;

double tensor_core_share(const Trace& trace, DeviceId device) {
  if (!device.has_value()) return kUnknownShare;
  const std::string_view name = trace.text(trace.devices.name[device]);
  const auto fp32 = find_device_peak(name, "fp32"), bf16 = find_device_peak(name, "bf16");
  if (!fp32 || !bf16 || bf16->flops_per_s <= 0) return kUnknownShare;
  return std::min(1.0, fp32->flops_per_s / bf16->flops_per_s / kTensorCoreEfficiency);
}

bool is_simt_product(const ReplayInput& input, GpuEventId event) {
  const KernelClass kernel_class = input.classes.of[event];
  const bool product = kernel_class == KernelClass::kMatmul || kernel_class == KernelClass::kConvolution;
  return product && input.classes.tensor_cores_of(input.trace, event) == TensorCores::kNotUsed;
}

// Attention in fp32 (PyTorch's memory-efficient kernels name their type) is two matrix products.
bool is_fp32_attention(const ReplayInput& input, GpuEventId event) {
  if (input.classes.of[event] != KernelClass::kAttention) return false;
  const std::string_view name = input.trace.text(input.trace.gpu_events.name[event]);
  return name.find("_f32_") != std::string_view::npos || name.find("<float") != std::string_view::npos;
}

bool uses_tensor_cores(const ReplayInput& input, const ReplayGraph& graph) {
  return std::any_of(graph.unit_events.begin(), graph.unit_events.end(), [&](GpuEventId event) {
    return input.classes.tensor_cores_of(input.trace, event) == TensorCores::kUsed;
  });
}

bool follows_data_type(KernelClass kernel_class) {
  switch (kernel_class) {
    case KernelClass::kAttention:
    case KernelClass::kNormalisation:
    case KernelClass::kElementwise:
    case KernelClass::kReduction:
    case KernelClass::kEmbedding:
    case KernelClass::kOther:
      return true;
    default:
      return false;
  }
}

// ns saved on an event of `length` if it takes the given share of its time.
DurationNs saved(DurationNs length, double share) {
  return static_cast<DurationNs>(static_cast<double>(length) * (1 - std::clamp(share, 0.0, 1.0)));
}

DurationNs length_of(const ReplayInput& input, GpuEventId event) {
  return input.timeline.end_ns[event] - input.trace.gpu_events.start_ns[event];
}

// Of unit's events, those on the stream of `end`.
template <class Visit>
void for_events_on(const TransformInput& from, const GpuUnit& unit, const UnitEnd& end, const Visit& visit) {
  for (const GpuEventId event : from.graph.events_of(unit)) {
    if (from.input.trace.gpu_events.stream[event] == end.stream) visit(event);
  }
}

// Host to device, bytes a ns: what PCIe of the device's generation gives pinned memory. H200s were measured at 55 GB/s
// (generation 5); a generation halves it. Unknown devices: 25 GB/s, the usual server of the last years.
double assumed_bandwidth(const Trace& trace, DeviceId device) {
  const std::int64_t major = device.has_value() ? trace.devices.compute_major[device].value_or(0) : 0;
  if (major >= 9) return 50;
  if (major == 7) return 12;
  return 25;
}

double pinned_bandwidth(const TransformInput& from) {
  constexpr std::int64_t kLeastBytes = 1 << 20;  // smaller copies measure latency
  double best = 0;
  const GpuEvents& events = from.input.trace.gpu_events;
  for (const GpuUnit& unit : from.graph.units.raw()) {
    if (unit.copy != CopyPath::kHostToDevice) continue;
    const GpuEventId event = from.graph.events_of(unit).front();
    const DurationNs length = length_of(from.input, event);
    const std::int64_t bytes = events.bytes[event].value_or(0);
    if (bytes >= kLeastBytes && length > 0)
      best = std::max(best, static_cast<double>(bytes) / static_cast<double>(length));
  }
  return best > 0 ? best : assumed_bandwidth(from.input.trace, from.input.options.device);
}

}  // namespace

void use_tensor_cores(const TransformInput& from, Edits& edits) {
  const double share = tensor_core_share(from.input.trace, from.input.options.device);
  const double other_share = uses_tensor_cores(from.input, from.graph) ? 1 : kHalvedShare;
  bool any = false;
  Edits slower;
  for (std::uint32_t e = 0; e < from.graph.ends.size(); ++e) {
    const UnitEnd& end = from.graph.ends[UnitEndId(e)];
    Lanes by = all_lanes(0);
    for_events_on(from, from.graph.units[end.unit], end, [&](GpuEventId event) {
      const DurationNs length = length_of(from.input, event);
      const bool product = is_simt_product(from.input, event);
      any = any || product;
      if (product || is_fp32_attention(from.input, event)) {
        for (const Lane lane : {kRecorded, kLow, kMid}) by[lane] += saved(length, share);
        by[kHigh] += saved(length, share * kCautiousFactor);
      } else if (follows_data_type(from.input.classes.of[event])) {
        by[kLow] += saved(length, other_share);
      }
    });
    slower.shorten(from.graph, UnitEndId(e), by);
  }
  if (any) edits.shorter_ns = std::move(slower.shorter_ns);
}

// The middle of the step is the matmuls alone, each at the speed of analyze/aligned_matmuls.h; the lower end has the
// other kernels faster too, whose rows are no multiples of 16 bytes either: 1.36 times in the one recording that was
// measured on both sides (planted/odd_sizes).
void align_matmuls(const TransformInput& from, Edits& edits) {
  constexpr double kOtherShare = 0.74;
  const ReplayInput& input = from.input;
  // From the first replayed step's launches to the end of the last unit.
  Interval window{from.window.host.start_ns, from.window.host.end_ns};
  for (const GpuUnit& unit : from.graph.units.raw()) window.end_ns = std::max(window.end_ns, unit.start_ns + 1);
  const AlignedMatmuls aligned(input.trace, input.timeline, input.classes, input.options.device, window);
  bool any = false;
  Edits faster;
  for (std::uint32_t e = 0; e < from.graph.ends.size(); ++e) {
    const UnitEnd& end = from.graph.ends[UnitEndId(e)];
    Lanes by = all_lanes(0);
    for_events_on(from, from.graph.units[end.unit], end, [&](GpuEventId event) {
      const DurationNs length = length_of(input, event);
      if (follows_data_type(input.classes.of[event])) by[kLow] += saved(length, kOtherShare);
      const auto kept = aligned.kept_share(event);
      if (!kept) return;
      any = true;
      by[kLow] += saved(length, kept->fast);
      by[kHigh] += saved(length, kept->slow);
      for (const Lane lane : {kRecorded, kMid}) by[lane] += saved(length, kept->mid);
    });
    faster.shorten(from.graph, UnitEndId(e), by);
  }
  if (any) edits.shorter_ns = std::move(faster.shorter_ns);
}

void copy_from_pinned_memory(const TransformInput& from, Edits& edits) {
  const double bandwidth = pinned_bandwidth(from);
  // Lower end: the copies also run beside the kernels, on a stream of their own. Upper end: pinned memory is a third
  // slower than hoped (a busy host, a shared switch).
  constexpr double kCautiousBandwidth = 0.67;
  std::vector<std::uint8_t> is_pageable(from.graph.units.size(), 0);
  HostRegions calls;  // the driver stages pageable memory inside the call
  for (std::uint32_t u = 0; u < from.graph.units.size(); ++u) {
    const GpuUnit& unit = from.graph.units[UnitId(u)];
    if (unit.copy != CopyPath::kPageableToDevice || !unit.call.has_value()) continue;
    const Calls& all_calls = from.input.trace.calls;
    calls.add(all_calls.thread[unit.call], {all_calls.start_ns[unit.call], all_calls.end_ns[unit.call]});
    edits.detach(from.graph, UnitId(u), lane_bit(kLow));
    const GpuEventId event = from.graph.events_of(unit).front();
    const auto length = static_cast<double>(length_of(from.input, event));
    const auto bytes =
        static_cast<double>(std::max<std::int64_t>(0, from.input.trace.gpu_events.bytes[event].value_or(0)));
    const auto saving = [&](double speed) { return static_cast<DurationNs>(std::max(0.0, length - bytes / speed)); };
    Lanes by = all_lanes(saving(bandwidth));
    by[kHigh] = saving(bandwidth * kCautiousBandwidth);
    if (bytes <= 0) by = all_lanes(0);
    edits.shorten(from.graph, UnitEndId(unit.end_begin), by);
  }
  if (calls.empty()) return;
  calls.finish();
  cut_host(from.graph, calls, 0, edits);
  for (std::size_t w = 0; w < from.input.waits.size(); ++w) {
    const Wait& wait = from.input.waits[w];
    const bool on_copy =
        wait.condition && classify_copy(from.input.trace, *wait.condition) == CopyPath::kPageableToDevice;
    if (on_copy || wait.after_pageable_copy) edits.unwait(from.input.waits.size(), w);
  }
}

}  // namespace stepscope
