// Names: same text, same id, from any thread; what a thread remembers must not mislead it; the limit of all names.
#include "capture/names.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace stepscope {
namespace {

TEST(Names, SameTextSameId) {
  const NameId forward = intern_name("forward");
  EXPECT_EQ(intern_name(std::string("forward")), forward);
  EXPECT_NE(intern_name("backward"), forward);
  EXPECT_NE(forward.value, 0U);
  EXPECT_EQ(name_text(forward), "forward");
  EXPECT_EQ(name_text(intern_name("")), "");
  EXPECT_EQ(name_text(intern_name(std::string_view{})), "");
  EXPECT_EQ(name_text(NameId{}), "");
  EXPECT_EQ(name_text(NameId(std::size_t{4'000'000'000})), "");
  const std::string with_zero("a\0b", 3);
  EXPECT_EQ(name_text(intern_name(with_zero)), with_zero);
  EXPECT_NE(intern_name(with_zero), intern_name("a"));
}

TEST(Names, OneBufferWithManyTexts) {
  std::string buffer = "name 00000";
  std::vector<NameId> first;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 5000; ++i) {
      buffer = "name " + std::to_string(10000 + i);
      const NameId id = intern_name(buffer);
      if (round == 0) first.push_back(id);
      ASSERT_EQ(id, first[static_cast<std::size_t>(i)]);
      ASSERT_EQ(name_text(id), buffer);
    }
  }
}

TEST(Names, ThreadsAgree) {
  constexpr int kThreads = 8, kNames = 2000;
  std::vector<std::vector<NameId>> ids(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&own = ids[static_cast<std::size_t>(t)]] {
      for (int i = 0; i < kNames; ++i) own.push_back(intern_name("shared " + std::to_string(i)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& own : ids) EXPECT_EQ(own, ids[0]);
}

// In a process of its own, since names stay.
TEST(Names, PastTheLimitTheySaySo) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const NameId before = intern_name("before");
        const auto fill = [&](std::size_t bytes) {
          for (int i = 0;; ++i) {
            const std::string name = std::string(bytes, 'a') + std::to_string(i);
            if (name_text(intern_name(name)) != name) return;
          }
        };
        fill(std::size_t{1} << 20);
        fill(1000);
        fill(1);
        const NameId late = intern_name("late, and no room");
        const NameId later = intern_name("another that is late");
        const bool is_right = late == later && name_text(late) == "(names past 64 MiB)" &&
                              intern_name("before") == before && name_text(before) == "before";
        std::_Exit(is_right ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace stepscope
