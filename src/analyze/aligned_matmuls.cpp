// Numbers that are assumed, with what they rest on:
//   10 GFLOP   smaller products do not fill the device, so that their rate says nothing about alignment
//   0.83, 1.16 the rates of one loop's wide matmuls lie so far from their median (h200/solid: 612 to 858 TFLOP/s)
//   0.5 to 0.85 of the dense peak: what wide matmuls of 10 GFLOP and more reach (0.62 to 0.87 in seven recordings of
//              H200s; A100s are known for 0.6 to 0.85); 0.65 as elsewhere in the replay
//   ratios     widths 1020 and 16001 against 1024 and 16000 on an H200 (planted/odd_sizes): one element at once 5.5 to
//              6.6 times as long, two 2.9 to 3.2 times. Used without sizes only; four were not measured: half of the
//              way
#include "analyze/aligned_matmuls.h"

#include <algorithm>

#include "analyze/matmul_shapes.h"
#include "stepscope/efficiency.h"

namespace stepscope {
namespace {

constexpr double kLeastFlops = 1e10;
constexpr std::size_t kLeastKernels = 3;  // of which a median can be taken
constexpr double kSlowSpread = 0.83, kFastSpread = 1.16;
constexpr double kSlowOfPeak = 0.5, kMidOfPeak = 0.65, kFastOfPeak = 0.85;
// FLOPs a byte from which every device since 2017 is bound by its arithmetic (H100: 295): needed where its memory's
// speed is unknown.
constexpr double kSafeIntensity = 300;

struct Measured {
  double rate = 0;
  DurationNs length_ns = 0;
};

// The rate below which the given share of the time was spent.
double quantile_of_time(const std::vector<Measured>& sorted, double share) {
  double total = 0;
  for (const Measured& each : sorted) total += static_cast<double>(each.length_ns);
  double passed = 0;
  for (const Measured& each : sorted) {
    passed += static_cast<double>(each.length_ns);
    if (passed >= share * total) return each.rate;
  }
  return sorted.empty() ? 0 : sorted.back().rate;
}

AlignedRate rate_from(std::vector<Measured> measured, std::string_view device, std::string_view dtype) {
  AlignedRate rate;
  const auto peak = find_device_peak(device, dtype);
  if (peak) rate.memory_bytes_per_s = peak->memory_bytes_per_s;
  if (measured.size() >= kLeastKernels) {
    std::sort(measured.begin(), measured.end(), [](const auto& a, const auto& b) { return a.rate < b.rate; });
    rate.source = RateSource::kMeasured;
    rate.mid = quantile_of_time(measured, 0.5);
    rate.slow = std::min(quantile_of_time(measured, 0.1), kSlowSpread * rate.mid);
    rate.fast = std::max(quantile_of_time(measured, 0.9), kFastSpread * rate.mid);
  } else if (peak) {
    rate.source = RateSource::kPeak;
    rate.slow = kSlowOfPeak * peak->flops_per_s;
    rate.mid = kMidOfPeak * peak->flops_per_s;
    rate.fast = kFastOfPeak * peak->flops_per_s;
  }
  return rate;
}

bool has_type(const Trace& trace, OpId op, std::string_view type) {
  return trace.text(trace.ops.types[op]).find(type) != std::string_view::npos;
}

bool is_half(const Trace& trace, OpId op) { return has_type(trace, op, "Half"); }

// Products of 16-bit factors: those of 8 bits (which may add a bias of 16) and of 32 have rates of their own.
bool is_16_bit(const Trace& trace, OpId op) {
  return (has_type(trace, op, "BFloat16") || is_half(trace, op)) && !has_type(trace, op, "Float8");
}

KeptShare share_by_recording(int elements) {
  if (elements == 1) return {0.17, 0.20, 0.36};
  if (elements == 2) return {0.32, 0.36, 0.66};
  return {0.66, 0.75, 0.9};
}

double flops_of(const Trace& trace, OpId op) {
  const auto cost = compute_operator_cost(trace.text(trace.ops.name[op]), trace.text(trace.ops.shapes[op]),
                                          trace.text(trace.ops.concrete_inputs[op]));
  return cost && !cost->is_attention ? cost->flops : 0;
}

// Both factors once in and the product once out, 2 bytes each; 0 where the sizes are not those of two matrices.
double bytes_of(const Trace& trace, OpId op, double flops) {
  const auto sizes = matrix_sizes(trace.text(trace.ops.shapes[op]));
  if (sizes.size() < 2) return 0;
  const auto m = static_cast<double>(sizes[0].first), k = static_cast<double>(sizes[0].second);
  const auto n = static_cast<double>(sizes[1].second);
  if (m <= 0 || k <= 0 || n <= 0) return 0;
  const double batch = std::max(1.0, flops / (2 * m * k * n));
  return 2 * batch * (m * k + k * n + m * n);
}

}  // namespace

AlignedMatmuls::AlignedMatmuls(const Trace& trace, const GpuTimeline& timeline, const KernelClasses& classes,
                               DeviceId device, Interval window)
    : trace_(trace), timeline_(timeline), classes_(classes), elements_(trace.strings.size(), -1) {
  if (!device.has_value()) return;
  const GpuEvents& events = trace.gpu_events;
  std::vector<Measured> bfloat, half;
  std::vector<std::int8_t> wide(trace.strings.size(), -1);
  std::vector<GpuEventId> narrow;
  for (const GpuEventId id : trace.gpu_events_of_device[device].ids()) {
    if (classes.of[id] != KernelClass::kMatmul || !timeline.counts(trace, id)) continue;
    if (events.start_ns[id] < window.start_ns || events.start_ns[id] >= window.end_ns) continue;
    const StringId name = events.name[id];
    std::int8_t& elements = elements_[name.value];
    if (elements < 0) elements = static_cast<std::int8_t>(narrow_load_elements(trace.text(name)));
    const OpId op = events.op[id];
    if (elements > 0) {
      narrow.push_back(id);
      if (op.has_value()) ++narrow_of_op_[op.value];
      continue;
    }
    std::int8_t& loads_widely = wide[name.value];
    if (loads_widely < 0) loads_widely = has_wide_loads(trace.text(name)) ? 1 : 0;
    const DurationNs length_ns = timeline.end_ns[id] - events.start_ns[id];
    if (loads_widely == 0 || !op.has_value() || length_ns <= 0 || !is_16_bit(trace, op)) continue;
    const double flops = flops_of(trace, op);
    if (flops < kLeastFlops) continue;
    (is_half(trace, op) ? half : bfloat).push_back({flops / (static_cast<double>(length_ns) / 1e9), length_ns});
  }
  const std::string_view device_name = trace.text(trace.devices.name[device]);
  bfloat_ = rate_from(std::move(bfloat), device_name, "bf16");
  half_ = rate_from(std::move(half), device_name, "fp16");
  for (const GpuEventId id : narrow) {
    const RateSource source = share_by_rate(id) ? rate_of(events.op[id]).source : RateSource::kRecording;
    weakest_ = std::max(weakest_.value_or(source), source);
  }
}

int AlignedMatmuls::narrow_elements(GpuEventId event) const {
  if (classes_.of[event] != KernelClass::kMatmul) return 0;
  return std::max<int>(0, elements_[trace_.gpu_events.name[event].value]);
}

const AlignedRate& AlignedMatmuls::rate_of(OpId op) const { return is_half(trace_, op) ? half_ : bfloat_; }

std::optional<KeptShare> AlignedMatmuls::share_by_rate(GpuEventId event) const {
  const OpId op = trace_.gpu_events.op[event];
  if (!op.has_value()) return std::nullopt;
  const auto kernels = narrow_of_op_.find(op.value);
  const AlignedRate& rate = rate_of(op);
  const double flops = flops_of(trace_, op);
  if (kernels == narrow_of_op_.end() || rate.mid <= 0 || flops < kLeastFlops) return std::nullopt;
  const double bytes = bytes_of(trace_, op, flops);
  if (bytes <= 0 || (rate.memory_bytes_per_s <= 0 && flops / bytes < kSafeIntensity)) return std::nullopt;
  const double least_s = rate.memory_bytes_per_s > 0 ? bytes / rate.memory_bytes_per_s : 0;
  const double length_s =
      static_cast<double>(timeline_.end_ns[event] - trace_.gpu_events.start_ns[event]) / 1e9 * kernels->second;
  if (length_s <= 0) return std::nullopt;
  const auto share = [&](double speed) { return std::min(1.0, std::max(flops / speed, least_s) / length_s); };
  return KeptShare{share(rate.fast), share(rate.mid), share(rate.slow)};
}

std::optional<KeptShare> AlignedMatmuls::kept_share(GpuEventId event) const {
  const int elements = narrow_elements(event);
  if (elements == 0) return std::nullopt;
  const auto by_rate = share_by_rate(event);
  return by_rate ? by_rate : share_by_recording(elements);
}

}  // namespace stepscope
