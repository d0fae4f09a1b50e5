// Each file has one turn, whatever it weighs.
#include "cli/file_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "base/parallel.h"

namespace stepscope {
namespace {

TEST(FilePool, EachFileHasOneTurn) {
  const std::vector<std::string> files(200, "no such file");
  for (const unsigned jobs : {0U, 1U, 7U}) {
    std::vector<std::atomic<int>> turns(files.size());
    std::atomic<unsigned> at_once{0}, most{0};
    for_each_file(files, jobs, [&](const FileTurn& turn) {
      unsigned now = ++at_once, seen = most;
      while (now > seen && !most.compare_exchange_weak(seen, now)) {
      }
      EXPECT_GE(turn.threads, 1U);
      turn.progress(10);
      ++turns[turn.index];
      --at_once;
    });
    EXPECT_TRUE(std::all_of(turns.begin(), turns.end(), [](const std::atomic<int>& count) { return count == 1; }));
    EXPECT_LE(most, jobs == 0 ? available_threads() : jobs);
  }
  for_each_file({}, 0, [](const FileTurn&) { FAIL(); });
}

TEST(FilePool, CompressedFilesWeighMore) {
  const std::string data = STEPSCOPE_TESTS_DIR "/data/";
  const std::uint64_t nothing = estimate_memory_bytes("no such file");
  const std::uint64_t compressed = estimate_memory_bytes(data + "h200/ddp_rank0.pt.trace.json.gz");
  EXPECT_GT(nothing, 0U) << "a reader's windows";
  EXPECT_GT(compressed, nothing + 5'000'000) << "6.6 MB of JSON in 0.5 MB";
  EXPECT_LT(compressed, nothing + 7'000'000);
  EXPECT_GT(available_memory_bytes(), 0U);
}

}  // namespace
}  // namespace stepscope
