// What every importer promises, for every sample: the same trace under a wrong name, compressed or not, with one
// thread or many, however its text is cut into blocks; and no prefix of a file is too much for it.
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "import/bytes/byte_source.h"
#include "import/chrome_json/chrome_json.h"
#include "import/importers.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

class Describer {
 public:
  explicit Describer(const Trace& trace) : trace_(trace) {}

  std::string describe() {
    table("processes", trace_.processes);
    table("threads", trace_.threads);
    table("devices", trace_.devices);
    table("streams", trace_.streams);
    table("ops", trace_.ops);
    table("spans", trace_.spans);
    table("frames", trace_.frames);
    table("calls", trace_.calls);
    table("gpu_events", trace_.gpu_events);
    table("collectives", trace_.collectives);
    table("gpu_spans", trace_.gpu_spans);
    table("memory_events", trace_.memory_events);
    table("flows", trace_.flows);
    table("counters", trace_.counters);
    table("other_events", trace_.other_events);
    for (const Note& note : trace_.notes.all()) {
      out_ << note_kind_name(note.kind) << ' ' << note_severity_name(note.severity) << ' ' << note.count << ' '
           << note.first_offset << ' ' << note.example << '\n';
    }
    const TraceInfo& info = trace_.info;
    out_ << info.text_bytes << ' ' << info.event_count << ' ' << info.metadata_event_count << ' ' << info.base_ns << ' '
         << info.rank.value_or(-1) << ' ' << info.trace_name << '\n';
    return out_.str();
  }

 private:
  template <class Table>
  void table(const char* name, const Table& rows) {
    rows.for_each_column([&](std::string_view column, std::string_view, const auto& cells) {
      out_ << name << '.' << column << ':';
      for (const auto& cell : cells.raw()) {
        out_ << ' ';
        write(cell);
      }
      out_ << '\n';
    });
  }
  void write(StringId id) { out_ << trace_.text(id); }
  void write(MaybeInt number) { out_ << number.raw; }
  template <class Tag>
  void write(Id<Tag> id) {
    out_ << id.value;
  }
  template <class T>
  void write(T value)
    requires(std::is_arithmetic_v<T>)
  {
    out_ << +value;
  }
  template <class T>
  void write(T value)
    requires(std::is_enum_v<T>)
  {
    out_ << static_cast<int>(value);
  }

  const Trace& trace_;
  std::ostringstream out_;
};

std::string describe(const Result<std::vector<Trace>>& traces) {
  if (!traces) return traces.error().message;
  std::string text;
  for (const Trace& trace : *traces) text += Describer(trace).describe() + "----\n";
  return text;
}

std::string text_of(const fs::path& path) {
  Result<std::unique_ptr<ByteSource>> source = open_bytes(path.string(), false);
  std::string text;
  std::string window(1 << 16, '\0');
  while (source.has_value()) {
    Result<std::size_t> got = (*source)->read(window.data(), window.size());
    if (!got || *got == 0) break;
    text.append(window, 0, *got);
  }
  return text;
}

Result<std::vector<Trace>> read_text(std::string text, std::size_t block_bytes, unsigned threads = 1) {
  const std::unique_ptr<ByteSource> source = bytes_of(std::move(text));
  return chrome_json::read_in_blocks(*source, "text", {.threads = threads, .progress = {}}, block_bytes);
}

std::vector<fs::path> samples() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(STEPSCOPE_TESTS_DIR "/data/cases")) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("A") || name.starts_with("B")) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// A file of this process alone: the tests run side by side.
fs::path own_file(const std::string& name) {
  return fs::path(testing::TempDir()) / ("stepscope_" + std::to_string(::getpid()) + "_" + name);
}

class Contract : public testing::TestWithParam<fs::path> {};

TEST_P(Contract, BlocksDoNotMatter) {
  const std::string text = text_of(GetParam());
  const std::string whole = describe(read_text(text, 1 << 20));
  for (const std::size_t block_bytes : {1, 50, 300, 1000, 3000}) {
    EXPECT_EQ(describe(read_text(text, block_bytes)), whole) << "blocks of " << block_bytes;
  }
}

TEST_P(Contract, ThreadsDoNotMatter) {
  const std::string text = text_of(GetParam());
  EXPECT_EQ(describe(read_text(text, 300, 3)), describe(read_text(text, 300, 1)));
}

TEST_P(Contract, NamesDoNotMatter) {
  const fs::path copy = own_file("renamed.sqlite");
  fs::copy_file(GetParam(), copy, fs::copy_options::overwrite_existing);
  EXPECT_EQ(describe(read_traces(copy.string())), describe(read_traces(GetParam().string())));
  fs::remove(copy);
}

TEST_P(Contract, CompressionDoesNotMatter) {
  const fs::path copy = own_file("compressed.txt");
  const std::string text = text_of(GetParam());
  gzFile file = gzopen(copy.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  EXPECT_EQ(describe(read_traces(copy.string())), describe(read_traces(GetParam().string())));
  fs::remove(copy);
}

// A prefix has no more events than the whole, and says that it is one, or is refused with words.
TEST_P(Contract, EveryPrefixIsSurvived) {
  const std::string text = text_of(GetParam());
  const std::size_t stride = text.size() / 6000 + 1;
  for (std::size_t size = 0; size < text.size(); size += stride) {
    const Result<std::vector<Trace>> traces = read_text(text.substr(0, size), 1 << 20);
    if (!traces) {
      EXPECT_FALSE(traces.error().message.empty());
    } else {
      EXPECT_FALSE(traces->empty());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, Contract, testing::ValuesIn(samples()), [](const auto& sample) {
  std::string name = sample.param.filename().string();
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
});

TEST(Contract, RecordedTraceWithAnyThreads) {
  const std::string path = STEPSCOPE_TESTS_DIR "/data/h200/mask_sync.pt.trace.json.gz";
  const std::string one = describe(read_traces(path, {.threads = 1, .progress = {}}));
  EXPECT_EQ(describe(read_traces(path, {.threads = 2, .progress = {}})), one);
  EXPECT_EQ(describe(read_traces(path, {.threads = 7, .progress = {}})), one);
}

}  // namespace
}  // namespace stepscope
