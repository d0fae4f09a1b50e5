// The range of a saving: the least and most that any guess of the profiler's cost gives, widened where truth showed it.
#include "analyze/replay/saving.h"

#include <algorithm>
#include <cmath>

namespace stepscope {
namespace {

constexpr DurationNs kSmallSavingNs = 1'000'000;

}  // namespace

Estimate estimate_of(const Lanes& step) {
  // The mid may lie outside by rounding or because a median jumped; the range then widens.
  return {std::min({step[kLow], step[kMid], step[kHigh]}), step[kMid], std::max({step[kLow], step[kMid], step[kHigh]})};
}

DurationNs scaled_by(DurationNs length_ns, double scale) {
  return std::llround(static_cast<double>(length_ns) * scale);
}

void scale_by(Estimate& estimate, double scale) {
  for (DurationNs* ns : {&estimate.low_ns, &estimate.mid_ns, &estimate.high_ns}) *ns = scaled_by(*ns, scale);
}

Estimate saving_between(const Lanes& before, const Lanes& after) {
  const auto saved = [&](Lane lane) { return std::max<DurationNs>(0, before[lane] - after[lane]); };
  Estimate saving{std::min({saved(kLow), saved(kMid), saved(kHigh)}), saved(kMid),
                  std::max({saved(kLow), saved(kMid), saved(kHigh)})};
  if (saving.mid_ns < kSmallSavingNs) {
    saving.low_ns = std::min(saving.low_ns, saving.mid_ns - saving.mid_ns / 3);
    saving.high_ns = std::max(saving.high_ns, saving.mid_ns + saving.mid_ns / 3);
  }
  return saving;
}

void cap_saving(Estimate& saving, const Estimate& before, const Estimate& after) {
  const DurationNs most_ns = std::max<DurationNs>(0, before.high_ns - after.low_ns);
  saving.high_ns = std::max(saving.mid_ns, std::min(saving.high_ns, most_ns));
}

}  // namespace stepscope
