// Wherever text is cut, between two events, inside a string, inside damage, the same is read from it.
//
// Blocks end at what looks like a border, so samples alone cut text at few places. Here each sample, and what
// random damage makes of it, is fed in pieces cut at any byte: a step that takes the end of a piece for a reason fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "import/bytes/byte_source.h"
#include "import/chrome_json/chrome_json.h"
#include "import/chrome_json/document.h"
#include "import/chrome_json/event_reader.h"
#include "import/chrome_json/scan.h"

namespace stepscope::chrome_json {
namespace {

namespace fs = std::filesystem;

std::string summary_of(const Trace& trace) {
  std::string text;
  for (const std::size_t size :
       {trace.ops.size(), trace.spans.size(), trace.frames.size(), trace.calls.size(), trace.gpu_events.size(),
        trace.gpu_spans.size(), trace.memory_events.size(), trace.flows.size(), trace.counters.size(),
        trace.other_events.size(), trace.threads.size(), trace.streams.size()}) {
    text += std::to_string(size) + " ";
  }
  text += std::to_string(trace.info.event_count) + " " + std::to_string(trace.info.metadata_event_count) + " " +
          std::to_string(trace.info.text_bytes) + " " + trace.info.trace_name + "\n";
  for (const Note& note : trace.notes.all()) {
    text += std::string(note_kind_name(note.kind)) + "/" + std::string(note_severity_name(note.severity)) + "/" +
            std::to_string(note.count) + "@" + std::to_string(note.first_offset) + " " + note.example + "\n";
  }
  return text;
}

std::string summary_of(const Result<std::vector<Trace>>& traces) {
  if (!traces) return traces.error().to_string();
  std::string text;
  for (const Trace& trace : *traces) text += summary_of(trace) + "----\n";
  return text;
}

// Fed in pieces that end at `cuts` (ascending) and at the end of the text.
std::string read_in_pieces(const std::string& text, std::vector<std::size_t> cuts) {
  Documents documents("text");
  std::string piece;
  std::uint64_t offset = 0;
  std::size_t from = 0;
  cuts.push_back(text.size());
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    piece.append(text, from, cuts[i] - from);
    from = cuts[i];
    const std::size_t size = piece.size();
    piece.append(kTextPadding, '\0');
    const TextEnd text_end = i + 1 == cuts.size() ? TextEnd::kFile : TextEnd::kAnywhere;
    const std::size_t done = documents.feed({piece.data(), size}, offset, text_end);
    piece.resize(size);
    piece.erase(0, done);
    offset += done;
  }
  return summary_of(documents.finish(text.size(), 1));
}

std::string read_in_blocks_of(const std::string& text, std::size_t block_bytes) {
  const auto source = bytes_of(text);
  return summary_of(read_in_blocks(*source, "text", {.threads = 1, .progress = {}}, block_bytes));
}

std::vector<std::string> samples() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(STEPSCOPE_TESTS_DIR "/data/cases")) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const fs::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return texts;
}

class Damager {
 public:
  explicit Damager(const std::vector<std::string>& samples) : samples_(samples) {}

  // A short stretch of a sample with pieces of others, holes and wrong bytes in it.
  std::string next() {
    std::string text = piece(2000);
    for (std::size_t left = 1 + below(6); left > 0; --left) {
      const std::size_t at = below(text.size() + 1);
      switch (below(4)) {
        case 0:
          text.insert(at, piece(300));
          break;
        case 1:
          text.erase(at, below(60));
          break;
        case 2:
          text.insert(at, kTokens[below(std::size(kTokens))]);
          break;
        default:
          text.insert(at, 1, "\"\\{}[],: \n"[below(10)]);
      }
    }
    return text;
  }

  std::size_t below(std::size_t count) { return count == 0 ? 0 : random_() % count; }

 private:
  static constexpr std::string_view kTokens[] = {"{\"ph\": \"X\", ",
                                                 "}, {\"id\": 1}, ",
                                                 "}}, {\"name\": \"a\", ",
                                                 "\"traceEvents\": [",
                                                 "]}",
                                                 "], \"traceName\": ",
                                                 "{\"schemaVersion\": 1, ",
                                                 "\"args\": {\"x\": [",
                                                 ", \"pid\": 7, ",
                                                 "},\n  {\"pid\": \"\"",
                                                 "nan",
                                                 "12345678901234567890123",
                                                 "\"cat\": \"},\n  ",
                                                 "[]",
                                                 "{}",
                                                 "\"name\": \"{\", ",
                                                 "\xef\xbb\xbf  [\n{"};

  std::string piece(std::size_t longest) {
    const std::string& sample = samples_[below(samples_.size())];
    const std::size_t from = below(3) == 0 ? 0 : below(sample.size());
    return sample.substr(from, below(longest));
  }

  const std::vector<std::string>& samples_;
  std::mt19937 random_{5};
};

// Text that was read otherwise when a block ended in it.
TEST(Cuts, AtWhatLooksLikeABorder) {
  const std::string tail = R"( "pid": 1, "tid": 1, "ts": 5, "dur": 1},
    {"ph": "X", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 1, "ts": 7, "dur": 1}], "traceName": "t"})";
  for (const std::string& text : {
           // in a string, behind which the event goes on
           R"({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "}, {\"id\": }, {"id": "",)" + tail,
           R"({"traceEvents": [{"ph": "X", "cat": "},
    {"ph": "i", "name": "a", "cat": "cpu_op", )" +
               tail,
           // in a list of arguments
           R"({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "args": {"x": [{"id": 1}, {"id": 2}]},)" +
               tail,
           // in a string behind such a list
           R"({"traceEvents": [{"ph": "X", "args": {"x": [{"id": 1}, {"id": 2}]}, "cat": "cpu_op", "name": "f{x}",)" +
               tail,
           // between values beside the list of events
           R"({"a": {}, {"id": "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a",)" + tail,
           R"("": {}, {"id":"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a",)" + tail,
           // in lists that nest too deeply
           R"({"traceEvents": [{"ph": "X", "args": {"x": )" + std::string(300, '[') + std::string(300, ']') + "}," +
               tail,
       }) {
    const std::string whole = read_in_pieces(text, {});
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
      ASSERT_EQ(read_in_pieces(text, {cut}), whole) << "cut at " << cut << " of\n" << text;
    }
    for (std::size_t block_bytes = 1; block_bytes <= text.size(); ++block_bytes) {
      ASSERT_EQ(read_in_blocks_of(text, block_bytes), whole) << "blocks of " << block_bytes << " of\n" << text;
    }
  }
}

// A list that lost its bracket costs its event, whether what follows is a block or a hundred.
TEST(Cuts, InAListThatDoesNotEnd) {
  std::string text = R"([{"name": "a", "ph": "X", "cat": "cpu_op", "args": {"Input Dims": [[1, 2, )";
  const std::string sound = R"({"name": "b", "ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 7, "dur": 1})";
  std::uint64_t count = 0;
  for (; text.size() < 3 << 20; ++count) text += sound + ",\n";
  text += sound + "]";
  const std::string whole = read_in_pieces(text, {});
  EXPECT_TRUE(whole.starts_with(std::to_string(count + 1) + " ")) << whole;
  for (const std::size_t block_bytes : {1U << 16, 1U << 20, 8U << 20}) {
    EXPECT_EQ(read_in_blocks_of(text, block_bytes), whole) << "blocks of " << block_bytes;
  }
}

TEST(Cuts, AContainerOfAMegabyteHasLostItsBracket) {
  for (const std::ptrdiff_t size : {kLongestContainer - 1, kLongestContainer}) {
    std::string text = "[";
    text.resize(static_cast<std::size_t>(size), ' ');
    text.append(kTextPadding, '\0');
    Token token;
    Remarks remarks;
    EXPECT_EQ(read_value(text.data(), text.data() + size, token, remarks), nullptr);
    EXPECT_EQ(remarks.met_end, size < kLongestContainer) << "only the shorter one may still end";
  }
}

// The last block is full and holds no border: only then it does not know that it is the last.
TEST(Cuts, AtTheEndOfAFullBlock) {
  std::string text = R"([{"ph": "X", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 1, "ts": 7, "dur": 1} {"name": ")";
  text.resize(4 << 20, 'x');
  EXPECT_NE(read_in_blocks_of(text, text.size() / 2).find("file_cut/lost/1"), std::string::npos);
}

TEST(Cuts, SamplesCutAnywhere) {
  for (const std::string& text : samples()) {
    const std::string whole = read_in_pieces(text, {});
    EXPECT_EQ(read_in_blocks_of(text, 1 << 20), whole);
    const std::size_t stride = text.size() / 120 + 1;
    for (std::size_t cut = 0; cut < text.size(); cut += stride) {
      ASSERT_EQ(read_in_pieces(text, {cut}), whole) << "cut at " << cut << " of\n" << text;
    }
  }
}

TEST(Cuts, DamagedTextCutAnywhere) {
  const std::vector<std::string> sound = samples();
  Damager damager(sound);
  for (int round = 0; round < 1500; ++round) {
    const std::string text = damager.next();
    const std::string whole = read_in_pieces(text, {});
    for (int i = 0; i < 8; ++i) {
      std::vector<std::size_t> cuts = {damager.below(text.size() + 1), damager.below(text.size() + 1)};
      std::sort(cuts.begin(), cuts.end());
      ASSERT_EQ(read_in_pieces(text, cuts), whole) << "cut at " << cuts[0] << " and " << cuts[1] << " of\n" << text;
    }
    for (const std::size_t block_bytes : {1UL, 1 + text.size() / 3}) {
      ASSERT_EQ(read_in_blocks_of(text, block_bytes), whole) << "blocks of " << block_bytes << " of\n" << text;
    }
  }
}

}  // namespace
}  // namespace stepscope::chrome_json
