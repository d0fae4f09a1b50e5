// Where the numbers of the two headers lie: for the encoder and the reader of chunks alone. chunk.h draws them.
#pragma once

#include <cstdint>
#include <cstring>

namespace stepscope::wire {

// The first byte is above ASCII and line ends of both kinds follow, so that a copy in text mode or over a 7-bit line
// shows at once (the idea is PNG's).
inline constexpr char kFileMagic[8] = {'\x89', 'S', 'S', 'C', '\r', '\n', '\x1A', '\n'};
inline constexpr char kChunkMagic[8] = {'\xF1', 'S', 'S', 'C', 'H', 'K', '\n', '\x1A'};
inline constexpr std::size_t kFileCheckAt = 24;
inline constexpr std::size_t kChunkCheckAt = 36;

inline constexpr std::uint16_t kStored = 0;
inline constexpr std::uint16_t kZstd = 1;

template <class Number>
void put_fixed(char* at, Number number) {
  std::memcpy(at, &number, sizeof number);
}
template <class Number>
[[nodiscard]] Number get_fixed(const char* at) {
  Number number;
  std::memcpy(&number, at, sizeof number);
  return number;
}

}  // namespace stepscope::wire
