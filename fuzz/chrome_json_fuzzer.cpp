// Any bytes as trace JSON: no crash, no hang, no blown memory, and the same events however the text is cut: into blocks
// of another size, or in two at any byte.
#include <cstdlib>
#include <functional>
#include <string>

#include "import/bytes/byte_source.h"
#include "import/chrome_json/chrome_json.h"
#include "import/chrome_json/document.h"
#include "import/chrome_json/scan.h"

namespace {

using namespace stepscope;

// What came of it, in numbers.
std::string summary_of(const Result<std::vector<Trace>>& traces) {
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

std::string read(const std::string& text, std::size_t block_bytes) {
  const auto source = bytes_of(text);
  return summary_of(chrome_json::read_in_blocks(*source, "fuzz", {.threads = 1, .progress = {}}, block_bytes));
}

std::string read_in_two(const std::string& text, std::size_t cut) {
  chrome_json::Documents documents("fuzz");
  const std::string padding(chrome_json::kTextPadding, '\0');
  const std::string first = text.substr(0, cut) + padding;
  const std::size_t done = documents.feed({first.data(), cut}, 0, chrome_json::TextEnd::kAnywhere);
  const std::string rest = text.substr(done) + padding;
  documents.feed({rest.data(), text.size() - done}, done, chrome_json::TextEnd::kFile);
  return summary_of(documents.finish(text.size(), 1));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string whole = read(text, 1 << 14);
  if (read(text, 1 + size / 3) != whole) std::abort();
  if (read_in_two(text, std::hash<std::string>()(text) % (size + 1)) != whole) std::abort();
  return 0;
}
