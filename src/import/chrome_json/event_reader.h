// The fast reader: one event in sound JSON, in one pass over its bytes.
//
// Most events take a short cut (learned_reader.h) whose answers are this reader's; damaged ones go to the careful
// reader, which shares its steps. simdjson asked for the same tokens lies between this and the short cut in speed
// (docs/decisions/import-json.md), and refuses damaged text whole.
#pragma once

#include "import/chrome_json/scan.h"
#include "import/chrome_json/tokens.h"

namespace stepscope::chrome_json {

// Things met on the way that cost nothing but are worth a note.
struct Remarks {
  std::uint64_t bare_values = 0;  // inf, nan, N/A
  const char* first_bare_value = nullptr;
  std::uint64_t big_integers = 0;  // over 64 bits
  const char* first_big_integer = nullptr;
  bool met_end = false;  // something was refused that more text might have made whole
};

// `at` stands at `{`. Returns the place behind the matching `}`, or nullptr if anything at all is unusual, the text
// ending first included.
[[nodiscard]] const char* read_event(const char* at, const char* end, Event& event, Remarks& remarks);

// Reads an event again that one of the readers read before.
[[nodiscard]] bool read_event_again(const char* at, const char* end, Event& event, Remarks& remarks);

// Lists and objects inside events are a few kilobytes (shapes, ranks of a group). One that does not end within this has
// lost its bracket, and reading on for it would go through all events that follow.
inline constexpr std::ptrdiff_t kLongestContainer = 1 << 20;

// One value of any kind; nullptr as above, and for a container over kLongestContainer.
[[nodiscard]] const char* read_value(const char* at, const char* end, Token& token, Remarks& remarks);
// A list or an object of any length up to `longest`.
[[nodiscard]] const char* read_container(const char* at, const char* end, std::ptrdiff_t longest, Token& token,
                                         Remarks& remarks);

// A key and its colon. Returns the place of the value, or nullptr.
inline const char* read_key(const char* at, const char* end, std::string_view& key, bool& met_end) {
  const char* close = nullptr;
  if (*at == '"') {
    bool has_backslash = false;
    close = find_string_end(at + 1, end, has_backslash);
    if (close != nullptr) {
      key = std::string_view(at + 1, static_cast<std::size_t>(close - at - 1));
      at = skip_space(close + 1);
      if (*at == ':') return skip_space(at + 1);
    } else {
      at = end;
    }
  }
  met_end |= at >= end;
  return nullptr;
}

// A value inside a container whose end is known: it may be as long as that.
inline const char* read_inner_value(const char* at, const char* end, Token& token, Remarks& remarks) {
  if (*at == '[' || *at == '{') return read_container(at, end, end - at, token, remarks);
  return read_value(at, end, token, remarks);
}

// Calls visit(key, value) for each member of a sound object's text "{...}"; stops early at damage, and does nothing for
// any other text. Whether all of it was sound.
template <class Visit>
bool for_each_member(std::string_view object, Visit&& visit) {
  if (object.size() < 2 || object[0] != '{') return false;
  const char* at = object.data();
  const char* const end = at + object.size();
  Remarks ignored;
  at = skip_space(at + 1);
  while (at < end && *at == '"') {
    std::string_view key;
    Token value;
    at = read_key(at, end, key, ignored.met_end);
    if (at == nullptr) return false;
    at = read_inner_value(at, end, value, ignored);
    if (at == nullptr) return false;
    visit(key, value);
    at = skip_space(at);
    if (*at != ',') break;
    at = skip_space(at + 1);
  }
  return at + 1 == end && *at == '}';
}

// Calls visit(value) for each element of a sound list's text "[...]"; likewise.
template <class Visit>
bool for_each_element(std::string_view list, Visit&& visit) {
  if (list.size() < 2 || list[0] != '[') return false;
  const char* at = list.data();
  const char* const end = at + list.size();
  Remarks ignored;
  at = skip_space(at + 1);
  while (at < end && *at != ']') {
    Token value;
    at = read_inner_value(at, end, value, ignored);
    if (at == nullptr) return false;
    visit(value);
    at = skip_space(at);
    if (*at != ',') break;
    at = skip_space(at + 1);
  }
  return at + 1 == end && *at == ']';
}

}  // namespace stepscope::chrome_json
