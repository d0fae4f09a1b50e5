// Digit by digit, with the exact limits of 64 bits.
#include "import/chrome_json/decimal.h"

#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>

#include "import/chrome_json/scan.h"

namespace stepscope::chrome_json {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

// A number taken apart: value = digits * 10^exponent.
struct Decimal {
  bool negative = false;
  std::uint64_t digits = 0;
  int exponent = 0;
};

// Adds one digit; false when it does not fit.
bool append_digit(std::uint64_t& digits, char c) {
  const auto digit = static_cast<std::uint64_t>(c - '0');
  if (digits > (kMax - digit) / 10) return false;
  digits = digits * 10 + digit;
  return true;
}

std::optional<int> exponent_from(std::string_view text) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  int exponent = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (code != std::errc() || end != text.data() + text.size() || exponent > 400 || exponent < -400) return std::nullopt;
  return exponent;
}

// Keeps as many digits of the fraction as 64 bits hold, which is more than a nanosecond needs.
std::optional<Decimal> take_apart(std::string_view text) {
  Decimal number;
  std::size_t i = 0;
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) number.negative = text[i++] == '-';
  const std::size_t first = i;
  for (; i < text.size() && is_digit(text[i]); ++i) {
    if (!append_digit(number.digits, text[i])) return std::nullopt;
  }
  std::size_t digit_count = i - first;
  if (i < text.size() && text[i] == '.') {
    bool fits = true;
    for (++i; i < text.size() && is_digit(text[i]); ++i, ++digit_count) {
      fits = fits && append_digit(number.digits, text[i]);
      if (fits) --number.exponent;
    }
  }
  if (digit_count == 0) return std::nullopt;
  if (i == text.size()) return number;
  if (text[i] != 'e' && text[i] != 'E') return std::nullopt;
  const std::optional<int> exponent = exponent_from(text.substr(i + 1));
  if (!exponent) return std::nullopt;
  number.exponent += *exponent;
  return number;
}

// digits * 10^exponent as an integer, rounded half up or cut; nothing when it does not fit.
std::optional<std::uint64_t> scaled(std::uint64_t digits, int exponent, bool round) {
  for (; exponent > 0 && digits != 0; --exponent) {
    if (digits > kMax / 10) return std::nullopt;
    digits *= 10;
  }
  bool half = false;
  for (; exponent < 0 && (digits != 0 || half); ++exponent) {
    half = digits % 10 >= 5;
    digits /= 10;
  }
  return digits + (round && half && exponent == 0 ? 1 : 0);
}

constexpr std::uint64_t kNoNumber = kMax;

// 1 to 8 digits at once, without a loop whose end the processor would have to guess; kNoNumber if one is none.
std::uint64_t up_to_8_digits(const char* at, std::size_t size) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, at, sizeof(bytes));
  const std::size_t spare_bits = 8 * (8 - size);
  bytes <<= spare_bits;
  if (spare_bits > 0) bytes |= 0x3030303030303030ULL >> (64 - spare_bits);  // zeros in front
  const std::uint64_t high =
      (bytes & 0xF0F0F0F0F0F0F0F0ULL) | ((bytes + 0x0606060606060606ULL) & 0xF0F0F0F0F0F0F0F0ULL) >> 4;
  if (high != 0x3333333333333333ULL) return kNoNumber;
  bytes = ((bytes & 0x0F0F0F0F0F0F0F0FULL) * 2561) >> 8;
  bytes = ((bytes & 0x00FF00FF00FF00FFULL) * 6553601) >> 16;
  return ((bytes & 0x0000FFFF0000FFFFULL) * 42949672960001ULL) >> 32;
}

// 1 to 16 digits.
std::uint64_t up_to_16_digits(const char* at, std::size_t size) {
  if (size <= 8) return up_to_8_digits(at, size);
  const std::uint64_t first = up_to_8_digits(at, size - 8);
  const std::uint64_t second = up_to_8_digits(at + size - 8, 8);
  return first == kNoNumber || second == kNoNumber ? kNoNumber : first * 100'000'000 + second;
}

constexpr bool kLittleEndian = std::endian::native == std::endian::little;

}  // namespace

std::optional<TimeNs> nanoseconds_in_block(std::string_view microseconds) {
  // Nearly every time is digits, a point and three digits; Python's writers drop zeros at the end.
  static constexpr std::array<std::uint64_t, 4> kScale = {1000, 100, 10, 1};
  const std::size_t size = microseconds.size();
  if (kLittleEndian && size >= 3) {
    for (const std::size_t decimals : {3U, 2U, 1U}) {
      if (size < decimals + 2 || microseconds[size - decimals - 1] != '.') continue;
      if (size > decimals + 16) break;
      const std::uint64_t whole = up_to_16_digits(microseconds.data(), size - decimals - 1);
      const std::uint64_t fraction = up_to_8_digits(microseconds.data() + size - decimals, decimals);
      if (whole == kNoNumber || fraction == kNoNumber) break;
      return static_cast<TimeNs>(whole * 1000 + fraction * kScale[decimals]);
    }
  }
  return nanoseconds_from(microseconds);
}

MaybeInt integer_in_block(std::string_view text) {
  if (kLittleEndian && !text.empty() && text.size() <= 16) {
    const std::uint64_t value = up_to_16_digits(text.data(), text.size());
    if (value != kNoNumber) return static_cast<std::int64_t>(value);
  }
  return integer_from(text);
}

std::optional<TimeNs> nanoseconds_from(std::string_view microseconds) {
  const std::optional<Decimal> number = take_apart(microseconds);
  if (!number) return std::nullopt;
  const std::optional<std::uint64_t> magnitude = scaled(number->digits, number->exponent + 3, true);
  if (!magnitude || *magnitude > static_cast<std::uint64_t>(std::numeric_limits<TimeNs>::max())) return std::nullopt;
  const auto value = static_cast<TimeNs>(*magnitude);
  return number->negative ? -value : value;
}

MaybeInt integer_from(std::string_view text) {
  const bool negative = !text.empty() && text[0] == '-';
  std::uint64_t value = 0;
  std::size_t i = negative ? 1 : 0;
  const std::size_t first = i;
  for (; i < text.size() && is_digit(text[i]); ++i) {
    const auto digit = static_cast<std::uint64_t>(text[i] - '0');
    if (value > (kMax - digit) / 10) return {};
    value = value * 10 + digit;
  }
  if (i == first) return {};
  if (i < text.size()) {  // a fraction or an exponent
    const std::optional<Decimal> number = take_apart(text);
    if (!number) return {};
    const std::optional<std::uint64_t> whole = scaled(number->digits, number->exponent, false);
    if (!whole) return {};
    value = *whole;
  }
  if (negative && value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return {};
  const auto bits = static_cast<std::int64_t>(value);
  return negative ? MaybeInt(-bits) : MaybeInt(bits);
}

std::optional<double> real_from(std::string_view text) {
  double value = 0;
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  const std::size_t first = text.starts_with('-') ? 1 : 0;  // from_chars would take "nan" and "inf"
  if (text.size() <= first || !(is_digit(text[first]) || text[first] == '.')) return std::nullopt;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace stepscope::chrome_json
