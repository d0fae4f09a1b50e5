// Choice and calibration of the counter. Pairs of readings are taken several times, and the pair with the shortest way
// round is kept, since a thread may lose its core between two readings.
#include "capture/tick_clock.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace stepscope {
namespace {

constexpr std::int64_t kLeastIntervalNs = 10'000'000;
// The kernel never slews CLOCK_MONOTONIC by more than 500 ppm: a rate that moved by more means that the counter or the
// clock stood still meanwhile (suspend, migration of a virtual machine).
constexpr double kMostSlew = 500e-6;

std::int64_t read_clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

ClockPair read_pair(clockid_t clock) {
  ClockPair best;
  std::uint64_t shortest = ~std::uint64_t{0};
  for (int i = 0; i < 16; ++i) {
    const std::uint64_t before = read_ticks();
    const std::int64_t clock_ns = read_clock_ns(clock);
    const std::uint64_t around = read_ticks() - before;
    if (around >= shortest) continue;
    shortest = around;
    best = {before + around / 2, clock_ns};
  }
  return best;
}

#if defined(__x86_64__)
bool has_usable_tsc() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0x80000007, &a, &b, &c, &d) == 0 || (d & (1U << 8)) == 0) return false;
  int allowed = 0;
  if (prctl(PR_GET_TSC, &allowed) != 0 || allowed != PR_TSC_ENABLE) return false;
  const int file = open("/sys/devices/system/clocksource/clocksource0/available_clocksource", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char text[256] = {};
  const ssize_t count = read(file, text, sizeof text - 1);
  close(file);
  return count > 0 && lists_tsc(text);
}
#else
bool has_usable_tsc() { return false; }
#endif

ClockPair choose_source_and_read() {
  detail::tick_source = has_usable_tsc() ? TickSource::kTsc : TickSource::kMonotonic;
  return read_pair(CLOCK_MONOTONIC);
}

// Where the measured interval begins: at the load of the program, or at the first call if that comes before.
ClockPair& origin() {
  static ClockPair pair = choose_source_and_read();
  return pair;
}
[[maybe_unused]] const ClockPair& at_load = origin();

double measure_ns_per_tick(const ClockPair& from) {
  const std::int64_t left_ns = kLeastIntervalNs - (read_clock_ns(CLOCK_MONOTONIC) - from.clock_ns);
  if (left_ns > 0) {
    const timespec rest{0, left_ns};
    nanosleep(&rest, nullptr);
  }
  const ClockPair now = read_pair(CLOCK_MONOTONIC);
  return static_cast<double>(now.clock_ns - from.clock_ns) / static_cast<double>(now.ticks - from.ticks);
}

}  // namespace

namespace detail {
TickSource tick_source = TickSource::kMonotonic;
std::uint64_t read_monotonic_ns() { return static_cast<std::uint64_t>(read_clock_ns(CLOCK_MONOTONIC)); }
}  // namespace detail

bool lists_tsc(const char* available) {
  std::string_view rest = available;
  while (!rest.empty()) {
    const std::size_t end = rest.find_first_of(" \n");
    if (rest.substr(0, end) == "tsc") return true;
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return false;
}

TimeNs TickMapping::to_ns(std::uint64_t ticks) const {
  __extension__ using Wide = __int128;
  const auto since = static_cast<std::int64_t>(ticks - base_ticks);
  return base_ns + static_cast<TimeNs>((Wide{since} * Wide{ns_per_tick_q40}) >> 40);
}

std::uint64_t TickMapping::to_ticks(TimeNs ns) const {
  __extension__ using Wide = __int128;
  if (ns_per_tick_q40 == 0) return base_ticks;
  // Half a step more: to_ns rounds down.
  const Wide since = (Wide{ns - base_ns} << 40) + (Wide{1} << 39);
  return base_ticks + static_cast<std::uint64_t>(static_cast<std::int64_t>(since / Wide{ns_per_tick_q40}));
}

ClockPair read_monotonic_pair() { return read_pair(CLOCK_MONOTONIC); }

TickMapping calibrate_ticks() {
  static double last = 0;
  double ns_per_tick = 1;
  if (ClockPair& from = origin(); detail::tick_source == TickSource::kTsc) {
    ns_per_tick = measure_ns_per_tick(from);
    if (last > 0 && (ns_per_tick > last * (1 + kMostSlew) || ns_per_tick < last * (1 - kMostSlew))) {
      from = read_pair(CLOCK_MONOTONIC);
      ns_per_tick = measure_ns_per_tick(from);
    }
    last = ns_per_tick;
  }
  const ClockPair now = read_pair(CLOCK_REALTIME);
  return {now.ticks, now.clock_ns, static_cast<std::uint64_t>(ns_per_tick * static_cast<double>(1ULL << 40))};
}

}  // namespace stepscope
