// Digits by pairs from a table, from the back of a small array.
#include "export/text_buffer.h"

#include <array>

namespace stepscope {
namespace {

constexpr std::array<char, 200> kDigitPairs = [] {
  std::array<char, 200> pairs{};
  for (std::size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

constexpr std::size_t kLongestNumber = 24;  // 20 digits of 64 bits, a sign, a point

// -INT64_MIN does not fit; its bits as an unsigned number do.
std::uint64_t magnitude_of(std::int64_t number) {
  const auto bits = static_cast<std::uint64_t>(number);
  return number < 0 ? 0 - bits : bits;
}

// Writes the digits so that they end at `end`; returns their begin.
char* write_backwards(std::uint64_t number, char* end) {
  while (number >= 100) {
    end -= 2;
    std::memcpy(end, &kDigitPairs[2 * (number % 100)], 2);
    number /= 100;
  }
  if (number >= 10) {
    end -= 2;
    std::memcpy(end, &kDigitPairs[2 * number], 2);
  } else {
    *--end = static_cast<char>('0' + number);
  }
  return end;
}

}  // namespace

void TextBuffer::put_unsigned(std::uint64_t number) {
  std::array<char, kLongestNumber> digits;
  char* const end = digits.data() + digits.size();
  const char* const begin = write_backwards(number, end);
  put(std::string_view(begin, static_cast<std::size_t>(end - begin)));
}

void TextBuffer::put_integer(std::int64_t number) {
  if (number < 0) put('-');
  put_unsigned(magnitude_of(number));
}

void TextBuffer::put_microseconds(TimeNs ns) {
  if (ns < 0) put('-');
  const std::uint64_t magnitude = magnitude_of(ns);
  put_unsigned(magnitude / 1000);
  const std::uint64_t rest = magnitude % 1000;
  char* const at = room(4);
  at[0] = '.';
  at[1] = static_cast<char>('0' + rest / 100);
  std::memcpy(at + 2, &kDigitPairs[2 * (rest % 100)], 2);
  size_ += 4;
}

void TextBuffer::put_long(std::string_view text) {
  flush();
  if (text.size() <= kPieceBytes) return put(text);
  if (status_.has_value()) status_ = sink_(text);
}

void TextBuffer::flush() {
  if (size_ > 0 && status_.has_value()) status_ = sink_({text_.get(), size_});
  size_ = 0;
}

Status TextBuffer::finish() {
  flush();
  return status_;
}

}  // namespace stepscope
