// The layout of PyTorch's trace files: how one event stands there, down to its line breaks.
//
// The layout is libkineto's (output_json.cpp), because tools have learned it: our own importer, editors' folding, greps
// in people's scripts. What goes where is in chrome_parts.h.
#pragma once

#include <string>

#include "export/text_buffer.h"
#include "export/trace_strings.h"
#include "trace/trace.h"

namespace stepscope {

// Everything that the parts of a document share.
struct ChromeText {
  ChromeText(const Trace& from, TextBuffer& to) : trace(from), out(to), strings(from.strings, to) {}

  const Trace& trace;
  TextBuffer& out;
  TraceStrings strings;
  bool has_events = false;

  void begin_event() {
    if (has_events)
      out.put(",\n  {\n    ");
    else
      out.put("\n  {\n    ");
    has_events = true;
  }
  void end_event() { out.put("\n  }"); }

  // `"ph": "X", "cat": "kernel", "name": "...", "pid": 0, "tid": 7,` and the times. `category` is JSON text; `place` is
  // place_text().
  void put_complete(std::string_view category, StringId name, std::string_view place, TimeNs start_ns, TimeNs end_ns);
  void put_place(StringId process_key, StringId thread_key);
};

// `"pid": 0, "tid": 7`, made once for the events of a row.
[[nodiscard]] std::string place_text(std::string_view process_key, std::string_view thread_key);
// A pid or tid as TraceStrings::put_key writes it.
[[nodiscard]] std::string key_text(std::string_view key);

// The arguments of an event: opened by the first, so that an event without any has no `args`.
class ChromeArgs {
 public:
  explicit ChromeArgs(TextBuffer& out) : out_(out) {}
  // `key` is `"External id": `: JSON text with its colon.
  template <std::size_t kSize>
  TextBuffer& key(const char (&key)[kSize]) {
    if (is_open_)
      out_.put(", ");
    else
      out_.put(",\n    \"args\": {\n      ");
    is_open_ = true;
    out_.put(key);
    return out_;
  }
  template <std::size_t kSize>
  void put(const char (&key)[kSize], MaybeInt number) {
    if (number.has_value()) this->key(key).put_integer(number.value());
  }
  void close() {
    if (is_open_) out_.put("\n    }");
  }

 private:
  TextBuffer& out_;
  bool is_open_ = false;
};

}  // namespace stepscope
