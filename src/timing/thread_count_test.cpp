// Counts are set and set back, in OpenMP and through the hook; nobody to tell is said.
#include "timing/thread_count.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <vector>

namespace stepscope {
namespace {

int fake_threads = 6;
std::vector<int> fake_calls;
OpenMp fake_openmp() {
  fake_threads = 6;
  fake_calls.clear();
  return {[](int count) { fake_calls.push_back(fake_threads = count); }, [] { return fake_threads; }};
}

TEST(ThreadCount, SetsAndRestoresOpenMpAndTheHook) {
  std::vector<int> hook_calls;
  const ThreadCount::Hook hook = [&](int count) {
    hook_calls.push_back(count);
    return 12;
  };
  {
    const ThreadCount threads(2, hook, fake_openmp());
    EXPECT_EQ(fake_threads, 2);
    EXPECT_EQ(hook_calls, std::vector<int>{2});
    EXPECT_TRUE(threads.note().empty());
  }
  EXPECT_EQ(fake_calls, (std::vector<int>{2, 6}));
  EXPECT_EQ(hook_calls, (std::vector<int>{2, 12}));
}

TEST(ThreadCount, ZeroLeavesAllAsItIs) {
  int calls = 0;
  const ThreadCount::Hook hook = [&](int) { return ++calls; };
  { const ThreadCount threads(0, hook, fake_openmp()); }
  EXPECT_TRUE(fake_calls.empty());
  EXPECT_EQ(calls, 0);
}

TEST(ThreadCount, NobodyToTellIsSaidForMoreThanOne) {
  const ThreadCount::Hook none;
  EXPECT_TRUE(ThreadCount(1, none, {}).note().empty());
  EXPECT_EQ(ThreadCount(4, none, {}).note(),
            "num_threads = 4 reached nothing: this process has no OpenMP, and set_num_threads was not given.");
}

TEST(ThreadCount, FindsTheOpenMpOfThisProcess) {
  // Loaded privately, as a plugin would: only RTLD_NOLOAD by name finds it.
  void* library = dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) GTEST_SKIP() << "no libgomp.so.1 here";
  const OpenMp found = OpenMp::find();
  ASSERT_TRUE(found);
  const ThreadCount::Hook none;
  const int before = found.get_max_threads();
  {
    const ThreadCount threads(3, none, found);
    EXPECT_EQ(found.get_max_threads(), 3);
  }
  EXPECT_EQ(found.get_max_threads(), before);
}

}  // namespace
}  // namespace stepscope
