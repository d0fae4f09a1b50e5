// Runs real commands of every system: how they end, what is kept, what is passed on.
#include "timing/process_run.h"

#include <gtest/gtest.h>
#include <sys/types.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace stepscope {
namespace {

std::unique_ptr<ProcessRunner> make_runner() {
  auto runner = make_process_runner();
  EXPECT_TRUE(runner) << runner.error().to_string();
  return std::move(*runner);
}

ProcessRun run_shell(ProcessRunner& runner, const std::string& text) {
  auto run = runner.run({{"/bin/sh", "-c", text}, false});
  EXPECT_TRUE(run) << run.error().to_string();
  return run ? *run : ProcessRun();
}

TEST(ProcessRun, ACommandThatSucceeds) {
  const auto runner = make_runner();
  const ProcessRun run = run_shell(*runner, "exit 0");
  EXPECT_TRUE(run.succeeded());
  EXPECT_GT(run.wall_ns, 0);
  EXPECT_GE(run.user_ns, 0);
  EXPECT_EQ(run.stderr_end, "");
  EXPECT_FALSE(run.signal);
  EXPECT_FALSE(runner->interrupted_by());
}

TEST(ProcessRun, StatusAndEndOfStandardError) {
  const auto runner = make_runner();
  const ProcessRun run = run_shell(*runner, "echo this is discarded; echo sorry >&2; exit 7");
  EXPECT_FALSE(run.succeeded());
  EXPECT_EQ(run.exit_status, 7);
  EXPECT_EQ(run.stderr_end, "sorry\n");
  EXPECT_EQ(run_shell(*runner, "exit 0").stderr_end, "") << "of the run before";
}

TEST(ProcessRun, ACommandThatASignalEnds) {
  const auto runner = make_runner();
  const ProcessRun run = run_shell(*runner, "kill -KILL $$");
  EXPECT_FALSE(run.exit_status);
  EXPECT_EQ(run.signal, SIGKILL);
  EXPECT_FALSE(run.succeeded());
}

TEST(ProcessRun, WhatCannotBeStarted) {
  const auto runner = make_runner();
  const auto missing = runner->run({{"no-such-program-here"}, false});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().message, "cannot run `no-such-program-here`: not found in PATH");
  EXPECT_EQ(runner->run({{"/no/such/file"}, false}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(runner->run({{"/"}, false}).error().code, ErrorCode::kPermission);
  EXPECT_EQ(runner->run({{}, false}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(runner->run({{""}, false}).error().code, ErrorCode::kInvalidArgument);
}

TEST(ProcessRun, HugeOutputBlocksNothingAndItsEndIsKept) {
  const auto runner = make_runner();
  const ProcessRun run = run_shell(
      *runner,
      "i=0; while [ $i -lt 20000 ]; do echo 'a line of standard error, and one of output' >&2; echo out; i=$((i+1)); "
      "done; echo last >&2; exit 1");
  EXPECT_EQ(run.exit_status, 1);
  EXPECT_EQ(run.stderr_end.size(), 4096U);
  EXPECT_TRUE(run.stderr_end.ends_with("\nlast\n"));
}

TEST(ProcessRun, AGrandchildThatLivesOnHoldsNothingUp) {
  const auto runner = make_runner();
  const std::string marker = ::testing::TempDir() + "grandchild." + std::to_string(::getpid());
  // It keeps standard error open until this test tells it to go.
  const ProcessRun run = run_shell(*runner, "(while [ ! -e '" + marker + "' ]; do sleep 0.05; done) & exit 0");
  EXPECT_TRUE(run.succeeded());
  EXPECT_EQ(std::system(("touch '" + marker + "'").c_str()), 0);  // NOLINT(concurrency-mt-unsafe)
}

TEST(ProcessRun, StandardInputIsEmpty) {
  const auto runner = make_runner();
  EXPECT_EQ(run_shell(*runner, "read line && exit 1; exit 0").exit_status, 0);
}

TEST(ProcessRun, SignalsAreAsTheCommandExpectsThem) {
  (void)std::signal(SIGPIPE, SIG_IGN);  // as in main()
  const auto runner = make_runner();
  // A shell that inherits an ignored SIGPIPE, or one that is blocked, would live on.
  EXPECT_EQ(run_shell(*runner, "kill -PIPE $$; exit 3").signal, SIGPIPE);
  EXPECT_EQ(run_shell(*runner, "kill -INT $$; exit 3").signal, SIGINT);
  EXPECT_EQ(run_shell(*runner, "kill -TERM $$; exit 3").signal, SIGTERM);
}

TEST(ProcessRun, CpuTimeOfChildrenCounts) {
  const auto runner = make_runner();
  const ProcessRun run = run_shell(*runner, "sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'; exit 0");
  EXPECT_GT(run.user_ns + run.system_ns, 0);
}

TEST(ProcessRun, APeakThatCanBeSeen) {
  const auto runner = make_runner();
  const std::int64_t wanted = hidden_rss_bytes() + (std::int64_t{32} << 20);
  const ProcessRun small = run_shell(*runner, "exit 0");
  EXPECT_FALSE(small.max_rss_bytes) << *small.max_rss_bytes;
  // dd holds one block in memory.
  const ProcessRun large = run_shell(*runner, "exec dd if=/dev/zero of=/dev/null count=1 bs=" + std::to_string(wanted));
  ASSERT_TRUE(large.max_rss_bytes);
  EXPECT_GE(*large.max_rss_bytes, wanted);
}

TEST(ProcessRun, AnInterruptEndsTheWholeGroup) {
  const auto runner = make_runner();
  // The command itself interrupts this process, as Ctrl-C would; its child would never end by itself.
  const ProcessRun run = run_shell(*runner, "kill -INT $PPID; while :; do sleep 1; done");
  EXPECT_EQ(run.signal, SIGINT);
  EXPECT_EQ(runner->interrupted_by(), SIGINT);
}

TEST(ProcessRun, ASecondInterruptKills) {
  const auto runner = make_runner();
  const ProcessRun run =
      run_shell(*runner, "trap 'kill -INT $PPID' INT; kill -INT $PPID; while :; do sleep 0.01; done");
  EXPECT_EQ(run.signal, SIGKILL);
}

TEST(ProcessRun, HandlersAreGivenBack) {
  (void)std::signal(SIGINT, SIG_IGN);
  {
    const auto runner = make_runner();
    ASSERT_EQ(::kill(::getpid(), SIGINT), 0);  // ignored before, ignored now
    EXPECT_TRUE(run_shell(*runner, "exit 0").succeeded());
    EXPECT_FALSE(runner->interrupted_by());
  }
  (void)std::signal(SIGINT, SIG_DFL);
  { const auto runner = make_runner(); }
  struct sigaction now {};
  ASSERT_EQ(::sigaction(SIGINT, nullptr, &now), 0);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

}  // namespace
}  // namespace stepscope
