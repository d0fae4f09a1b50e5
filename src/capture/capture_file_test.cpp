// The writer against what happens to writers: kills, full disks, caps, names that exist.
#include "capture/capture_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "wire/chunk.h"
#include "wire/record_decoder.h"
#include "wire/record_test_support.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

// A path of this process alone, free.
std::string own_path(const std::string& name) {
  const fs::path path = fs::path(testing::TempDir()) / ("stepscope_capture_" + std::to_string(::getpid()) + "_" + name);
  fs::remove(path);
  return path.string();
}

struct Contents : wire::RecordTexts {
  std::map<WireString, std::string> strings;
  std::vector<std::string> remarks;
  std::uint64_t ops = 0;
  std::optional<WireEnd> end;
  std::optional<CaptureInfo> info;
  std::uint64_t damage = 0;
  std::string last_op_name;

  using RecordTexts::on;
  void on(const CaptureInfo& r) override { info = r; }
  void on(const WireStringDefinition& r) override { strings[r.id] = r.text; }
  void on(const WireOp& r) override {
    ++ops;
    EXPECT_TRUE(strings.count(r.name) == 1 || r.name == 0) << r.name;
    last_op_name = strings[r.name];
  }
  void on(const WireRemark& r) override { remarks.push_back(strings[r.text]); }
  void on(const WireEnd& r) override { end = r; }
};

Contents read_back(const std::string& path) {
  Contents contents;
  std::ifstream file(path, std::ios::binary);
  wire::ChunkReader reader(
      [&](char* into, std::size_t size) -> Result<std::size_t> {
        file.read(into, static_cast<std::streamsize>(size));
        return static_cast<std::size_t>(file.gcount());
      },
      [&](wire::ChunkDamage, std::uint64_t, std::uint64_t, std::optional<std::uint32_t>) { ++contents.damage; });
  EXPECT_TRUE(reader.open().has_value());
  wire::RecordDecoder decoder;
  while (true) {
    const auto chunk = reader.next();
    if (!chunk || !*chunk) break;
    EXPECT_FALSE(decoder.decode((*chunk)->payload, contents).malformed_at.has_value());
  }
  return contents;
}

std::unique_ptr<CaptureFile> create(const std::string& path, std::uint64_t max_file_bytes = 1 << 30) {
  CaptureInfo info;
  info.process_id = 42;
  info.command_line = "python train.py";
  CaptureFileOptions options;
  options.max_file_bytes = max_file_bytes;
  auto made = CaptureFile::create(path, info, options);
  EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().to_string());
  return made ? std::move(*made) : nullptr;
}

WireOp op_at(TimeNs time_ns, WireString name) {
  WireOp op;
  op.start_ns = time_ns;
  op.end_ns = time_ns + 1000;
  op.thread_id = 7;
  op.name = name;
  return op;
}

// Times that zstd cannot guess.
class Noise {
 public:
  TimeNs next() { return now_ += 1000 + static_cast<TimeNs>((state_ = state_ * 6364136223846793005ULL + 1) >> 44); }

 private:
  std::uint64_t state_ = 1;
  TimeNs now_ = 1'700'000'000'000'000'000;
};

TEST(CaptureFile, WritesWhatItIsHanded) {
  const std::string path = own_path("whole");
  const auto file = create(path);
  Noise noise;
  for (int i = 0; i < 100'000; ++i) file->on(op_at(noise.next(), file->intern(i % 2 == 0 ? "aten::mm" : "aten::add")));
  EXPECT_TRUE(file->close(noise.next()).has_value());
  EXPECT_EQ(file->file_bytes(), fs::file_size(path));
  const Contents contents = read_back(path);
  EXPECT_EQ(contents.info->command_line, "python train.py");
  EXPECT_EQ(contents.ops, 100'000U);
  EXPECT_EQ(contents.strings.size(), 2U);
  EXPECT_EQ(contents.last_op_name, "aten::add");
  ASSERT_TRUE(contents.end.has_value());
  EXPECT_EQ(contents.end->dropped_record_count, 0U);
  EXPECT_EQ(file->dropped_record_count(), 0U);
  EXPECT_EQ(file->record_count(), 100'004U);  // with the process, two names and the end
  EXPECT_LT(fs::file_size(path), 100'000U * 12);
  // Closed: nothing more happens.
  file->on(op_at(1, 0));
  EXPECT_TRUE(file->close(1).has_value());
  EXPECT_EQ(file->file_bytes(), fs::file_size(path));
}

TEST(CaptureFile, NeverOverwrites) {
  const std::string path = own_path("exists");
  std::ofstream(path) << "precious";
  const auto made = CaptureFile::create(path, {}, {});
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(fs::file_size(path), 8U);
  const auto nowhere = CaptureFile::create("/no/such/folder/x", {}, {});
  ASSERT_FALSE(nowhere.has_value());
  EXPECT_EQ(nowhere.error().code, ErrorCode::kNotFound);
}

TEST(CaptureFile, FullDeviceIsAnErrorAtOnce) {
  // O_EXCL refuses /dev/full itself; a descriptor limit of the file system is met in the next tests.
  const auto made = CaptureFile::create("/dev/full", {}, {});
  EXPECT_FALSE(made.has_value());
}

// Runs `body` in a child process and gives its exit status.
int in_child(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

TEST(CaptureFile, FullDiskLeavesWholeChunksAndTheProgramAlive) {
  const std::string path = own_path("full");
  const int status = in_child([&] {
    const rlimit limit{300'000, 300'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto file = create(path);
    Noise noise;
    const WireString name = file->intern("aten::mm");
    for (int i = 0; i < 300'000; ++i) file->on(op_at(noise.next(), name));
    EXPECT_FALSE(file->status().has_value());
    EXPECT_NE(file->status().error().message.find("File too large"), std::string::npos);
    EXPECT_GT(file->dropped_record_count(), 100'000U);
    EXPECT_FALSE(file->close(noise.next()).has_value());
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  const Contents contents = read_back(path);
  EXPECT_EQ(contents.damage, 0U);
  EXPECT_GT(contents.ops, 10'000U);
  // The space of the chunk that was cut off again is enough for the end.
  ASSERT_TRUE(contents.end.has_value());
  EXPECT_EQ(contents.end->dropped_record_count + contents.ops, 300'000U);
}

// As a program does that turns itself into a daemon, and opens files of its own then.
TEST(CaptureFile, AProgramThatClosesOurNumberKeepsItsOwnFilesAndTheCapture) {
  const std::string path = own_path("closed"), user_path = own_path("users");
  const int status = in_child([&] {
    const auto file = create(path);
    Noise noise;
    file->on(op_at(noise.next(), file->intern("before")));
    EXPECT_TRUE(file->flush().has_value());
    ::closefrom(3);
    const int users = ::open(user_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    EXPECT_EQ(users, 3) << "the number that was the capture's";
    file->on(op_at(noise.next(), file->intern("after")));
    EXPECT_TRUE(file->flush().has_value());
    ::closefrom(4);
    EXPECT_TRUE(file->close(noise.next()).has_value());
    EXPECT_EQ(::write(users, "mine", 4), 4) << "still open";
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  const Contents contents = read_back(path);
  EXPECT_EQ(contents.damage, 0U);
  EXPECT_EQ(contents.ops, 2U);
  EXPECT_TRUE(contents.end.has_value());
  EXPECT_EQ(std::filesystem::file_size(user_path), 4U);
  // A capture that was moved away meanwhile ends there.
  const std::string moved = own_path("moved");
  const int second = in_child([&] {
    const auto file = create(moved);
    ::closefrom(3);
    EXPECT_EQ(::rename(moved.c_str(), (moved + ".elsewhere").c_str()), 0);
    Noise noise;
    file->on(op_at(noise.next(), file->intern("after")));
    EXPECT_FALSE(file->flush().has_value());
    EXPECT_NE(file->status().error().message.find("closed the capture"), std::string::npos);
  });
  EXPECT_TRUE(WIFEXITED(second) && WEXITSTATUS(second) == 0) << second;
}

TEST(CaptureFile, KilledWriterLeavesWholeChunks) {
  for (int round = 0; round < 5; ++round) {
    const std::string path = own_path("killed");
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const auto file = create(path);
      Noise noise;
      for (int i = 0;; ++i) {
        file->on(op_at(noise.next(), file->intern("aten::mm")));
        if (i == 200'000) (void)!::write(ready[1], "x", 1);
      }
    }
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    ::usleep(static_cast<useconds_t>(3000 * round));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(ready[0]);
    ::close(ready[1]);
    const Contents contents = read_back(path);
    EXPECT_LE(contents.damage, 1U);
    EXPECT_GT(contents.ops, 150'000U);  // all but the chunk at hand
    EXPECT_FALSE(contents.end.has_value());
  }
}

TEST(CaptureFile, FlushedRecordsSurviveAKill) {
  const std::string path = own_path("flushed");
  const int status = in_child([&] {
    const auto file = create(path);
    file->on(op_at(1, file->intern("aten::mm")));
    EXPECT_TRUE(file->flush().has_value());
    file->on(op_at(2, file->intern("aten::add")));
    ::raise(SIGKILL);
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  const Contents contents = read_back(path);
  EXPECT_EQ(contents.ops, 1U);
  EXPECT_EQ(contents.last_op_name, "aten::mm");
  EXPECT_EQ(contents.damage, 0U);
}

TEST(CaptureFile, CapIsKeptAndWhatIsLeftOutIsCounted) {
  for (const std::uint64_t cap : {600'000, 200'000, 70'000, 3'000}) {
    const std::string path = own_path("cap");
    const auto file = create(path, cap);
    Noise noise;
    for (int i = 0; i < 200'000; ++i) {
      // New names all the time, as a program with numbers in names makes them.
      file->on(op_at(noise.next(), file->intern("name " + std::to_string(i / 10))));
    }
    file->on(WireRemark{noise.next(), file->intern("the file reached its cap")});
    EXPECT_TRUE(file->close(noise.next()).has_value());
    EXPECT_LE(fs::file_size(path), cap);
    const Contents contents = read_back(path);
    EXPECT_EQ(contents.damage, 0U);
    EXPECT_GT(file->dropped_record_count(), 0U);
    ASSERT_TRUE(contents.end.has_value());
    EXPECT_EQ(contents.end->dropped_record_count, file->dropped_record_count());
    EXPECT_EQ(contents.remarks, std::vector<std::string>{"the file reached its cap"});
    // A cap far over the reserve is used to the most part.
    EXPECT_GT(fs::file_size(path), cap > 500'000 ? cap * 8 / 10 : 0);
  }
}

TEST(CaptureFile, LongTextsAreCutAndManyAreForgotten) {
  const std::string path = own_path("texts");
  const auto file = create(path);
  const std::string long_text(3 << 20, 'x');
  const WireString id = file->intern(long_text);
  EXPECT_EQ(file->intern(long_text), id);
  EXPECT_EQ(file->intern(""), 0U);
  for (int i = 0; i < 100; ++i) (void)file->intern(std::string(1 << 20, static_cast<char>('A' + i % 50)));
  file->on(op_at(1, file->intern("aten::mm")));
  EXPECT_TRUE(file->close(2).has_value());
  const Contents contents = read_back(path);
  EXPECT_EQ(contents.strings.at(id).size(), wire::kMostTextBytes);
  EXPECT_EQ(contents.last_op_name, "aten::mm");
}

}  // namespace
}  // namespace stepscope
