// Files that cannot be opened say why; gzip streams give what they hold, whatever happened to them.
#include "import/bytes/byte_source.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "import/bytes/gzip_source.h"
#include "import/bytes/threaded_source.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

std::string compressed(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

struct Outcome {
  std::string text;
  Notes notes;
};

Outcome read_all(ByteSource& source, std::size_t window_bytes = 1000) {
  Outcome outcome;
  std::string window(window_bytes, '\0');
  for (;;) {
    const Result<std::size_t> got = source.read(window.data(), window.size());
    if (!got || *got == 0) break;
    outcome.text.append(window, 0, *got);
  }
  source.add_notes(outcome.notes);
  return outcome;
}

Outcome decompressed(const std::string& stored, std::size_t window_bytes = 1000) {
  return read_all(*decompress_gzip(bytes_of(stored), "test"), window_bytes);
}

// Text that compresses to more than one input window.
std::string long_text() {
  std::mt19937 random(7);
  std::string text;
  while (text.size() < 3'000'000) text += std::to_string(random()) + ",";
  return text;
}

TEST(Gzip, ReadsAllMembers) {
  const std::string stored = compressed("one ") + compressed("") + compressed("two");
  EXPECT_EQ(decompressed(stored).text, "one two");
  EXPECT_EQ(decompressed(stored, 1).text, "one two");
  EXPECT_TRUE(decompressed(stored).notes.all().empty());
}

TEST(Gzip, ReadsLongStreamsWithAnyWindow) {
  const std::string text = long_text();
  const std::string stored = compressed(text) + compressed(text);
  EXPECT_EQ(decompressed(stored).text, text + text);
  EXPECT_EQ(decompressed(stored, 1 << 20).text, text + text);
  EXPECT_EQ(read_all(*read_beside(decompress_gzip(bytes_of(stored), "test"))).text, text + text);
}

TEST(Gzip, EveryCutIsSurvived) {
  const std::string text = long_text().substr(0, 20000);
  const std::string stored = compressed(text);
  for (std::size_t size = 3; size < stored.size(); size += 7) {
    const Outcome outcome = decompressed(stored.substr(0, size));
    EXPECT_EQ(text.compare(0, outcome.text.size(), outcome.text), 0);
    ASSERT_EQ(outcome.notes.all().size(), 1U) << size;
    EXPECT_EQ(outcome.notes.all()[0].kind, NoteKind::kGzipDamaged);
    EXPECT_EQ(outcome.notes.all()[0].severity, NoteSeverity::kLost);
  }
}

TEST(Gzip, DamageIsNoted) {
  const std::string text = long_text().substr(0, 20000);
  std::string stored = compressed(text);
  stored[stored.size() - 6] ^= 1;  // in the checksum
  const Outcome outcome = decompressed(stored);
  EXPECT_EQ(outcome.text, text);
  EXPECT_EQ(outcome.notes.count(NoteKind::kGzipDamaged), 1U);
  for (std::size_t at = 10; at + 8 < stored.size(); at += 101) {
    std::string damaged = compressed(text);
    damaged[at] ^= 0x55;
    EXPECT_LE(decompressed(damaged).text.size(), 200 * text.size());
  }
}

TEST(Gzip, BytesBehindTheLastMember) {
  const Outcome padded = decompressed(compressed("text") + std::string(512, '\0'));
  EXPECT_EQ(padded.text, "text");
  EXPECT_TRUE(padded.notes.all().empty());
  const Outcome trailed = decompressed(compressed("text") + "something else");
  EXPECT_EQ(trailed.text, "text");
  EXPECT_EQ(trailed.notes.count(NoteKind::kTrailingText), 1U);
}

class OpenBytes : public testing::Test {
 protected:
  fs::path folder_ = fs::path(testing::TempDir()) / ("open_bytes_" + std::to_string(::getpid()));
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  ErrorCode code_of(const fs::path& path) {
    const auto opened = open_bytes(path.string(), false);
    EXPECT_FALSE(opened.has_value());
    return opened ? ErrorCode::kIo : opened.error().code;
  }
};

TEST_F(OpenBytes, SaysWhyAFileCannotBeRead) {
  EXPECT_EQ(code_of(folder_ / "missing.json"), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(folder_), ErrorCode::kInvalidArgument);
  const fs::path secret = folder_ / "secret.json";
  std::ofstream(secret) << "{}";
  ::chmod(secret.c_str(), 0);
  if (::geteuid() == 0) return;  // root may read everything
  EXPECT_EQ(code_of(secret), ErrorCode::kPermission);
}

TEST_F(OpenBytes, LooksAtTheContentOnly) {
  const fs::path plain = folder_ / "plain.json.gz";
  std::ofstream(plain) << "plain text";
  auto opened = open_bytes(plain.string(), false);
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ(read_all(**opened).text, "plain text");
  const fs::path zipped = folder_ / "zipped.json";
  std::ofstream(zipped) << compressed("zipped text");
  opened = open_bytes(zipped.string(), true);
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ(read_all(**opened).text, "zipped text");
}

}  // namespace
}  // namespace stepscope
