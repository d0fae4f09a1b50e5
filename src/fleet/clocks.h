// One clock for all ranks.
#pragma once

#include <optional>
#include <vector>

#include "fleet/meetings.h"

namespace stepscope {

class RunClock {
 public:
  explicit RunClock(std::size_t row_count) : rows_(row_count), sets_(row_count) {}
  // A time of a row's file on the run's clock.
  [[nodiscard]] TimeNs to_run(std::uint32_t row, TimeNs time_ns) const {
    const Correction& own = rows_[row];
    return time_ns - own.offset_ns -
           static_cast<DurationNs>(own.drift_ratio * static_cast<double>(time_ns - own.middle_ns));
  }
  // Rows of one number are connected by collectives, at whatever removes, and may be compared; missing: the row met
  // nobody.
  [[nodiscard]] std::optional<std::uint32_t> set_of(std::uint32_t row) const { return sets_[row]; }

 private:
  friend class ClockSolver;
  struct Correction {
    DurationNs offset_ns = 0;
    double drift_ratio = 0;  // ns a ns, around middle_ns
    TimeNs middle_ns = 0;
  };
  std::vector<Correction> rows_;
  std::vector<std::optional<std::uint32_t>> sets_;
};

// Fills facts.clocks, clock_offset_ns of the ranks, and the times of the meetings; dismisses groups whose matches are
// refuted.
[[nodiscard]] RunClock put_on_one_clock(Meetings& meetings, FleetFacts& facts);

}  // namespace stepscope
