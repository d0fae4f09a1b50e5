// Any bytes as trace JSON: no crash, no hang, no blown memory, and the same events however the text is cut into blocks.
#include <cstdlib>
#include <string>

#include "import/bytes/byte_source.h"
#include "import/chrome_json/chrome_json.h"

namespace {

using namespace stepscope;

// What came of it, in numbers.
std::string read(const std::string& text, std::size_t block_bytes) {
  const auto source = bytes_of(text);
  const auto traces = chrome_json::read_in_blocks(*source, "fuzz", {.threads = 1, .progress = {}}, block_bytes);
  if (!traces) return traces.error().message;
  std::string summary;
  for (const Trace& trace : *traces) {
    summary += std::to_string(trace.info.event_count) + " " + std::to_string(trace.info.metadata_event_count) + ":";
    for (const Note& note : trace.notes.all()) {
      summary += std::string(note_kind_name(note.kind)) + std::to_string(note.count) + "@" +
                 std::to_string(note.first_offset) + " ";
    }
  }
  return summary;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (read(text, 1 << 14) != read(text, 1 + size / 3)) std::abort();
  return 0;
}
