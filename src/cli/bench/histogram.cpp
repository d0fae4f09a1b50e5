// Bars of one line: eight heights, the tallest bar is full. What occurs at all is never drawn as nothing.
#include <algorithm>
#include <array>
#include <string_view>

#include "cli/bench/bench.h"

namespace stepscope {
namespace {

constexpr std::array<std::string_view, 9> kBars = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, 9> kAsciiBars = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};

}  // namespace

std::string draw_histogram(const std::vector<double>& values, double low, double high, std::size_t columns,
                           bool ascii) {
  std::vector<std::size_t> counts(columns);
  for (const double value : values) {
    if (columns == 0 || value < low || value > high) continue;
    const double part = high > low ? (value - low) / (high - low) : 0;
    ++counts[std::min(columns - 1, static_cast<std::size_t>(part * static_cast<double>(columns)))];
  }
  const std::size_t most = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
  std::string text;
  for (const std::size_t count : counts) {
    const std::size_t eighths = most > 0 ? (count * 8 + most - 1) / most : 0;
    text += (ascii ? kAsciiBars : kBars)[eighths];
  }
  return text;
}

}  // namespace stepscope
