// The importer contract on captures that are kept as files: they read the same under any name, compressed, and on any
// number of threads; their numbers stay as they were when their format was the newest (docs/formats/capture.md).
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "import/importers.h"
#include "support/describe_trace.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

const std::string kMade = STEPSCOPE_TESTS_DIR "/data/capture/made_v1_0.stepscope";
const std::string kCpu = STEPSCOPE_TESTS_DIR "/data/capture/cpu_v1_0.stepscope";

std::string bytes_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string described(const std::string& path, unsigned threads = 0) {
  return describe_traces(read_traces(path, {.threads = threads, .progress = {}}));
}

class CaptureSamples : public testing::TestWithParam<std::string> {
 protected:
  // A file of this process alone: the tests run side by side.
  fs::path own_file(const std::string& name) {
    return fs::path(testing::TempDir()) / ("stepscope_" + std::to_string(::getpid()) + "_" + name);
  }
};

TEST_P(CaptureSamples, NamesDoNotMatter) {
  const fs::path copy = own_file("renamed.json.gz");
  fs::copy_file(GetParam(), copy, fs::copy_options::overwrite_existing);
  EXPECT_EQ(described(copy), described(GetParam()));
  fs::remove(copy);
}

TEST_P(CaptureSamples, ThreadsDoNotMatter) {
  const std::string one = described(GetParam(), 1);
  EXPECT_EQ(described(GetParam(), 2), one);
  EXPECT_EQ(described(GetParam(), 7), one);
}

TEST_P(CaptureSamples, CompressionDoesNotMatter) {
  const fs::path copy = own_file("compressed.stepscope");
  const std::string bytes = bytes_of_file(GetParam());
  gzFile file = gzopen(copy.c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  EXPECT_EQ(described(copy), described(GetParam()));
  fs::remove(copy);
}

TEST_P(CaptureSamples, PrefixesAreSurvived) {
  const std::string bytes = bytes_of_file(GetParam());
  const fs::path copy = own_file("prefix.stepscope");
  const std::size_t stride = bytes.size() / 200 + 1;
  for (std::size_t size = 0; size < bytes.size(); size += stride) {
    std::ofstream(copy, std::ios::binary | std::ios::trunc) << bytes.substr(0, size);
    const auto traces = read_traces(copy);
    if (traces) {
      EXPECT_TRUE(traces->front().notes.lost_anything()) << size;
    } else {
      EXPECT_FALSE(traces.error().message.empty()) << size;
    }
  }
  fs::remove(copy);
}

INSTANTIATE_TEST_SUITE_P(Files, CaptureSamples, testing::Values(kMade, kCpu),
                         [](const auto& sample) { return sample.param == kMade ? "made" : "cpu"; });

TEST(CaptureSamples, FormatOneIsReadAsItWas) {
  const auto made = read_traces(kMade);
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->front().ops.size(), 2U);
  EXPECT_EQ(made->front().gpu_events.size(), 2U);
  EXPECT_EQ(made->front().frames.size(), 6U);
  EXPECT_TRUE(made->front().notes.all().empty());

  const auto cpu = read_traces(kCpu);
  ASSERT_TRUE(cpu.has_value());
  const Trace& trace = cpu->front();
  EXPECT_TRUE(trace.notes.all().empty());
  EXPECT_EQ(trace.info.command_line, "/tmp/rt/v/bin/python train_cpu.py --steps 6 --rows 8");
  EXPECT_EQ(trace.info.windows.size(), 1U);
  EXPECT_EQ(trace.ops.size(), 2416U);
  std::size_t loads = 0;
  for (const SpanId id : trace.spans.ids().ids()) loads += trace.text(trace.spans.name[id]) == "load batch" ? 1 : 0;
  EXPECT_EQ(loads, 6U);
  std::size_t lines = 0;
  for (const FrameId id : trace.frames.ids().ids())
    lines += trace.text(trace.frames.name[id]).starts_with("train_cpu.py(22): load_batch") ? 1 : 0;
  EXPECT_GT(lines, 6U);
}

}  // namespace
}  // namespace stepscope
