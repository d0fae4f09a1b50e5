// A hash for numbers out of files, in power-of-two hash maps.
//
// std::hash of an integer is the integer, so numbers that are equal in their low bits (pid << 32, multiples of 65536)
// would all meet in one bucket: a map of 30,000 of them took minutes and then all memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stepscope {

struct MixedHash {
  // The last step of splitmix64: every bit of the number moves every bit of the hash.
  [[nodiscard]] std::size_t operator()(std::uint64_t number) const noexcept {
    number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9ULL;
    number = (number ^ (number >> 27)) * 0x94D049BB133111EBULL;
    return static_cast<std::size_t>(number ^ (number >> 31));
  }
};

}  // namespace stepscope
