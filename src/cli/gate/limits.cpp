// Shares are read here, sizes and times by cli/units.
#include "cli/gate/limits.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "cli/units.h"

namespace stepscope {
namespace {

// No sign, no inf, no nan: from_chars would take them.
std::optional<double> read_plain(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789.eE-+") != std::string_view::npos) return std::nullopt;
  if (text.front() == '-' || text.front() == '+') return std::nullopt;
  double value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || at != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

bool has_unit(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.eE-+ ") != std::string_view::npos;
}

template <class Parse>
CLI::Validator checked(Parse parse, const char* allowed) {
  const auto check = [parse, allowed](const std::string& text) -> std::string {
    if (parse(text)) return "";
    return fmt::format("must be {}, not {}", allowed, text.empty() ? "empty" : text);
  };
  return CLI::Validator(check, "");
}

}  // namespace

std::optional<double> parse_share(std::string_view text) {
  if (text.ends_with('%')) {
    text.remove_suffix(1);
    if (text.ends_with(' ')) text.remove_suffix(1);
    const auto percent = read_plain(text);
    return percent ? std::optional(*percent / 100) : std::nullopt;
  }
  const auto ratio = read_plain(text);
  return ratio && *ratio < 1 ? ratio : std::nullopt;
}

std::optional<GateLimit> parse_time_limit(std::string_view text) {
  if (const auto ratio = parse_share(text)) return GateLimit{ratio, std::nullopt};
  if (!has_unit(text)) return std::nullopt;
  const auto seconds = parse_seconds(text);
  constexpr double kMostSeconds = 1e6;
  if (!seconds || *seconds > kMostSeconds) return std::nullopt;
  return GateLimit{std::nullopt, std::llround(*seconds * 1e9)};
}

std::optional<GateLimit> parse_size_limit(std::string_view text) {
  if (const auto ratio = parse_share(text)) return GateLimit{ratio, std::nullopt};
  if (!has_unit(text)) return std::nullopt;
  const auto bytes = parse_bytes(text);
  return bytes ? std::optional(GateLimit{std::nullopt, std::llround(*bytes)}) : std::nullopt;
}

CLI::Validator share() {
  // Runs that differ by as much as they take tell nothing; more is a slip.
  const auto parse = [](std::string_view text) {
    const auto ratio = parse_share(text);
    return ratio && *ratio <= 1 ? ratio : std::nullopt;
  };
  return checked(parse, "a share such as 1% or 0.01, at most 100%");
}
CLI::Validator time_limit() { return checked(parse_time_limit, "a share such as 3% or 0.03, or a time such as 2ms"); }
CLI::Validator size_limit() {
  return checked(parse_size_limit, "a share such as 5% or 0.05, or a size such as 512MiB");
}

}  // namespace stepscope
