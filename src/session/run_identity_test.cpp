#include "session/run_identity.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace stepscope {
namespace {

RunIdentity with_environment(const char* rank, const char* world_size) {
  rank != nullptr ? setenv("RANK", rank, 1) : unsetenv("RANK");
  world_size != nullptr ? setenv("WORLD_SIZE", world_size, 1) : unsetenv("WORLD_SIZE");
  RunIdentity identity = read_run_identity();
  unsetenv("RANK");
  unsetenv("WORLD_SIZE");
  return identity;
}

TEST(RunIdentity, SaysHostProcessAndProgram) {
  const RunIdentity identity = with_environment(nullptr, nullptr);
  EXPECT_FALSE(identity.host_name.empty());
  EXPECT_EQ(identity.process_id, getpid());
  EXPECT_EQ(identity.process_name, "session_test");
  EXPECT_EQ(identity.default_worker_name(), identity.host_name + "_" + std::to_string(getpid()));
  EXPECT_FALSE(identity.rank);
  EXPECT_FALSE(identity.world_size);
  EXPECT_TRUE(identity.warnings.empty());
}

TEST(RunIdentity, TakesTheRankOfALauncher) {
  const RunIdentity identity = with_environment("3", "8");
  EXPECT_EQ(identity.rank, 3);
  EXPECT_EQ(identity.world_size, 8);
  EXPECT_TRUE(identity.warnings.empty());
}

TEST(RunIdentity, WarnsOfWhatCannotBe) {
  for (const char* rank : {"-1", "3x", "three", "99999999999999999999"}) {
    const RunIdentity identity = with_environment(rank, "8");
    EXPECT_FALSE(identity.rank) << rank;
    EXPECT_EQ(identity.world_size, 8);
    ASSERT_EQ(identity.warnings.size(), 1U) << rank;
    EXPECT_NE(identity.warnings[0].find(rank), std::string::npos);
  }
  const RunIdentity beyond = with_environment("8", "8");
  EXPECT_FALSE(beyond.rank);
  EXPECT_FALSE(beyond.world_size);
  EXPECT_EQ(beyond.warnings.size(), 1U);
  EXPECT_TRUE(with_environment("", "").warnings.empty());
}

}  // namespace
}  // namespace stepscope
