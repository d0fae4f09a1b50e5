// The same loop over masks of 64 bytes, with the masks made in two ways.
#include "import/chrome_json/skip_list.h"

#include <array>
#include <bit>
#include <cstdint>

#include "import/chrome_json/scan.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace stepscope::chrome_json {
namespace {

#if defined(__x86_64__)

// One bit a byte.
struct Masks {
  std::uint64_t quote, unusual, open, close, space_or_comma;
};

// Bit i is set if an odd number of quotes stands at or before byte i: inside strings and at their opening quotes.
inline std::uint64_t inside_strings(std::uint64_t quotes) {
  quotes ^= quotes << 1;
  quotes ^= quotes << 2;
  quotes ^= quotes << 4;
  quotes ^= quotes << 8;
  quotes ^= quotes << 16;
  quotes ^= quotes << 32;
  return quotes;
}

struct Walk {
  std::uint64_t in_string = 0;     // all ones if the last 64 bytes ended in a string
  std::uint64_t string_ended = 0;  // 1 if their last byte was a closing quote
  std::uint64_t depth = 0;

  // Goes on by 64 bytes. Returns the number of bytes up to and with the end of the list, 0 if it goes on, or -1
  // if something is unusual.
  int step(const Masks& masks) {
    const std::uint64_t strings = inside_strings(masks.quote) ^ in_string;
    in_string = static_cast<std::uint64_t>(static_cast<std::int64_t>(strings) >> 63);
    const std::uint64_t closing_quotes = masks.quote & ~strings;
    const std::uint64_t must_separate = closing_quotes << 1 | string_ended;
    string_ended = closing_quotes >> 63;
    const std::uint64_t unusual = masks.unusual | (must_separate & ~(masks.space_or_comma | masks.close));
    const std::uint64_t open = masks.open & ~strings;
    const std::uint64_t opened = static_cast<std::uint64_t>(std::popcount(open));
    if (depth + opened > kDeepestNesting) return -1;
    std::uint64_t closed = 0;
    for (std::uint64_t close = masks.close & ~strings; close != 0; close &= close - 1) {
      const int at = std::countr_zero(close);
      const std::uint64_t up_to = (std::uint64_t{2} << at) - 1;  // all ones at 63
      ++closed;
      if (depth + static_cast<std::uint64_t>(std::popcount(open & up_to)) == closed) {
        return (unusual & up_to) != 0 ? -1 : at + 1;
      }
    }
    if (unusual != 0) return -1;
    depth += opened - closed;
    return 0;
  }
};

template <Masks (*masks_of)(const char*)>
inline __attribute__((always_inline)) const char* skip(const char* at, const char* end) {
  Walk walk;
  for (; at < end; at += 64) {
    const int size = walk.step(masks_of(at));
    if (size < 0) break;
    if (size > 0) return at + size <= end ? at + size : nullptr;
  }
  return nullptr;
}

__attribute__((target("avx2"))) inline std::uint64_t equal_avx2(__m256i low, __m256i high, char c) {
  const __m256i wanted = _mm256_set1_epi8(c);
  const auto first = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, wanted)));
  const auto second = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, wanted)));
  return first | std::uint64_t{second} << 32;
}

__attribute__((target("avx2"))) inline Masks masks_avx2(const char* at) {
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + 32));
  return {
      equal_avx2(low, high, '"'), equal_avx2(low, high, '\\') | equal_avx2(low, high, '{') | equal_avx2(low, high, '}'),
      equal_avx2(low, high, '['), equal_avx2(low, high, ']'), equal_avx2(low, high, ' ') | equal_avx2(low, high, ',')};
}

__attribute__((target("avx512bw,avx512f"))) inline Masks masks_avx512(const char* at) {
  const __m512i bytes = _mm512_loadu_si512(at);
  auto equal = [&](char c) __attribute__((target("avx512bw,avx512f"))) {
    return static_cast<std::uint64_t>(_mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(c)));
  };
  return {equal('"'), equal('\\') | equal('{') | equal('}'), equal('['), equal(']'), equal(' ') | equal(',')};
}

__attribute__((target("avx2,bmi,bmi2,popcnt"), flatten)) const char* skip_list_avx2(const char* at, const char* end,
                                                                                    bool& met_end) {
  const char* const behind = skip<masks_avx2>(at, end);
  return behind != nullptr ? behind : skip_container(at, end, met_end);
}

__attribute__((target("avx512bw,avx512f,avx2,bmi,bmi2,popcnt"), flatten)) const char* skip_list_avx512(const char* at,
                                                                                                       const char* end,
                                                                                                       bool& met_end) {
  const char* const behind = skip<masks_avx512>(at, end);
  return behind != nullptr ? behind : skip_container(at, end, met_end);
}

#endif

struct Choice {
  std::array<NamedSkipList, 3> lists{};
  std::size_t count = 0;
};

Choice choose() {
  Choice choice;
  choice.lists[choice.count++] = {"plain", skip_container};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) {
    choice.lists[choice.count++] = {"avx2", skip_list_avx2};
  }
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("bmi2")) {
    choice.lists[choice.count++] = {"avx512", skip_list_avx512};
  }
#endif
  return choice;
}

const Choice& choice() {
  static const Choice chosen = choose();
  return chosen;
}

}  // namespace

const SkipList skip_list = choice().lists[choice().count - 1].skip;

std::span<const NamedSkipList> all_skip_lists() { return {choice().lists.data(), choice().count}; }

}  // namespace stepscope::chrome_json
