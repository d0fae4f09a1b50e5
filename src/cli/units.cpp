// A quantity is a list of its units; std::from_chars reads the number, which knows no locale.
#include "cli/units.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <span>

namespace stepscope {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr Unit kAmounts[] = {{"", 1},    {"k", 1e3}, {"K", 1e3}, {"m", 1e6},  {"M", 1e6}, {"b", 1e9},
                             {"B", 1e9}, {"g", 1e9}, {"G", 1e9}, {"t", 1e12}, {"T", 1e12}};
// Capital letters only, as units have them: m would be milli.
constexpr Unit kPrefixes[] = {{"", 1}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15}, {"E", 1e18}};
constexpr Unit kTimes[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"µs", 1e-6}, {"ns", 1e-9}, {"min", 60}};

constexpr Unit kBytes[] = {{"", 1},
                           {"B", 1},
                           {"kB", 1e3},
                           {"MB", 1e6},
                           {"GB", 1e9},
                           {"TB", 1e12},
                           {"KiB", 1024},
                           {"MiB", 1024.0 * 1024},
                           {"GiB", 1024.0 * 1024 * 1024},
                           {"TiB", 1024.0 * 1024 * 1024 * 1024}};

struct Number {
  double value;
  std::string_view rest;
};

// Digits with a point and an exponent; no sign, no hexadecimal, no inf or nan.
std::optional<Number> read_number(std::string_view text) {
  if (text.empty() || (text.front() != '.' && (text.front() < '0' || text.front() > '9'))) return std::nullopt;
  double value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return Number{value, text.substr(static_cast<std::size_t>(at - text.data()))};
}

std::optional<double> read_quantity(std::string_view text, std::span<const Unit> units) {
  auto number = read_number(text);
  if (!number) return std::nullopt;
  if (number->rest.starts_with(' ')) number->rest.remove_prefix(1);
  for (const Unit& unit : units) {
    if (unit.name != number->rest) continue;
    const double value = number->value * unit.factor;
    if (std::isfinite(value) && value > 0) return value;
  }
  return std::nullopt;
}

// "TFLOP/s" and "TFLOPS" are T.
std::string_view without_ending(std::string_view text, std::initializer_list<std::string_view> endings) {
  for (const std::string_view ending : endings) {
    if (text.ends_with(ending)) return text.substr(0, text.size() - ending.size());
  }
  return text;
}

using Parser = std::optional<double> (*)(std::string_view);

CLI::Validator quantity(Parser parse, const char* allowed) {
  const auto check = [parse, allowed](std::string& text) -> std::string {
    const auto value = parse(text);
    if (!value) return fmt::format("must be {}, not {}", allowed, text.empty() ? "empty" : text);
    text = fmt::format("{}", *value);  // the shortest text that reads as the same number
    return "";
  };
  CLI::Validator validator;
  validator.operation(check).description("");
  return validator;
}

// What no GPU is slow enough for: who types 989 means TFLOP/s.
constexpr double kLeastPeak = 1e9;

std::optional<double> parse_peak(std::string_view text) {
  const auto value = parse_flops_per_s(text);
  return value && *value >= kLeastPeak ? value : std::nullopt;
}

std::optional<double> parse_size(std::string_view text) {
  constexpr double kMost = 9007199254740992;  // 2^53: doubles count exactly up to here
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  const auto number = read_number(text);
  return number && number->value >= 1 && number->value <= kMost ? std::optional(number->value) : std::nullopt;
}

}  // namespace

std::optional<double> parse_amount(std::string_view text) { return read_quantity(text, kAmounts); }

std::optional<double> parse_flops(std::string_view text) {
  return read_quantity(without_ending(text, {"FLOPs", "FLOP"}), kPrefixes);
}

std::optional<double> parse_flops_per_s(std::string_view text) {
  return read_quantity(without_ending(text, {"FLOP/s", "FLOPs/s", "FLOPS"}), kPrefixes);
}

std::optional<double> parse_seconds(std::string_view text) { return read_quantity(text, kTimes); }

std::optional<double> parse_bytes(std::string_view text) {
  constexpr double kMost = 1125899906842624;  // 2^50: more than any device has
  const auto value = read_quantity(text, kBytes);
  return value && *value >= 1 && *value <= kMost ? std::optional(std::floor(*value)) : std::nullopt;
}

CLI::Validator byte_count() {
  return quantity(parse_bytes, "a size above 0, such as 3001024512, 80GiB or 80GB (powers of 1024 have an i)");
}

CLI::Validator amount() {
  return quantity(parse_amount, "a number above 0, such as 7B, 7e9 or 125M (K, M, B, T: powers of 1000)");
}

CLI::Validator peak_flops() {
  return quantity(parse_peak, "the FLOP/s of one GPU, such as 989T or 989e12 (G, T, P), at least 1G");
}

CLI::Validator seconds() { return quantity(parse_seconds, "a time above 0, such as 9, 9s, 43.5ms, 500us or 2min"); }

CLI::Validator positive_count() { return quantity(parse_size, "a whole number above 0, such as 64"); }

CLI::Validator plain_size() {
  return quantity(parse_size, "a whole number above 0, written out: 8192 (8K could be 8000)");
}

}  // namespace stepscope
