// What is written is read back; what is not understood is named.
#include "capture/agent_options.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(AgentOptions, AreReadBackAsTheyWereWritten) {
  AgentOptions options;
  options.directory = "/tmp/a;b%c=d";
  options.schedule = "skip=10,wait=5,warmup=2,active=3";
  options.every = 100;
  options.shapes = true;
  options.stacks = false;
  options.max_file_bytes = 12345;
  const Result<AgentOptions> read = parse_agent_options(format_agent_options(options));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read.value().directory, options.directory);
  EXPECT_EQ(read.value().schedule, options.schedule);
  EXPECT_EQ(read.value().every, 100U);
  EXPECT_TRUE(read.value().shapes);
  EXPECT_FALSE(read.value().stacks);
  EXPECT_EQ(read.value().max_file_bytes, 12345U);
}

TEST(AgentOptions, NothingGivesTheDefaults) {
  const Result<AgentOptions> read = parse_agent_options("");
  ASSERT_TRUE(read);
  EXPECT_EQ(format_agent_options(read.value()), format_agent_options({}));
}

TEST(AgentOptions, NamesWhatItDoesNotKnow) {
  for (const char* text : {"speed=9", "shapes", "shapes=2", "shapes=yes", "every=-1", "every=", "every=1x"}) {
    const Result<AgentOptions> read = parse_agent_options(text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().message.find(std::string(text).substr(0, 5)), std::string::npos) << read.error().message;
  }
}

}  // namespace
}  // namespace stepscope
