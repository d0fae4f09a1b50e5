// Candidate periods are distances between occurrences of the same symbol; each is then compared with the sequence.
//
// The work is bounded whatever the input: at most 512 symbols give at most 40 distances for each of 9 spacings, the 400
// commonest distances are tried on at most a million symbols, and a try ends as soon as it cannot reach 90% any more,
// which wrong ones show after a tenth. Autocorrelation by FFT was rejected: symbols have no magnitude, and the
// candidates are few.
#include "analyze/launch_period.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace stepscope {
namespace {

constexpr std::size_t kMaxSymbols = 512;
constexpr std::size_t kMaxDistances = 40;
constexpr std::array<std::size_t, 9> kSpacings = {1, 2, 3, 4, 6, 8, 12, 16, 24};
constexpr std::size_t kMaxCandidates = 400;
constexpr std::size_t kMaxCompared = 1'000'000;
// At least 0.9, and the smallest period within half a percent of the best: repeats inside a step (layers) match clearly
// worse than the step, multiples of it just as well. The recordings match at 1.000.
constexpr double kLeastMatch = 0.9;
constexpr double kEquallyGood = 0.005;
constexpr std::size_t kLeastCycles = 3;
// The last cycle may lack a little: the recording ended within it.
constexpr double kMissingTail = 0.02;

// Positions of each symbol, as one array cut by `begin`.
struct Occurrences {
  std::vector<std::size_t> begin;
  std::vector<std::size_t> positions;
  std::span<const std::size_t> of(std::size_t symbol) const {
    return std::span(positions).subspan(begin[symbol], begin[symbol + 1] - begin[symbol]);
  }
};

Occurrences find_occurrences(std::span<const std::uint32_t> symbols, std::size_t symbol_count) {
  Occurrences found;
  found.begin.assign(symbol_count + 1, 0);
  for (const std::uint32_t each : symbols) ++found.begin[each + 1];
  for (std::size_t i = 0; i < symbol_count; ++i) found.begin[i + 1] += found.begin[i];
  std::vector<std::size_t> next(found.begin.begin(), found.begin.end() - 1);
  found.positions.resize(symbols.size());
  for (std::size_t i = 0; i < symbols.size(); ++i) found.positions[next[symbols[i]]++] = i;
  return found;
}

std::vector<std::size_t> commonest_symbols(const Occurrences& occurrences, std::size_t symbol_count) {
  std::vector<std::size_t> chosen;
  for (std::size_t symbol = 0; symbol < symbol_count; ++symbol) {
    if (occurrences.of(symbol).size() >= 2) chosen.push_back(symbol);
  }
  std::stable_sort(chosen.begin(), chosen.end(),
                   [&](std::size_t a, std::size_t b) { return occurrences.of(a).size() > occurrences.of(b).size(); });
  chosen.resize(std::min(chosen.size(), kMaxSymbols));
  return chosen;
}

std::vector<std::size_t> candidate_lengths(std::span<const std::uint32_t> symbols, std::size_t symbol_count) {
  const Occurrences occurrences = find_occurrences(symbols, symbol_count);
  const auto longest =
      static_cast<std::size_t>(static_cast<double>(symbols.size()) * (1 + kMissingTail)) / kLeastCycles;
  std::unordered_map<std::size_t, std::size_t> votes;
  for (const std::size_t symbol : commonest_symbols(occurrences, symbol_count)) {
    const auto positions = occurrences.of(symbol);
    for (const std::size_t spacing : kSpacings) {
      if (positions.size() <= spacing) break;
      const std::size_t last = positions.size() - spacing;
      const std::size_t stride = std::max<std::size_t>(1, last / kMaxDistances);
      for (std::size_t i = 0; i < last; i += stride) {
        const std::size_t distance = positions[i + spacing] - positions[i];
        if (distance <= longest) ++votes[distance];
      }
    }
  }
  std::vector<std::pair<std::size_t, std::size_t>> ranked(votes.begin(), votes.end());
  std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  ranked.resize(std::min(ranked.size(), kMaxCandidates));
  std::vector<std::size_t> lengths;
  lengths.reserve(ranked.size());
  for (const auto& [length, count] : ranked) lengths.push_back(length);
  std::sort(lengths.begin(), lengths.end());
  return lengths;
}

// Share of symbols that equal the one `length` later; 0 as soon as it cannot reach kLeastMatch.
double match_ratio(std::span<const std::uint32_t> symbols, std::size_t length) {
  constexpr std::size_t kBlock = 4096;
  const std::size_t compared = std::min(symbols.size(), kMaxCompared + length) - length;
  const auto allowed = static_cast<std::size_t>(static_cast<double>(compared) * (1 - kLeastMatch));
  std::size_t wrong = 0;
  for (std::size_t begin = 0; begin < compared; begin += kBlock) {
    const std::size_t end = std::min(compared, begin + kBlock);
    std::uint32_t wrong_here = 0;
    for (std::size_t i = begin; i < end; ++i) wrong_here += symbols[i] != symbols[i + length] ? 1U : 0U;
    wrong += wrong_here;
    if (wrong > allowed) return 0;
  }
  return 1 - static_cast<double>(wrong) / static_cast<double>(compared);
}

}  // namespace

std::optional<Period> find_period(std::span<const std::uint32_t> symbols, std::size_t symbol_count) {
  std::vector<Period> good;
  double best = 0;
  for (const std::size_t length : candidate_lengths(symbols, symbol_count)) {
    const double match = match_ratio(symbols, length);
    if (match < kLeastMatch) continue;
    good.push_back({length, match});
    best = std::max(best, match);
  }
  const auto smallest = std::find_if(good.begin(), good.end(),
                                     [&](const Period& each) { return each.match_ratio >= best - kEquallyGood; });
  if (smallest == good.end()) return std::nullopt;
  return *smallest;
}

std::vector<std::uint32_t> symbols_of_cycle(std::span<const std::uint32_t> symbols, const Period& period) {
  std::vector<std::uint32_t> cycle(symbols.begin(), symbols.begin() + static_cast<std::ptrdiff_t>(period.length));
  std::sort(cycle.begin(), cycle.end());
  cycle.erase(std::unique(cycle.begin(), cycle.end()), cycle.end());
  return cycle;
}

std::vector<std::size_t> align_cycles(std::span<const std::uint32_t> symbols, const Period& period) {
  constexpr std::size_t kContext = 16;   // symbols compared at each shift
  constexpr std::size_t kMaxShift = 64;  // so that aligning costs about 3 comparisons a symbol at 700 a cycle
  const std::size_t shift_limit = std::min(kMaxShift, period.length / 10);
  auto agreement = [&](std::size_t a, std::size_t b) {
    std::size_t same = 0;
    for (std::size_t i = 0; i < kContext && b + i < symbols.size(); ++i)
      same += symbols[a + i] == symbols[b + i] ? 1 : 0;
    return same;
  };
  std::vector<std::size_t> begins = {0};
  while (begins.back() + period.length < symbols.size()) {
    const std::size_t from = begins.back();
    const std::size_t expected = from + period.length;
    std::size_t chosen = expected;
    std::size_t best = agreement(from, expected);
    for (std::size_t shift = 1; shift <= shift_limit && best < kContext; ++shift) {
      for (const std::size_t at : {expected - shift, expected + shift}) {
        if (at >= symbols.size() || agreement(from, at) <= best) continue;
        best = agreement(from, at);
        chosen = at;
      }
    }
    begins.push_back(chosen);
  }
  return begins;
}

}  // namespace stepscope
