// Numbers as bytes: varints, zigzag, and a reader that cannot leave its bytes.
//
// A varint has 7 bits a byte, the least first, the top bit set on all but the last. A reader past the end gives zeros
// and never fails there: that is how fields that later versions append have a value in older files, and why an encoder
// may leave out zeros at the end of a record (half of an event's fields are zero). A varint that is longer than its
// type is malformed, and the reader says so.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/id.h"

namespace stepscope::wire {

static_assert(std::endian::native == std::endian::little, "fixed-size numbers are copied as they lie in memory");

// Small numbers of either sign become small numbers: 0, -1, 1, -2 ... -> 0, 1, 2, 3 ...
[[nodiscard]] constexpr std::uint64_t zigzag(std::int64_t number) {
  return (static_cast<std::uint64_t>(number) << 1) ^ static_cast<std::uint64_t>(number >> 63);
}
[[nodiscard]] constexpr std::int64_t from_zigzag(std::uint64_t code) {
  return static_cast<std::int64_t>((code >> 1) ^ (~(code & 1) + 1));
}
// Differences of times and ids wrap around instead of overflowing: any two numbers have one.
[[nodiscard]] constexpr std::int64_t difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
[[nodiscard]] constexpr std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

class ByteWriter {
 public:
  void varint(std::uint64_t number) {
    while (number >= 0x80) {
      bytes_.push_back(static_cast<char>(number | 0x80));
      number >>= 7;
    }
    bytes_.push_back(static_cast<char>(number));
  }
  // A number that may be missing: 0, or 1 + its zigzag code, which may be 2^64.
  void maybe(bool has_value, std::int64_t number) {
    const std::uint64_t code = zigzag(number);
    if (!has_value) return bytes_.push_back(0);
    if (code < ~std::uint64_t{0}) return varint(code + 1);
    // Bits 0 to 62 in nine bytes, then bit 64.
    bytes_.append(9, static_cast<char>(0x80));
    bytes_.push_back(2);
  }
  void fixed64(std::uint64_t number) { bytes_.append(reinterpret_cast<const char*>(&number), sizeof number); }
  void raw(std::string_view text) { bytes_.append(text); }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] std::string& bytes() { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  std::string bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  [[nodiscard]] std::uint64_t varint() {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) return is_cut(shift);
      const auto byte = static_cast<std::uint8_t>(*at_++);
      if (shift == 63 && byte > 1) return fail();
      number |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return number;
    }
    return fail();
  }
  // See ByteWriter::maybe. False: missing.
  [[nodiscard]] bool maybe(std::int64_t& number) {
    if (end_ - at_ >= 10 && static_cast<std::uint8_t>(at_[8]) == 0x80 && at_[9] == 2) {
      bool is_escape = true;
      for (int i = 0; i < 8; ++i) is_escape = is_escape && static_cast<std::uint8_t>(at_[i]) == 0x80;
      if (is_escape) {
        at_ += 10;
        number = from_zigzag(~std::uint64_t{0});
        return true;
      }
    }
    const std::uint64_t code = varint();
    if (code == 0) return false;
    number = from_zigzag(code - 1);
    return true;
  }
  [[nodiscard]] std::uint64_t fixed64() {
    std::uint64_t number = 0;
    const auto size = std::min<std::size_t>(sizeof number, left());
    if (size > 0) std::memcpy(&number, at_, size);
    at_ += size;
    return number;
  }
  // `size` bytes; malformed if there are fewer.
  [[nodiscard]] std::string_view raw(std::uint64_t size) {
    if (size > left()) {
      fail();
      return {};
    }
    const std::string_view text(at_, static_cast<std::size_t>(size));
    at_ += size;
    return text;
  }

  [[nodiscard]] std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  [[nodiscard]] bool failed() const { return failed_; }
  std::uint64_t fail() {
    failed_ = true;
    at_ = end_;
    return 0;
  }

 private:
  // At the end: zero before the first byte of a number, malformed inside one.
  std::uint64_t is_cut(unsigned shift) { return shift == 0 ? 0 : fail(); }

  const char* at_;
  const char* end_;
  bool failed_ = false;
};

}  // namespace stepscope::wire
