// The sampler's life; that it finds lines is tested where there is a Python with PyTorch.
#include "agent/sampler.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace stepscope::agent {
namespace {

std::size_t thread_count() {
  std::size_t count = 0;
  DIR* const tasks = opendir("/proc/self/task");
  while (const dirent* const entry = readdir(tasks)) count += entry->d_name[0] != '.' ? 1 : 0;
  closedir(tasks);
  return count;
}

TEST(Sampler, HasNoThreadBeforeTheFirstWindowAndNoneAfterTheEnd) {
  const std::size_t before = thread_count();
  Sampler sampler;
  sampler.note_thread(1);
  EXPECT_EQ(thread_count(), before);
  sampler.set_on(true);
  EXPECT_EQ(thread_count(), before + 1);
  sampler.stop();
  // A joined thread leaves the folder a moment later.
  for (int wait = 0; wait < 1'000 && thread_count() != before; ++wait) usleep(1'000);
  EXPECT_EQ(thread_count(), before);
  sampler.set_on(true);
  EXPECT_EQ(thread_count(), before);
}

TEST(Sampler, ManyWindowsAndThreadsThatAreGone) {
  Sampler sampler;
  for (int i = 0; i < 1'000; ++i) {
    sampler.note_thread(1'000'000 + i);
    sampler.set_on(i % 2 == 0);
  }
  sampler.stop();
}

}  // namespace
}  // namespace stepscope::agent
