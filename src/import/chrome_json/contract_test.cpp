// What every importer promises, for every sample: the same trace under a wrong name, compressed or not, with one
// thread or many, however its text is cut into blocks; and no prefix of a file is too much for it.
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "import/bytes/byte_source.h"
#include "import/chrome_json/chrome_json.h"
#include "import/importers.h"
#include "support/describe_trace.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

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
  const std::string whole = describe_traces(read_text(text, 1 << 20));
  for (const std::size_t block_bytes : {1, 50, 300, 1000, 3000}) {
    EXPECT_EQ(describe_traces(read_text(text, block_bytes)), whole) << "blocks of " << block_bytes;
  }
}

TEST_P(Contract, ThreadsDoNotMatter) {
  const std::string text = text_of(GetParam());
  EXPECT_EQ(describe_traces(read_text(text, 300, 3)), describe_traces(read_text(text, 300, 1)));
}

TEST_P(Contract, NamesDoNotMatter) {
  const fs::path copy = own_file("renamed.sqlite");
  fs::copy_file(GetParam(), copy, fs::copy_options::overwrite_existing);
  EXPECT_EQ(describe_traces(read_traces(copy.string())), describe_traces(read_traces(GetParam().string())));
  fs::remove(copy);
}

TEST_P(Contract, CompressionDoesNotMatter) {
  const fs::path copy = own_file("compressed.txt");
  const std::string text = text_of(GetParam());
  gzFile file = gzopen(copy.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  EXPECT_EQ(describe_traces(read_traces(copy.string())), describe_traces(read_traces(GetParam().string())));
  fs::remove(copy);
}

// Reads of a file. Under a sanitizer, where they took a fifth of the time of all tests, each third one.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t kMostPrefixes = 2'000;
#else
constexpr std::size_t kMostPrefixes = 6'000;
#endif

// A prefix has no more events than the whole, and says that it is one, or is refused with words.
TEST_P(Contract, EveryPrefixIsSurvived) {
  const std::string text = text_of(GetParam());
  const std::size_t stride = text.size() / kMostPrefixes + 1;
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
  const std::string one = describe_traces(read_traces(path, {.threads = 1, .progress = {}}));
  EXPECT_EQ(describe_traces(read_traces(path, {.threads = 2, .progress = {}})), one);
  EXPECT_EQ(describe_traces(read_traces(path, {.threads = 7, .progress = {}})), one);
}

}  // namespace
}  // namespace stepscope
