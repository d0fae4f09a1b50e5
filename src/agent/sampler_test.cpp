// The sampler's life; that it finds lines is tested where there is a Python with PyTorch.
#include "agent/sampler.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace stepscope::agent {
namespace {

// By name: a sanitizer starts a thread of its own with the first of the program.
std::size_t sampler_thread_count() {
  std::size_t count = 0;
  DIR* const tasks = opendir("/proc/self/task");
  while (const dirent* const entry = readdir(tasks)) {
    std::string name;
    std::getline(std::ifstream("/proc/self/task/" + std::string(entry->d_name) + "/comm"), name);
    count += name == "stepscope-look" ? 1 : 0;
  }
  closedir(tasks);
  return count;
}

TEST(Sampler, HasNoThreadBeforeTheFirstWindowAndNoneAfterTheEnd) {
  Sampler sampler;
  sampler.note_thread(1);
  EXPECT_EQ(sampler_thread_count(), 0U);
  sampler.set_on(true);
  EXPECT_EQ(sampler_thread_count(), 1U);
  sampler.stop();
  // A joined thread leaves the folder a moment later.
  for (int wait = 0; wait < 1'000 && sampler_thread_count() != 0; ++wait) usleep(1'000);
  EXPECT_EQ(sampler_thread_count(), 0U);
  sampler.set_on(true);
  EXPECT_EQ(sampler_thread_count(), 0U);
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
