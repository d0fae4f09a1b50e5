// How fast a 16-bit matrix product would run with sizes that tensor cores can load 16 bytes at once.
//
// A kernel that loads narrowly is slow by mechanism: eight elements of 2 bytes fill one load, and with rows of an odd
// width the library must take kernels that load one, two or four at once. What a wide one would take is the product's
// FLOPs over the rate that such kernels reach: measured in the same recording where it has some, else a share of the
// device's peak; and never less than its matrices take to cross the memory bus. Where neither sizes nor peak are known
// it is the ratio that one recording showed, with a range as wide as that deserves.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>

#include "analyze/gpu_timeline.h"
#include "analyze/kernel_class.h"

namespace stepscope {

enum class RateSource : std::uint8_t {
  kMeasured,   // wide matmuls of the same recording, device and data type
  kPeak,       // a share of the device's dense peak
  kRecording,  // no rate: ratios of another recording
};

// FLOP/s; 0 where the source has none.
struct AlignedRate {
  RateSource source = RateSource::kRecording;
  double slow = 0, mid = 0, fast = 0;
  double memory_bytes_per_s = 0;  // 0 if the device is unknown
};

// The share of its time that a narrow kernel would keep.
struct KeptShare {
  double fast = 1, mid = 1, slow = 1;
};

class AlignedMatmuls {
 public:
  // Looks at the device's kernels that start in the window.
  AlignedMatmuls(const Trace& trace, const GpuTimeline& timeline, const KernelClasses& classes, DeviceId device,
                 Interval window);
  // Missing for an event that is no narrow matmul.
  [[nodiscard]] std::optional<KeptShare> kept_share(GpuEventId event) const;
  // Of "bf16" or "fp16".
  [[nodiscard]] const AlignedRate& rate(std::string_view dtype) const { return dtype == "fp16" ? half_ : bfloat_; }
  // The weakest source that any narrow kernel of the window was priced by; missing when there is none.
  [[nodiscard]] std::optional<RateSource> weakest_source() const { return weakest_; }

 private:
  [[nodiscard]] int narrow_elements(GpuEventId event) const;
  [[nodiscard]] std::optional<KeptShare> share_by_rate(GpuEventId event) const;
  [[nodiscard]] const AlignedRate& rate_of(OpId op) const;

  const Trace& trace_;
  const GpuTimeline& timeline_;
  const KernelClasses& classes_;
  AlignedRate bfloat_, half_;
  std::unordered_map<std::uint32_t, std::uint32_t> narrow_of_op_;  // how many narrow kernels an operator launched
  std::vector<std::int8_t> elements_;                              // by StringId of a kernel's name
  std::optional<RateSource> weakest_;
};

}  // namespace stepscope
