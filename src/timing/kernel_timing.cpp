// A KernelTiming in a few lines of text.
#include <cstdio>

#include "stepscope/cold_timer.h"

namespace stepscope {
namespace {

template <class... Arguments>
std::string format(const char* pattern, Arguments... arguments) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, arguments...);
  return text;
}

// Four significant figures with the unit that leaves 1 to 999 before the point.
std::string in_unit(double value, const char* const (&units)[5], double first_scale) {
  std::size_t unit = 0;
  double scaled = value / first_scale;
  while (scaled >= 1000 && unit + 1 < 5) {
    scaled /= 1000;
    ++unit;
  }
  const int decimals = scaled >= 100 ? 1 : scaled >= 10 ? 2 : 3;
  return format("%.*f %s", decimals, scaled, units[unit]);
}

std::string time_text(double ns) {
  static constexpr const char* kUnits[5] = {"ns", "us", "ms", "s", "ks"};
  return in_unit(ns, kUnits, 1);
}

}  // namespace

std::string KernelTiming::to_string() const {
  static constexpr const char* kByteUnits[5] = {"MB/s", "GB/s", "TB/s", "PB/s", "EB/s"};
  static constexpr const char* kFlopUnits[5] = {"MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s", "EFLOP/s"};
  const bool is_hot = launches_per_sample > 1;
  std::string text = label.empty() ? device_name : label + ", " + device_name;
  text += is_hot                       ? ", hot"
          : flush == L2Flush::kClean   ? ", cold"
          : flush == L2Flush::kWritten ? ", cold (L2 full of writes)"
                                       : ", warm";
  text += "\n  median " + time_text(median_ns) + ", mean " + time_text(mean_ns);
  if (noise_ratio) text += format(" +- %.2f%%", *noise_ratio * 100);
  text += ", min " + time_text(min_ns) + ", max " + time_text(max_ns);
  text += "\n  " + std::to_string(sample_count()) + (is_hot ? " batches of " : " samples");
  if (is_hot) text += std::to_string(launches_per_sample) + " launches";
  if (sm_clock_hz) text += format(", SM clock %.0f MHz", *sm_clock_hz / 1e6);
  if (sm_clock_hz && default_sm_clock_hz) text += format(" of %.0f", *default_sm_clock_hz / 1e6);
  if (bytes_per_s) text += ", " + in_unit(*bytes_per_s, kByteUnits, 1e6);
  if (flops_per_s) text += ", " + in_unit(*flops_per_s, kFlopUnits, 1e6);
  for (const std::string& warning : warnings) text += "\n  warning: " + warning;
  return text + "\n";
}

}  // namespace stepscope
