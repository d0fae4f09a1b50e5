// The range of a saving: the least and most that any guess of the profiler's cost gives, widened where truth showed it.
#include "analyze/replay/saving.h"

#include <algorithm>

namespace stepscope {
namespace {

constexpr DurationNs kSmallSavingNs = 1'000'000;

}  // namespace

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
