// The recorder's clock: a counter that is cheap to read, and how its ticks become nanoseconds since 1970.
//
// Two readings make most of a span's cost: 2 x 20 ns of clock_gettime against 2 x 9 ns of the processor's own counter
// (TSC), measured on the machine of docs/performance.md. The counter is used where the processor promises one rate for
// all cores (invariant TSC), the kernel counts it among its clock sources (it takes it off that list when cores
// disagree), and the process may read it; else CLOCK_MONOTONIC counts, with one tick a nanosecond. Other processors
// than x86-64 have such counters too and use CLOCK_MONOTONIC for now.
//
// The rate is measured against CLOCK_MONOTONIC between the load of the program and each calibration, so it gets better
// with time and is good to about 4 ppm at worst: 40 ns over the least interval of 10 ms. One mapping holds for a whole
// recording: spans, recorder_now_ns and device records then agree to the nanosecond, which a better rate found at the
// end could not give back to those who asked meanwhile. How far the mapping drifted is measured at the end and told.
#pragma once

#include <cstdint>

#include "base/time.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace stepscope {

enum class TickSource : std::uint8_t { kMonotonic, kTsc };

namespace detail {
extern TickSource tick_source;  // set once, when the program is loaded
std::uint64_t read_monotonic_ns();
}  // namespace detail

inline std::uint64_t read_ticks() {
#if defined(__x86_64__)
  if (detail::tick_source == TickSource::kTsc) [[likely]]
    return __rdtsc();
#endif
  return detail::read_monotonic_ns();
}

// Ticks to nanoseconds since 1970. Never decreases.
struct TickMapping {
  std::uint64_t base_ticks = 0;
  TimeNs base_ns = 0;
  std::uint64_t ns_per_tick_q40 = 0;  // times 2^40

  [[nodiscard]] TimeNs to_ns(std::uint64_t ticks) const;
  // The other way, to within a tick.
  [[nodiscard]] std::uint64_t to_ticks(TimeNs ns) const;
};

// Measures. Sleeps when the program is younger than 10 ms. One caller at a time.
[[nodiscard]] TickMapping calibrate_ticks();

// CLOCK_MONOTONIC and the counter, read at the same moment (within some 20 ns).
struct ClockPair {
  std::uint64_t ticks = 0;
  TimeNs clock_ns = 0;
};
[[nodiscard]] ClockPair read_monotonic_pair();

// What a kernel's file says of its clock sources, judged: `available` holds the word tsc.
[[nodiscard]] bool lists_tsc(const char* available);

}  // namespace stepscope
