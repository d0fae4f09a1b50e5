// Three significant figures are kept because host times move by more than that between runs. Below 10 % one
// decimal is kept: 4.6 % and 5.4 % stand on two sides of a threshold. Bytes are decimal (MB = 10^6), so that a
// size divided by a bandwidth in GB/s gives the time a reader expects.
#include "rules/wording.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace stepscope {
namespace {

std::string with_figures(double value, int figures) {
  std::array<char, 64> buffer{};
  const double size = std::abs(value);
  int decimals = figures - 1;
  for (double limit = 9.9951; decimals > 0 && size >= limit; limit *= 10) --decimals;
  const int length = std::snprintf(buffer.data(), buffer.size(), "%.*f", decimals, value);
  return {buffer.data(), static_cast<std::size_t>(length)};
}

}  // namespace

std::string format_duration(DurationNs duration_ns) {
  const auto ns = static_cast<double>(duration_ns);
  const double size = std::abs(ns);
  if (size < 999.5) return with_figures(ns, 1) + " ns";
  if (size < 99'950) return with_figures(ns / 1e3, 3) + " us";
  if (size < 999.5e6) return with_figures(ns / 1e6, 3) + " ms";
  return with_figures(ns / 1e9, 3) + " s";
}

std::string format_percent(double ratio) {
  const double percent = ratio * 100;
  if (std::abs(percent) < 0.05) return "0 %";
  return with_figures(percent, std::abs(percent) < 9.95 ? 2 : 1) + " %";
}

std::string format_count(double count) {
  if (std::abs(count) < 10 && count != std::floor(count)) return with_figures(count, 2);
  std::string digits = std::to_string(std::llround(std::abs(count)));
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  return std::string(count < 0 ? "-" : "").append(digits);
}

std::string format_bytes(double bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {" B", " kB", " MB", " GB", " TB"};
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && std::abs(bytes) >= 999.5) {
    bytes /= 1000;
    ++unit;
  }
  return with_figures(bytes, unit == 0 ? 1 : 3) + std::string(kUnits[unit]);
}

std::string format_times(double factor) { return with_figures(factor, factor < 9.95 ? 2 : 1) + " times"; }

std::string times_a_step(double count) {
  if (count > 0.95 && count < 1.05) return "once a step";
  return format_count(count) + " times a step";
}

std::string count_of(std::int64_t count, std::string_view one, std::string_view many) {
  return format_count(static_cast<double>(count)) + " " + std::string(count == 1 ? one : many);
}

std::string shortened(std::string_view text, std::size_t length) {
  if (text.size() <= length) return std::string(text);
  std::size_t end = length > 3 ? length - 3 : 0;
  // Bytes 10xxxxxx continue a UTF-8 character.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string(text.substr(0, end)) + "...";
}

std::string short_kernel_name(std::string_view name, std::size_t length) {
  if (name.starts_with("Memcpy") || name.starts_with("Memset")) return shortened(name, length);
  for (const std::string_view prefix : {"void ", "at::native::", "(anonymous namespace)::", "at::", "cuda::"}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  // CUTLASS wraps the kernel that has a name: cutlass::Kernel2<cutlass_80_simt_sgemm_...>.
  if (const auto open = name.find('<'); name.starts_with("cutlass::Kernel") && open != std::string_view::npos) {
    const std::string_view inner = name.substr(open + 1);
    if (const auto end = inner.find_first_of("<>"); end != std::string_view::npos && end > 0)
      name = inner.substr(0, end);
  }
  if (const auto cut = name.find_first_of("<("); cut != std::string_view::npos && cut > 0) name = name.substr(0, cut);
  return shortened(name, length);
}

}  // namespace stepscope
