// Restoring strings, and finding the way back into the list of events.
//
// A string value ends at a quote behind which the event goes on in the way its writer goes on: `, "pid":` behind a
// name, any known key or a closing bracket elsewhere. When no such quote stands before the next event, the
// event is dropped.
#include "import/chrome_json/careful_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace stepscope::chrome_json {
namespace {

// Names are under a kilobyte; restoring looks no further than this, and at no more quotes and braces than that, so that
// a file of nothing but damage costs linear time.
constexpr std::ptrdiff_t kLongestRestored = 1 << 20;
constexpr int kMostPlaces = 64;
constexpr std::ptrdiff_t kLongestKey = 64;
constexpr std::ptrdiff_t kLongestJunk = 80;

// `at` stands behind a quote. Does `, "key":` follow, and is the key one that `known` accepts?
template <class Known>
bool key_follows(const char* at, const char* end, bool& met_end, Known&& known) {
  at = skip_space(at);
  const bool has_comma = *at == ',';
  if (has_comma) at = skip_space(at + 1);
  if (has_comma && *at == '"') {
    const char* const key = at + 1;
    const char* const limit = std::min(end, at + kLongestKey);
    at = std::find(key, limit, '"');
    if (at < limit) {
      const std::string_view found(key, static_cast<std::size_t>(at - key));
      at = skip_space(at + 1);
      if (*at == ':') return known(found);
    }
  }
  met_end |= at >= end;  // the byte that decided
  return false;
}

bool is_event_key(std::string_view key) {
  return field_of(key) != Field::kCount || key == "s" || key == "bp" || key == "tts" || key == "cname";
}

// Behind the last member of an object: `}` and then something that can follow an object.
bool object_closes(const char* at, const char* end, bool& met_end) {
  at = skip_space(at);
  const bool closes = *at == '}';
  if (closes) at = skip_space(at + 1);
  met_end |= at >= end;
  return closes && (at >= end || *at == ',' || *at == '}' || *at == ']');
}

class CarefulReader {
 public:
  CarefulReader(const char* end, TextEnd text_end, Event& event, Remarks& remarks)
      : end_(end), text_end_(text_end), event_(event), remarks_(remarks) {}

  // The place behind the event, or nullptr. Neither counts if the end was met and the file goes on.
  const char* read(const char* at) {
    event_.clear();
    event_.begin = at;
    limit_ = nullptr;
    event_.end = read_members(at, true);
    return event_.end;
  }
  std::uint32_t restored_strings() const { return restored_; }

 private:
  // Where the next event or document starts; strings do not reach that far. Looked for once, when needed.
  const char* limit() {
    if (limit_ == nullptr) limit_ = next_event(event_.begin + 1);
    return limit_;
  }

  const char* next_event(const char* at) {
    const bool is_long = end_ - at >= kLongestRestored;
    const char* const limit = is_long ? at + kLongestRestored : end_;
    for (int places = 0; at < limit && places < kMostPlaces; ++at, ++places) {
      at = static_cast<const char*>(std::memchr(at, '{', static_cast<std::size_t>(limit - at)));
      if (at == nullptr) {
        if (!is_long && text_end_ == TextEnd::kAnywhere) remarks_.met_end = true;
        return limit;
      }
      if (starts_event_surely(at, end_, remarks_.met_end) || starts_document(at, end_, remarks_.met_end) ||
          is_next_event(at)) {
        return at;
      }
    }
    return std::min(at, limit);
  }

  // `}, {"name":` and the like.
  bool is_next_event(const char* at) {
    const char* before = at;
    while (before > event_.begin && is_space(before[-1])) --before;
    if (before == event_.begin || before[-1] != ',') return false;
    --before;
    while (before > event_.begin && is_space(before[-1])) --before;
    return before > event_.begin && before[-1] == '}' && starts_event_perhaps(at, end_, remarks_.met_end);
  }

  const char* read_members(const char* at, bool is_event) {
    at = skip_space(at + 1);
    while (at < end_) {
      if (*at == '}') return at + 1;
      std::string_view key;
      at = read_key(at, end_, key, remarks_.met_end);
      if (at == nullptr) return nullptr;
      if (at >= end_) break;
      at = is_event ? read_field(key, at) : read_arg(key, at);
      if (at == nullptr) return nullptr;
      at = skip_space(at);
      if (*at == ',')
        at = skip_space(at + 1);
      else if (*at != '}' && at < end_)
        return nullptr;
    }
    remarks_.met_end = true;
    return nullptr;
  }

  const char* read_field(std::string_view key, const char* at) {
    const Field field = field_of(key);
    if (field != Field::kCount && event_.fields.has(field)) return nullptr;  // pieces of two events
    Token& token = event_.fields.slot(field);
    if (field != Field::kArgs || *at != '{') return read_value(key, at, true, token);
    const char* const behind = read_members(at, false);
    token = {at, static_cast<std::uint32_t>(behind - at), TokenKind::kContainer};
    return behind;
  }

  const char* read_arg(std::string_view key, const char* at) {
    return read_value(key, at, false, event_.args.slot(arg_of(key)));
  }

  const char* read_value(std::string_view key, const char* at, bool is_event, Token& token) {
    const char* const behind = chrome_json::read_value(at, end_, token, remarks_);
    if (*at != '"') return behind != nullptr ? behind : skip_junk(at, is_event, token);
    if (behind != nullptr && goes_on(behind, is_event)) {
      const bool may_reach_too_far = token.text().find('{') != std::string_view::npos;
      if (!may_reach_too_far || behind <= limit()) return behind;
    }
    return restore(key, at, is_event, token);
  }

  bool goes_on(const char* behind, bool is_event) {
    return object_closes(behind, end_, remarks_.met_end) ||
           key_follows(behind, end_, remarks_.met_end,
                       [&](std::string_view key) { return !is_event || is_event_key(key); });
  }

  // An unquoted value that is no JSON, like <object at 0x7f12>: no value, if the event goes on behind it.
  const char* skip_junk(const char* at, bool is_event, Token& token) {
    const char* const begin = at;
    const char* const limit = std::min(end_, at + kLongestJunk);
    while (at < limit && std::string_view("\"{}[],").find(*at) == std::string_view::npos && *at != '\n') ++at;
    remarks_.met_end |= at >= end_;
    if (at == begin || at == limit || !goes_on(at, is_event)) return nullptr;
    token = {begin, static_cast<std::uint32_t>(at - begin), TokenKind::kNoValue};
    if (remarks_.bare_values++ == 0) remarks_.first_bare_value = begin;
    return at;
  }

  // Every byte of a restored string stands for itself, backslashes too: its writer escaped nothing.
  const char* restore(std::string_view key, const char* at, bool is_event, Token& token) {
    const char* close = nullptr;
    if (is_event && key == "name") {
      close = find_close(at + 1, [&](const char* behind) {
        return key_follows(behind, end_, remarks_.met_end, [](std::string_view next) { return next == "pid"; });
      });
    }
    if (close == nullptr) close = find_close(at + 1, [&](const char* behind) { return goes_on(behind, is_event); });
    if (close == nullptr) return nullptr;
    token = {at + 1, static_cast<std::uint32_t>(close - at - 1), TokenKind::kLiteralString};
    ++restored_;
    return close + 1;
  }

  template <class Fits>
  const char* find_close(const char* at, Fits&& fits) {
    const char* const last = limit();
    for (int places = 0; at < last && places < kMostPlaces; ++at, ++places) {
      at = static_cast<const char*>(std::memchr(at, '"', static_cast<std::size_t>(last - at)));
      if (at == nullptr) return nullptr;
      if (fits(at + 1)) return at;
    }
    return nullptr;
  }

  const char* end_;
  TextEnd text_end_;
  const char* limit_ = nullptr;
  Event& event_;
  Remarks& remarks_;
  std::uint32_t restored_ = 0;
};

// `], "key":` closes the list if the key is one that stands beside it.
bool closes_list(const char* at, const char* end, TextEnd text_end, bool& met_end) {
  const char* const next = skip_space(at + 1);
  if (*next != '}') return key_follows(at + 1, end, met_end, is_document_key);
  if (skip_space(next + 1) < end) return false;
  met_end = true;
  return text_end == TextEnd::kFile;
}

// An event may start at `at`, a `{`, if that does not open the value of a key.
bool is_way_back(const char* at, const char* begin, const char* end, bool& met_end) {
  if (!starts_event_perhaps(at, end, met_end)) return false;
  const char* before = at;
  bool new_line = false;
  while (before > begin && is_space(before[-1])) new_line |= *--before == '\n';
  const char last = before > begin ? before[-1] : ',';
  if (last == ':') return false;
  return last == ',' || last == '}' || last == '[' || new_line || starts_event_surely(at, end, met_end);
}

// One wrong byte may hide one key. Two keys missing or one twice means that the text jumps from one event into another.
// A stretch of zeros is a hole, not another writer.
bool is_pieces(const char* begin, const char* end) {
  static constexpr std::array<std::string_view, 4> kKeys = {"\"ph\":", "\"pid\":", "\"tid\":", "\"ts\":"};
  const std::string_view text(begin, static_cast<std::size_t>(std::min(end - begin, kLongestRestored)));
  if (text.find('\0') != std::string_view::npos) return false;
  int missing = 0;
  for (const std::string_view key : kKeys) {
    const std::size_t first = text.find(key);
    if (first == std::string_view::npos)
      ++missing;
    else if (text.find(key, first + 1) != std::string_view::npos)
      return true;
  }
  return missing >= 2;
}

// The brackets of the event at `at`.
struct Nesting {
  const char* too_deep = nullptr;  // the first below kDeepestNesting
  const char* behind = nullptr;    // the place behind the last one; nullptr: not found
};

Nesting measure_nesting(const char* at, const char* end, bool& met_end) {
  Nesting found;
  const bool is_long = end - at > kLongestContainer;
  const char* const limit = is_long ? at + kLongestContainer : end;
  std::size_t depth = 0;
  for (; at < limit; ++at) {
    if (*at == '"') {
      bool has_backslash = false;
      at = find_string_end(at + 1, limit, has_backslash);
      if (at == nullptr) break;
    } else if (*at == '{' || *at == '[') {
      if (depth > 0 && starts_event_surely(at, end, met_end)) return found;
      if (++depth > kDeepestNesting && found.too_deep == nullptr) found.too_deep = at;
    } else if ((*at == '}' || *at == ']') && --depth == 0) {
      found.behind = at + 1;
      return found;
    }
  }
  met_end |= !is_long;
  return found;
}

CarefulResult document_at(const char* at) {
  CarefulResult result{Reading::kDropped, at};
  result.starts_document = true;
  return result;
}

}  // namespace

CarefulResult skip_damage(const char* from, const char* end, TextEnd text_end) {
  bool met_end = false;
  for (const char* at = from; at < end; ++at) {
    if (*at == '{' && starts_document(at, end, met_end)) return document_at(at);
    if (*at == '{' && is_way_back(at, from, end, met_end)) return {Reading::kDropped, at};
    if (*at == ']' && closes_list(at, end, text_end, met_end)) return {Reading::kDropped, at};
    if (met_end && text_end != TextEnd::kFile) return {Reading::kNeedMore, from};
  }
  // At a border the way back is what comes next.
  if (text_end == TextEnd::kAnywhere) return {Reading::kNeedMore, from};
  return {Reading::kDropped, end};
}

CarefulResult read_event_carefully(const char* at, const char* end, TextEnd text_end, Event& event, Remarks& remarks) {
  const bool is_last = text_end == TextEnd::kFile;
  const Remarks before = remarks;
  if (starts_document(at, end, remarks.met_end)) return document_at(at);
  CarefulReader reader(end, text_end, event, remarks);
  const char* const behind = reader.read(at);
  const char* const next = behind == nullptr ? nullptr : skip_space(behind);
  if (!is_last && (remarks.met_end || (next != nullptr && next >= end))) {
    remarks = before;
    return {Reading::kNeedMore, at};
  }
  if (next != nullptr && (next >= end || *next == ',' || *next == ']' || *next == '{')) {
    remarks.met_end = before.met_end;
    return {Reading::kRead, behind, reader.restored_strings()};
  }
  remarks = before;
  bool met_end = false;
  const Nesting nesting = measure_nesting(at, end, met_end);
  if (nesting.too_deep != nullptr && met_end && !is_last) return {Reading::kNeedMore, at};
  const bool is_whole = nesting.too_deep != nullptr && nesting.behind != nullptr;
  CarefulResult result =
      is_whole ? CarefulResult{Reading::kDropped, nesting.behind} : skip_damage(at + 1, end, text_end);
  if (result.reading == Reading::kNeedMore) return {Reading::kNeedMore, at};
  if (is_whole) {
    result.too_deep = nesting.too_deep;
    return result;
  }
  result.is_cut = is_last && result.resume >= end;
  result.is_pieces = !result.is_cut && !result.starts_document && is_pieces(at, result.resume);
  return result;
}

bool read_event_again(const char* at, const char* end, Event& event, Remarks& remarks) {
  if (read_event(at, end, event, remarks) != nullptr) return true;
  return read_event_carefully(at, end, TextEnd::kFile, event, remarks).reading == Reading::kRead;
}

}  // namespace stepscope::chrome_json
