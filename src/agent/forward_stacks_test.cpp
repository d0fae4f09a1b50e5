#include "agent/forward_stacks.h"

#include <gtest/gtest.h>

#include <thread>

namespace stepscope::agent {
namespace {

TEST(ForwardStacks, AreFoundByThreadAndNumber) {
  std::thread([] {
    EXPECT_EQ(forward_stack(9001, 0), 0U);
    note_forward_stack(9001, 0, 17);
    note_forward_stack(9001, 1, 18);
    note_forward_stack(9001, 1, 19);  // the last operator of a number made the node
  }).join();
  std::thread([] { note_forward_stack(9002, 1, 20); }).join();
  EXPECT_EQ(forward_stack(9001, 0), 17U);
  EXPECT_EQ(forward_stack(9001, 1), 19U);
  EXPECT_EQ(forward_stack(9002, 1), 20U);
  EXPECT_EQ(forward_stack(9002, 0), 0U);
  EXPECT_EQ(forward_stack(9003, 1), 0U);
  EXPECT_EQ(forward_stack(0, 1), 0U);
  EXPECT_EQ(forward_stack(9001, -1), 0U);
}

TEST(ForwardStacks, OldNumbersGiveWay) {
  std::thread([] {
    for (std::int64_t number = 0; number < 70'000; ++number) note_forward_stack(9004, number, 5);
  }).join();
  EXPECT_EQ(forward_stack(9004, 69'999), 5U);
  EXPECT_EQ(forward_stack(9004, 10'000), 5U);
  EXPECT_EQ(forward_stack(9004, 1'000), 0U);
}

}  // namespace
}  // namespace stepscope::agent
