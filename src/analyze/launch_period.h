// The period of a sequence of symbols: the smallest shift under which the sequence nearly equals itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace stepscope {

struct Period {
  std::size_t length = 0;
  double match_ratio = 0;  // share of symbols equal to the one a period later
};

// Symbols are dense numbers from 0. Missing when no period fits three times, matches 90%, and holds three distinct
// symbols.
[[nodiscard]] std::optional<Period> find_period(std::span<const std::uint32_t> symbols, std::size_t symbol_count);

// The distinct symbols of the first cycle.
[[nodiscard]] std::vector<std::uint32_t> symbols_of_cycle(std::span<const std::uint32_t> symbols, const Period& period);

// Where each cycle begins, from position 0 on: near one period after the one before, moved to where the symbols agree
// best, since a cycle may hold a few launches more or less.
[[nodiscard]] std::vector<std::size_t> align_cycles(std::span<const std::uint32_t> symbols, const Period& period);

}  // namespace stepscope
