// The bits of Knowledge are set once and never change: strings of a finished trace do not.
#include "export/trace_strings.h"

#include "export/json_text.h"

namespace stepscope {

template <class Test>
bool TraceStrings::is(StringId id, std::uint8_t known, std::uint8_t yes, Test test) {
  std::uint8_t& bits = known_[id.value];
  if ((bits & known) == 0) bits |= static_cast<std::uint8_t>(known | (test(strings_.view(id)) ? yes : 0U));
  return (bits & yes) != 0;
}

void TraceStrings::put_quoted(StringId id) {
  if (is(id, kPlainKnown, kPlain, is_plain_json_text)) {
    out_.put('"');
    out_.put(strings_.view(id));
    out_.put('"');
    return;
  }
  scratch_.clear();
  append_json_string(strings_.view(id), scratch_);
  out_.put(scratch_);
}

void TraceStrings::put_key(StringId id) {
  if (!is(id, kIntegerKnown, kInteger, is_json_integer)) return put_quoted(id);
  out_.put(strings_.view(id));
}

void TraceStrings::put_json(StringId id) {
  if (!is(id, kJsonKnown, kJson, [](std::string_view text) { return text.starts_with('[') && is_json_value(text); }))
    return put_quoted(id);
  out_.put(strings_.view(id));
}

}  // namespace stepscope
