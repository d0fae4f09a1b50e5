// The parts of an event that every category shares.
#include "export/chrome_text.h"

#include "export/json_text.h"

namespace stepscope {

void ChromeText::put_complete(std::string_view category, StringId name, std::string_view place, TimeNs start_ns,
                              TimeNs end_ns) {
  out.put("\"ph\": \"X\", \"cat\": ");
  out.put(category);
  out.put(", \"name\": ");
  strings.put_quoted(name);
  out.put(", ");
  out.put(place);
  out.put(",\n    \"ts\": ");
  out.put_microseconds(start_ns);
  out.put(", \"dur\": ");
  out.put_microseconds(end_ns - start_ns);
}

void ChromeText::put_place(StringId process_key, StringId thread_key) {
  out.put("\"pid\": ");
  strings.put_key(process_key);
  out.put(", \"tid\": ");
  strings.put_key(thread_key);
}

std::string key_text(std::string_view key) {
  std::string text;
  if (is_json_integer(key))
    text = key;
  else
    append_json_string(key, text);
  return text;
}

std::string place_text(std::string_view process_key, std::string_view thread_key) {
  return "\"pid\": " + key_text(process_key) + ", \"tid\": " + key_text(thread_key);
}

}  // namespace stepscope
