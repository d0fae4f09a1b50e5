// The smallest steps through JSON text: white space, strings, numbers, whole values.
//
// All of them work on text with kTextPadding readable bytes behind its end, so that 16 bytes can be loaded at
// any place. They never judge more than they must: a step that meets anything unexpected returns nullptr, and
// the careful reader (careful_reader.h) takes over for that event.
//
// Text comes in blocks, and what is read must not depend on where they end. So a "no" is an answer only if all that
// was looked at stands before the end of the text; else the step sets `met_end`, and whoever asked waits for more text
// unless the file ends there. A "yes" never needs that: its reasons were all seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace stepscope::chrome_json {

inline constexpr std::size_t kTextPadding = 64;
// PyTorch nests 4 deep (Input Dims). Deeper than this is an attack or garbage.
inline constexpr std::size_t kDeepestNesting = 256;

// What is known of the place where a text ends.
enum class TextEnd : std::uint8_t {
  kAnywhere,  // more follows
  kBorder,    // what follows starts as an event does, and `},` stands before it (block.h)
  kFile,      // nothing follows
};

inline bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// The first byte that is no white space. Stops at the padding, which is zero.
inline const char* skip_space(const char* at) {
  while (is_space(*at)) ++at;
  return at;
}

// The first quote or backslash at or after `at`, or a place at or behind `end`.
inline const char* find_quote_or_backslash(const char* at, const char* end) {
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  for (; at < end; at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i hits = _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash));
    const unsigned mask = static_cast<unsigned>(_mm_movemask_epi8(hits));
    if (mask != 0) return at + __builtin_ctz(mask);
  }
  return end;
#else
  while (at < end && *at != '"' && *at != '\\') ++at;
  return at;
#endif
}

// `at` stands behind an opening quote. Returns the closing one, or nullptr if the text ends first.
inline const char* find_string_end(const char* at, const char* end, bool& has_backslash) {
  has_backslash = false;
  for (;;) {
    at = find_quote_or_backslash(at, end);
    if (at >= end) return nullptr;
    if (*at == '"') return at;
    has_backslash = true;
    at += 2;
  }
}

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_number_char(char c) { return is_digit(c) || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E'; }
// What may stand behind a value.
inline bool ends_value(char c) { return c == ',' || c == '}' || c == ']' || is_space(c); }

// The first byte at or after `at` that may stand behind a value: a comma, a bracket or brace that closes, white space
// or another control character. Stops at the padding.
inline const char* find_value_end(const char* at) {
#if defined(__SSE2__)
  for (;; at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(' ')), bytes);  // <= ' '
    const __m128i comma = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(','));
    // ']' is 0x5d and '}' 0x7d
    const __m128i closing = _mm_cmpeq_epi8(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), _mm_set1_epi8('}'));
    const unsigned mask = static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(low, _mm_or_si128(comma, closing))));
    if (mask != 0) return at + __builtin_ctz(mask);
  }
#else
  while (static_cast<unsigned char>(*at) > ' ' && *at != ',' && *at != ']' && *at != '}') ++at;
  return at;
#endif
}

// `at` stands at `[` or `{`. Returns the place behind the matching bracket, or nullptr if the text ends first, the
// brackets do not match, they nest too deeply, or an event seems to start inside.
const char* skip_container(const char* at, const char* end, bool& met_end);

// Does an event plainly start at `at`, which stands at `{`? That is `{"ph":`, with white space allowed.
bool starts_event_surely(const char* at, const char* end, bool& met_end);
// Does a whole document: `{"schemaVersion":` or another key that stands beside the list of events.
bool starts_document(const char* at, const char* end, bool& met_end);
bool is_document_key(std::string_view key);
// Might an event: `{"` and one of the keys of an event.
bool starts_event_perhaps(const char* at, const char* end, bool& met_end);

}  // namespace stepscope::chrome_json
