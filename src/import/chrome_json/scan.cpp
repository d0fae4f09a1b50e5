// Whole values and the starts of events. Containers are walked with a stack of brackets in bits, not by
// recursion, so no nesting can exhaust the program's stack.
#include "import/chrome_json/scan.h"

#include <algorithm>
#include <array>
#include <bitset>

namespace stepscope::chrome_json {
namespace {

// Behind the closing quote of a string inside a container.
bool may_follow_string(const char* at) { return ends_value(*at) || *at == ':'; }

constexpr std::ptrdiff_t kLongestKey = 32;

// The key after `{`, without its quotes; empty if there is none.
std::string_view first_key(const char* at, const char* end, bool& met_end) {
  std::string_view found;
  at = skip_space(at + 1);
  if (at < end && *at == '"') {
    const char* const key = ++at;
    while (at < end && at - key < kLongestKey && *at != '"') ++at;
    if (at < end && *at == '"') {
      found = {key, static_cast<std::size_t>(at - key)};
      at = skip_space(at + 1);
    }
  }
  if (at < end) return *at == ':' ? found : std::string_view{};
  met_end = true;
  return {};
}

}  // namespace

bool starts_event_surely(const char* at, const char* end, bool& met_end) { return first_key(at, end, met_end) == "ph"; }

bool starts_event_perhaps(const char* at, const char* end, bool& met_end) {
  static constexpr std::array<std::string_view, 9> kKeys = {"ph",  "name", "cat",  "ts", "pid",
                                                            "tid", "dur",  "args", "id"};
  const std::string_view key = first_key(at, end, met_end);
  for (const std::string_view known : kKeys) {
    if (key == known) return true;
  }
  return false;
}

bool is_document_key(std::string_view key) {
  static constexpr std::array<std::string_view, 13> kKeys = {
      "traceEvents", "schemaVersion", "deviceProperties", "displayTimeUnit",   "baseTimeNanoseconds",
      "traceName",   "trace_id",      "distributedInfo",  "systemTraceEvents", "otherData",
      "metadata",    "record_shapes", "with_stack"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

bool starts_document(const char* at, const char* end, bool& met_end) {
  return is_document_key(first_key(at, end, met_end));
}

const char* skip_container(const char* at, const char* end, bool& met_end) {
  std::bitset<kDeepestNesting> is_object;
  std::size_t depth = 0;
  char before = ':';  // the last byte that is no white space
  while (at < end) {
    const char c = *at;
    switch (c) {
      case '"': {
        bool has_backslash = false;
        at = find_string_end(at + 1, end, has_backslash);
        met_end |= at == nullptr || at + 1 >= end;
        if (at == nullptr || !may_follow_string(at + 1)) return nullptr;
        break;
      }
      case '{':
        if (depth > 0 && starts_event_surely(at, end, met_end)) return nullptr;
        if (before != ':' && before != ',' && before != '[') return nullptr;
        [[fallthrough]];
      case '[':
        if (depth == kDeepestNesting) return nullptr;
        is_object[depth++] = c == '{';
        break;
      case ']':
      case '}':
        if (is_object[--depth] != (c == '}')) return nullptr;
        if (depth == 0) return at + 1;
        break;
      default:
        break;
    }
    if (!is_space(c)) before = c;
    ++at;
  }
  met_end = true;
  return nullptr;
}

}  // namespace stepscope::chrome_json
