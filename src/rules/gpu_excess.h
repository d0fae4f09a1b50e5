// What a device did more in one step than in the others: the same kernels slower, or more and other work.
//
// A GPU that is busy for longer may have a larger batch or a lower clock, and what helps against the one is no help
// against the other. Kernels of one name, grid and shapes are the same work in every step, so their times tell: where
// nearly all of the step is such work and most of it is slower, not one kernel alone, it is the device, not the
// program. Collectives are looked at apart, since their kernels wait for other ranks.
#pragma once

#include "rules/finding.h"

namespace stepscope {

struct GpuExcess {
  DurationNs collectives_ns = 0;   // collectives take so much longer than the same ones elsewhere
  DurationNs copies_ns = 0;        // likewise copies
  DurationNs kernels_ns = 0;       // likewise computing kernels
  double slowdown = 1;             // of those kernels: their time / what they take in the others
  bool is_even = false;            // so are nearly all computing kernels of the step, and no one of them is most of it
  std::int64_t event_count = 0;    // of the step
  std::int64_t typical_count = 0;  // median of the others
  StringId most_grown;             // the name whose time grew most
  DurationNs most_grown_ns = 0;
};

// Sums of durations: where streams overlap they exceed the time by which the device is busy for longer.
[[nodiscard]] GpuExcess find_gpu_excess(const RuleInput& input, DeviceId device, std::size_t step);

}  // namespace stepscope
