// Files: their names, what happens when they cannot be written, and when the writer dies.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "stepscope/session.h"
#include "stepscope/span.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

class TraceHandlers : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "trace_handlers_" + std::to_string(getpid());
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::set<std::string> names(const std::string& folder) const {
    std::set<std::string> out;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) out.insert(entry.path().filename());
    return out;
  }

  std::string folder_;
};

// One trace for each of `cycles` cycles of one step, with `spans` spans in each.
Status record(const TraceHandler& handler, std::vector<std::string>* files = nullptr, int cycles = 1, int spans = 1,
              std::string worker_name = {}) {
  ProfilingSession session({.schedule = make_schedule({.warmup = 1, .active = 1, .repeat = cycles}).value(),
                            .on_trace_ready = handler,
                            .worker_name = std::move(worker_name)});
  if (Status started = session.start(); !started) return started;
  for (int step = 0; step < 2 * cycles; ++step) {
    for (int i = 0; i < spans; ++i) const Span span("work");
    session.step();
  }
  Status stopped = session.stop();
  if (files != nullptr) *files = session.trace_files();
  return stopped;
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(TraceHandlers, NamesFilesByWorkerAndTime) {
  std::vector<std::string> files;
  ASSERT_TRUE(record(directory_handler(folder_ + "/deep/er/"), &files, 2));
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  ASSERT_EQ(files.size(), 2U);
  // FOLDER/HOST_PID.TIME.pt.trace.json
  const std::string begin = folder_ + "/deep/er/" + host + "_" + std::to_string(getpid()) + ".";
  const std::string end = ".pt.trace.json";
  std::set<std::string> expected;
  std::string time_before;
  for (const std::string& file : files) {
    ASSERT_TRUE(file.starts_with(begin) && file.ends_with(end)) << file;
    const std::string time = file.substr(begin.size(), file.size() - begin.size() - end.size());
    EXPECT_EQ(time.size(), 19U) << time;  // ns since 1970, until 2286
    EXPECT_EQ(time.find_first_not_of("0123456789"), std::string::npos) << time;
    EXPECT_LT(time_before, time);
    time_before = time;
    expected.insert(fs::path(file).filename());
    EXPECT_NE(read(file).find("\"ProfilerStep#"), std::string::npos);
  }
  EXPECT_EQ(names(folder_ + "/deep/er"), expected);  // and no temporary file
}

TEST_F(TraceHandlers, TakesTheWorkerNameThatIsNearest) {
  std::vector<std::string> files;
  ASSERT_TRUE(record(directory_handler(folder_), &files, 1, 1, "of_session"));
  EXPECT_EQ(fs::path(files.at(0)).filename().string().find("of_session."), 0U);
  ASSERT_TRUE(record(directory_handler(folder_, "of_handler", true), &files, 1, 1, "of_session"));
  EXPECT_EQ(fs::path(files.at(0)).filename().string().find("of_handler."), 0U);
  EXPECT_TRUE(files[0].ends_with(".pt.trace.json.gz"));
  EXPECT_EQ(read(files[0]).substr(0, 2), "\x1f\x8b");
  const Status refused = record(directory_handler(folder_, "a/b"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
}

// Processes with one worker name, all writing at once.
TEST_F(TraceHandlers, ProcessesDoNotOverwriteEachOther) {
  constexpr int kProcesses = 4;
  constexpr int kCycles = 20;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.push_back(fork());
    if (children.back() == 0) _exit(record(directory_handler(folder_, "same"), nullptr, kCycles) ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  EXPECT_EQ(names(folder_).size(), std::size_t{kProcesses} * kCycles);
  for (const std::string& name : names(folder_)) EXPECT_EQ(name.find("same."), 0U) << name;
}

TEST_F(TraceHandlers, NumbersFurtherTracesOfOnePath) {
  fs::create_directories(folder_ + "/run.1");
  std::vector<std::string> files;
  ASSERT_TRUE(record(chrome_trace_handler(folder_ + "/run.1/trace.json.gz"), &files, 3));
  EXPECT_EQ(files, (std::vector<std::string>{folder_ + "/run.1/trace.json.gz", folder_ + "/run.1/trace.2.json.gz",
                                             folder_ + "/run.1/trace.3.json.gz"}));
  ASSERT_TRUE(record(chrome_trace_handler(folder_ + "/run.1/plain"), &files, 2));
  EXPECT_EQ(files[1], folder_ + "/run.1/plain.2");
}

TEST_F(TraceHandlers, NamesTheDirectoryThatCannotBeMade) {
  std::ofstream(folder_) << "a file";
  const Status failed = record(directory_handler(folder_ + "/traces"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().file, folder_ + "/traces");
  EXPECT_NE(failed.error().message.find("directory"), std::string::npos);
}

TEST_F(TraceHandlers, NamesTheFileThatCannotBeWritten) {
  const Status failed = record(directory_handler("/proc/self"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().file.find("/proc/self/"), 0U);
  EXPECT_TRUE(failed.error().file.ends_with(".pt.trace.json"));
  EXPECT_EQ(failed.error().file.find("/."), std::string::npos) << "the temporary name means nothing to a reader";
}

TEST_F(TraceHandlers, SaysThatTheDiskIsFull) {
  std::vector<std::string> files;
  const Status failed = record(chrome_trace_handler("/dev/full"), &files);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().file, "/dev/full");
  EXPECT_NE(failed.error().message.find("No space left"), std::string::npos) << failed.error().message;
  EXPECT_TRUE(files.empty());
}

// The kernel kills a process that writes past its file size limit: here, in the middle of the trace.
TEST_F(TraceHandlers, AWriterThatIsKilledLeavesNoFileUnderTheFinalName) {
  fs::create_directories(folder_);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{1 << 20, 1 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_DFL);
    (void)record(directory_handler(folder_, "killed"), nullptr, 1, 100'000).has_value();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << "it was not killed";
  for (const std::string& name : names(folder_)) {
    EXPECT_FALSE(name.starts_with("killed.")) << name;
    EXPECT_FALSE(name.ends_with(".json")) << name;
  }
}

}  // namespace
}  // namespace stepscope
