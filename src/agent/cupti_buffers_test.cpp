// The pool's three promises: never nothing, never freed while out, never over the cap but for spares.
#include "agent/cupti_buffers.h"

#include <gtest/gtest.h>

#include <thread>

namespace stepscope::agent {
namespace {

TEST(CuptiBuffers, GivesTheSameMemoryAgain) {
  CuptiBuffers buffers(4 * kBufferBytes);
  const CuptiBuffer first = buffers.request();
  ASSERT_NE(first.bytes, nullptr);
  EXPECT_TRUE(buffers.complete(first.bytes, 100));
  const std::vector<CuptiBuffer> full = buffers.take_full();
  ASSERT_EQ(full.size(), 1U);
  EXPECT_EQ(full[0].valid, 100U);
  buffers.recycle(full[0].bytes);
  EXPECT_EQ(buffers.request().bytes, first.bytes);
  EXPECT_EQ(buffers.held_bytes(), kBufferBytes);
}

TEST(CuptiBuffers, PastTheCapGivesSparesWhoseRecordsAreNotForTheWorker) {
  CuptiBuffers buffers(kBufferBytes);
  const CuptiBuffer normal = buffers.request();
  const CuptiBuffer spare = buffers.request();
  EXPECT_FALSE(normal.is_spare);
  EXPECT_TRUE(spare.is_spare);
  ASSERT_NE(spare.bytes, nullptr);
  EXPECT_FALSE(buffers.complete(spare.bytes, 10));
  buffers.recycle(spare.bytes);
  EXPECT_EQ(buffers.request().bytes, spare.bytes);
  EXPECT_EQ(buffers.held_bytes(), kBufferBytes + kSpareBytes);
  EXPECT_TRUE(buffers.take_full().empty());
}

TEST(CuptiBuffers, ThreadsAskAndReturnAtOnce) {
  CuptiBuffers buffers(8 * kBufferBytes);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2'000; ++i) {
        const CuptiBuffer buffer = buffers.request();
        buffer.bytes[0] = 1;
        if (!buffers.complete(buffer.bytes, 1)) {
          buffers.recycle(buffer.bytes);
          continue;
        }
        for (const CuptiBuffer& full : buffers.take_full()) buffers.recycle(full.bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(buffers.out_count(), 0U);
  EXPECT_EQ(buffers.full_count(), 0U);
  EXPECT_LE(buffers.held_bytes(), 8 * (kBufferBytes + kSpareBytes));
}

}  // namespace
}  // namespace stepscope::agent
