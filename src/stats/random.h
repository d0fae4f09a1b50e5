// Random numbers that are the same on every machine: std::mt19937_64, whose output the standard fixes bit by bit, with
// mappings of our own.
//
// std::uniform_int_distribution and std::shuffle were rejected: the standard leaves their algorithm open, so the same
// seed gives other intervals with another library. `below` is Lemire's multiplication with rejection ("Fast Random
// Integer Generation in an Interval", 2019), which is exactly uniform and needs no division in most calls.
#pragma once

#include <cstdint>
#include <random>

namespace stepscope {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  // Uniform in [0, count). `count` is above 0.
  [[nodiscard]] std::uint32_t below(std::uint32_t count) {
    std::uint64_t product = (engine_() >> 32) * count;
    auto fraction = static_cast<std::uint32_t>(product);
    if (fraction < count) {
      const std::uint32_t uneven = (0U - count) % count;
      while (fraction < uneven) {
        product = (engine_() >> 32) * count;
        fraction = static_cast<std::uint32_t>(product);
      }
    }
    return static_cast<std::uint32_t>(product >> 32);
  }

  // Uniform in [0, 1), a multiple of 2^-53.
  [[nodiscard]] double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace stepscope
