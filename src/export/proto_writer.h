// Protocol buffers' wire format, as far as a writer of traces needs it: varints, fixed numbers, bytes.
//
//   field:  (number << 3 | type) as varint, then   type 0: varint   1: 8 bytes   2: length as varint, bytes
//
// Nested messages are built in a buffer of their own and put in whole, since their length stands before them; buffers
// are kept and cleared, so a slice costs no allocation. Protozero (Debian: libprotozero-dev) would serve, but this room
// is part of the public library, whose users would need one more package for these forty lines.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace stepscope {

class ProtoMessage {
 public:
  void clear() { bytes_.clear(); }
  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }

  void put_integer(std::uint32_t field, std::uint64_t number) {
    put_varint(field << 3U);
    put_varint(number);
  }
  void put_fixed64(std::uint32_t field, std::uint64_t number) {
    put_varint(field << 3U | 1U);
    char little_endian[8];
    for (unsigned i = 0; i < 8; ++i) little_endian[i] = static_cast<char>(number >> 8U * i & 0xffU);
    bytes_.append(little_endian, sizeof little_endian);
  }
  void put_real(std::uint32_t field, double number) { put_fixed64(field, std::bit_cast<std::uint64_t>(number)); }
  void put_bytes(std::uint32_t field, std::string_view bytes) {
    put_varint(field << 3U | 2U);
    put_varint(bytes.size());
    bytes_.append(bytes);
  }
  void put_message(std::uint32_t field, const ProtoMessage& message) { put_bytes(field, message.bytes_); }

 private:
  void put_varint(std::uint64_t number) {
    char bytes[10];
    std::size_t size = 0;
    for (; number >= 0x80; number >>= 7U) bytes[size++] = static_cast<char>(number | 0x80U);
    bytes[size++] = static_cast<char>(number);
    bytes_.append(bytes, size);
  }

  std::string bytes_;
};

}  // namespace stepscope
