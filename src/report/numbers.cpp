// Formatting is fmt's work; here stand only the choices of unit and digits.
#include "report/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace stepscope {
namespace {

int digits_before_point(double value) { return value >= 1 ? static_cast<int>(std::floor(std::log10(value))) + 1 : 1; }

}  // namespace

DurationFormat DurationFormat::pick(DurationNs typical_ns, DurationNs spread_ns) {
  DurationFormat format;
  const double size = std::abs(static_cast<double>(typical_ns));
  if (size >= 10e9) {
    format = {1e9, "s", 1};
  } else if (size >= 1e6) {
    format = {1e6, "ms", 1};
  } else if (size >= 1e3) {
    format = {1e3, "us", 1};
  } else {
    return {1, "ns", 0};
  }
  const bool is_step_like = size >= 1e6;  // 130.1 ms and 126.3 ms are to be told apart
  format.decimals = std::max(is_step_like ? 1 : 0, 3 - digits_before_point(size / format.ns_per_unit));
  const double spread = std::abs(static_cast<double>(spread_ns)) / format.ns_per_unit;
  if (spread > 0) format.decimals = std::max(format.decimals, -static_cast<int>(std::floor(std::log10(spread))));
  // More than 3 decimals of a millisecond say nothing that a clock knows.
  format.decimals = std::min(format.decimals, 3);
  return format;
}

std::string DurationFormat::number(DurationNs ns) const {
  return show_decimal(static_cast<double>(ns) / ns_per_unit, decimals);
}

std::string DurationFormat::text(DurationNs ns) const { return number(ns) + " " + unit; }

std::string show_duration(DurationNs ns) { return DurationFormat::pick(ns).text(ns); }

std::string show_decimal(double value, int decimals) {
  std::string text = fmt::format("{:.{}f}", value, decimals);
  const std::string zero = fmt::format("{:.{}f}", 0.0, decimals);
  if (text == "-" + zero) text = zero;  // -0.04 is 0.0, not -0.0
  return text;
}

std::string show_percent(double ratio) {
  const double percent = ratio * 100;
  if (percent > 0 && percent < 0.05) return "<0.1 %";
  // 99.96 must not become a round 100 that says "all".
  if (percent > 99 && percent < 100) return fmt::format("{:.1f} %", std::min(percent, 99.9));
  return fmt::format("{} %", show_decimal(percent, std::abs(percent) < 9.95 && percent != 0 ? 1 : 0));
}

std::string show_count(std::int64_t count) {
  std::string digits = std::to_string(count);
  const std::size_t sign = count < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > sign + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string show_bytes(std::int64_t bytes) {
  constexpr double kKiB = 1024, kMiB = kKiB * 1024, kGiB = kMiB * 1024;
  const double size = static_cast<double>(bytes);
  if (std::abs(size) >= kGiB) {
    return fmt::format("{:.{}f} GiB", size / kGiB, std::max(0, 3 - digits_before_point(std::abs(size) / kGiB)));
  }
  if (std::abs(size) >= 10 * kMiB) return show_count(std::llround(size / kMiB)) + " MiB";
  if (std::abs(size) >= kMiB) return fmt::format("{:.1f} MiB", size / kMiB);
  if (std::abs(size) >= kKiB) return fmt::format("{:.1f} KiB", size / kKiB);
  return fmt::format("{} B", bytes);
}

std::string show_flops(double flops_per_s) {
  static constexpr std::array<std::pair<double, const char*>, 4> kScales = {
      {{1e15, "PFLOP/s"}, {1e12, "TFLOP/s"}, {1e9, "GFLOP/s"}, {1e6, "MFLOP/s"}}};
  for (const auto& [scale, unit] : kScales) {
    if (flops_per_s < scale) continue;
    const double value = flops_per_s / scale;
    return fmt::format("{:.{}f} {}", value, std::max(0, 3 - digits_before_point(value)), unit);
  }
  return fmt::format("{:.0f} FLOP/s", flops_per_s);
}

std::string show_quantity(double value, std::string_view unit) {
  static constexpr std::array<std::pair<double, const char*>, 6> kScales = {
      {{1e18, "E"}, {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "K"}}};
  for (const auto& [scale, prefix] : kScales) {
    // 999.96 would be shown as 1000.
    if (value >= scale * 0.99995) return fmt::format("{:.4g} {}{}", value / scale, prefix, unit);
  }
  return unit.empty() ? fmt::format("{:.4g}", value) : fmt::format("{:.4g} {}", value, unit);
}

std::string show_counted(std::int64_t count, const char* singular, const char* plural) {
  const std::string noun = count == 1 ? singular : plural != nullptr ? plural : std::string(singular) + "s";
  return show_count(count) + " " + noun;
}

}  // namespace stepscope
