// Any bytes as trace JSON, written anew: sound JSON that reads back as the same trace, and then as the same text.
//
// Broken UTF-8 becomes U+FFFD, so where the source has any, what was written is compared with itself read once more.
#include <simdjson.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "export/chrome_trace.h"
#include "export/same_trace.h"
#include "import/bytes/byte_source.h"
#include "import/chrome_json/chrome_json.h"

namespace {

using namespace stepscope;

Result<std::vector<Trace>> read(const std::string& text) {
  const auto source = bytes_of(text);
  return chrome_json::read(*source, "fuzz", {.threads = 1, .progress = {}});
}

std::string written(const Trace& trace) {
  std::string text;
  const Status status = write_chrome_trace(trace, [&](std::string_view piece) -> Status {
    text += piece;
    return Done{};
  });
  if (!status) std::abort();
  return text;
}

void expect_same(const std::string& difference, const std::string& text) {
  if (difference.empty()) return;
  std::fprintf(stderr, "%s\nin\n%s\n", difference.c_str(), text.c_str());
  std::abort();
}

void check(const Trace& trace, bool is_sound_utf8) {
  static simdjson::dom::parser parser;
  const std::string first = written(trace);
  if (parser.parse(first).error()) expect_same("no sound JSON", first);
  const auto again = read(first);
  if (!again || again->size() != 1) return expect_same("cannot be read", first);
  if (is_sound_utf8) expect_same(find_difference(trace, again->front()), first);
  const std::string second = written(again->front());
  const auto third = read(second);
  if (!third || third->size() != 1) return expect_same("cannot be read twice", second);
  expect_same(find_difference(again->front(), third->front()), second);
  if (written(third->front()) != second) expect_same("the texts differ", second);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto traces = read({reinterpret_cast<const char*>(data), size});
  if (!traces) return 0;
  const bool is_sound_utf8 = simdjson::validate_utf8(reinterpret_cast<const char*>(data), size);
  for (const Trace& trace : *traces) check(trace, is_sound_utf8);
  return 0;
}
