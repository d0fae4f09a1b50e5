// Files: whole or not there, whatever goes wrong on the way.
#include "export/text_sink.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

namespace stepscope {
namespace {

namespace fs = std::filesystem;

class TextFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "stepscope_sink_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    fs::permissions(folder_, fs::perms::owner_all);
    fs::remove_all(folder_);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] std::size_t file_count() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::string gunzipped(const std::string& path) {
  std::string text;
  std::string window(1 << 16, '\0');
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return text;
  for (int got = 0; (got = gzread(file, window.data(), static_cast<unsigned>(window.size()))) > 0;) {
    text.append(window, 0, static_cast<std::size_t>(got));
  }
  EXPECT_EQ(gzclose(file), Z_OK);
  return text;
}

Status write_all(const std::string& path, const std::string& text) {
  return write_text_file(path, [&](const TextSink& sink) { return sink(text); });
}

std::string noise(std::size_t size) {
  std::mt19937 random(5);
  std::string text(size, ' ');
  for (char& c : text) c = static_cast<char>(random() % 256);
  return text;
}

TEST_F(TextFile, IsWhatTheSinkGot) {
  const Status written = write_text_file(path("a.json"), [](const TextSink& sink) -> Status {
    if (Status first = sink("one "); !first) return first;
    return sink("two");
  });
  ASSERT_TRUE(written.has_value());
  EXPECT_EQ(contents(path("a.json")), "one two");
  EXPECT_EQ(file_count(), 1U);
}

TEST_F(TextFile, IsGzipByItsName) {
  const std::string text = noise(3 << 20) + std::string(5 << 20, 'x');
  ASSERT_TRUE(write_all(path("a.json.gz"), text).has_value());
  EXPECT_TRUE(gunzipped(path("a.json.gz")) == text);
  EXPECT_LT(fs::file_size(path("a.json.gz")), text.size());
  ASSERT_TRUE(write_all(path("empty.gz"), "").has_value());
  EXPECT_EQ(contents(path("empty.gz")).substr(0, 2), "\x1f\x8b");
  EXPECT_EQ(gunzipped(path("empty.gz")), "");
}

TEST_F(TextFile, IsReplacedWholeAndThroughLinks) {
  ASSERT_TRUE(write_all(path("a.json"), "old, and longer").has_value());
  fs::create_symlink("a.json", path("link.json"));
  ASSERT_TRUE(write_all(path("link.json"), "new").has_value());
  EXPECT_EQ(contents(path("a.json")), "new");
  EXPECT_TRUE(fs::is_symlink(path("link.json")));
  EXPECT_EQ(file_count(), 2U);
}

TEST_F(TextFile, HasTheModeOfTheUmask) {
  const mode_t before = ::umask(027);
  const Status written = write_all(path("a.json"), "x");
  ::umask(before);
  ASSERT_TRUE(written.has_value());
  struct stat found {};
  ASSERT_EQ(::stat(path("a.json").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0640U);
}

TEST_F(TextFile, AnErrorOfTheWriterLeavesTheOldFile) {
  ASSERT_TRUE(write_all(path("a.json"), "old").has_value());
  const Status written = write_text_file(path("a.json"), [](const TextSink& sink) -> Status {
    if (Status first = sink("half"); !first) return first;
    return Error{ErrorCode::kDamaged, "stopped half-way", ""};
  });
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().message, "stopped half-way");
  EXPECT_EQ(contents(path("a.json")), "old");
  EXPECT_EQ(file_count(), 1U);
}

TEST_F(TextFile, ErrorsNamePathAndReason) {
  const Status no_folder = write_all(path("none/a.json"), "x");
  ASSERT_FALSE(no_folder.has_value());
  EXPECT_EQ(no_folder.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(no_folder.error().to_string(), path("none/a.json") + ": cannot be written: No such file or directory");

  const Status is_folder = write_all(folder_.string(), "x");
  ASSERT_FALSE(is_folder.has_value());
  EXPECT_EQ(is_folder.error().to_string(), folder_.string() + ": cannot be written: Is a directory");

  if (::geteuid() == 0) return;  // root may write everywhere
  fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
  const Status forbidden = write_all(path("a.json"), "x");
  ASSERT_FALSE(forbidden.has_value());
  EXPECT_EQ(forbidden.error().code, ErrorCode::kPermission);
}

TEST_F(TextFile, DevicesAreWrittenTo) {
  EXPECT_TRUE(write_all("/dev/null", "x").has_value());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  const Status full = write_all("/dev/full", "x");
  ASSERT_FALSE(full.has_value());
  EXPECT_EQ(full.error().to_string(), "/dev/full: cannot be written: No space left on device");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

// A disk that fills up half-way, by a limit on the size of files, which stands for one: in a process of its own.
TEST_F(TextFile, AFullDiskLeavesNothing) {
  ASSERT_TRUE(write_all(path("old.json"), "old").has_value());
  for (const std::string name : {"new.json", "old.json", "new.json.gz"}) {
    const pid_t child = ::fork();
    if (child == 0) {
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{1 << 20, 1 << 20};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      const Status written = write_all(path(name), noise(4 << 20));
      const bool is_said = !written && written.error().message == "cannot be written: File too large";
      ::_exit(is_said ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << name;
  }
  EXPECT_EQ(file_count(), 1U);
  EXPECT_EQ(contents(path("old.json")), "old");
}

// Killed while it writes: nothing stands under the final name.
TEST_F(TextFile, AKilledWriterLeavesNoHalfFile) {
  const pid_t child = ::fork();
  if (child == 0) {
    const Status written = write_text_file(path("a.json"), [](const TextSink& sink) -> Status {
      if (Status first = sink("half"); !first) return first;
      ::raise(SIGKILL);
      return Done{};
    });
    ::_exit(written ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_FALSE(fs::exists(path("a.json")));
}

TEST_F(TextFile, ASignalThatEndsTheProcessLeavesNothing) {
  const std::string out = path("out.json");
  ASSERT_TRUE(write_all(path("kept.json"), "kept"));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    (void)std::signal(SIGTERM, [](int signal) {
      remove_unfinished_files();
      (void)std::signal(signal, SIG_DFL);
      (void)std::raise(signal);
    });
    (void)write_text_file(out, [](const TextSink& sink) {
      (void)sink("half of it");
      (void)std::raise(SIGTERM);
      return Status(Done{});
    });
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  EXPECT_EQ(file_count(), 1U);
}

TEST_F(TextFile, ManyFilesOneAfterAnotherLeaveNoTrace) {
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(write_all(path("out.json"), "text"));  // more than there are places
  remove_unfinished_files();
  EXPECT_EQ(contents(path("out.json")), "text");
}

}  // namespace
}  // namespace stepscope
